// Other arguments before a job is recovered: a field for each, what does not fit told at its field.
import { useState } from "preact/hooks";
import { ApiError, get, post } from "../lib/api";
import { forEdited } from "../lib/commands";
import { asText as asJson, Exact, readExact } from "../lib/json";
import type { DeadLetter, Schema, TaskInfo } from "../lib/types";
import { ask, Told } from "../parts/ask";
import { Command } from "../parts/copy";
import { complain, tellOfJob } from "../parts/toast";

const HIDDEN = "•••";

/** What a person writes, and the payload that it stands for. */
class Draft {
  readonly written: Record<string, string> = {};
  wrong: (fields: Record<string, string>) => void = () => undefined;
  typed: () => void = () => undefined;

  constructor(readonly given: Record<string, unknown>, readonly schema: Schema) {
    for (const name of this.names) this.written[name] = name in given ? asText(given[name]) : "";
  }

  get names(): string[] {
    return [...new Set([...Object.keys(this.schema.properties ?? {}), ...Object.keys(this.given)])];
  }

  shapeOf(name: string): Schema {
    return this.schema.properties?.[name] ?? {};
  }

  payload(): Record<string, unknown> {
    const pairs = this.names.map((name) => [name, this.value(name)] as const);
    return Object.fromEntries(pairs.filter(([, value]) => value !== undefined));
  }

  private value(name: string): unknown {
    const text = this.written[name] ?? "";
    const before = this.given[name];
    if (name in this.given && text === asText(before)) return before;
    const isText = kindOf(this.shapeOf(name)).includes("string") || typeof before === "string";
    if (!text && !(isText && typeof before === "string")) return undefined;
    return isText && !kindOf(this.shapeOf(name)).some((kind) => kind !== "string" && kind !== "null") ? text : parsed(text, isText);
  }
}

const asText = (value: unknown): string => asJson(value, 2);
const kindOf = (schema: Schema): string[] => (schema.type ? [schema.type] : (schema.anyOf ?? []).flatMap(kindOf));

/** Where text is allowed as well, a number that is not exact as a number stays text: so 1.10 of a Decimal. */
function parsed(text: string, mayBeText: boolean): unknown {
  try {
    const value = readExact(text);
    return value instanceof Exact && mayBeText ? text : value;
  } catch {
    return text;
  }
}

export async function editAndRecover(id: string, task: string, done: (made?: string) => void): Promise<void> {
  try {
    const letter = await get<DeadLetter>(`/dead-letters/${id}`);
    const info = await get<TaskInfo>(`/tasks/${encodeURIComponent(task)}`).catch(() => undefined);
    const draft = new Draft((letter.payload ?? {}) as Record<string, unknown>, info?.payload ?? {});
    ask({
      title: "Recover with other arguments", action: "Recover",
      command: <AsTyped id={id} draft={draft} />,
      body: <Fields draft={draft} known={info !== undefined} />,
      act: async (reason) => done(await recovered(id, draft, reason)),
    });
  } catch (error) {
    complain(error);
  }
}

/** The command that brings what is written by now. */
function AsTyped({ id, draft }: { id: string; draft: Draft }) {
  const [, again] = useState(0);
  draft.typed = () => again((n) => n + 1);
  return <Command text={forEdited(id, draft.payload())} />;
}

async function recovered(id: string, draft: Draft, reason: string): Promise<string> {
  draft.wrong({});
  try {
    const made = await post<{ job_id: string }>(`/dead-letters/${id}/recover`, { payload: draft.payload(), reason: reason || null });
    tellOfJob("Recovered as", made.job_id);
    return made.job_id;
  } catch (error) {
    if (!(error instanceof ApiError) || !error.fields.length) throw error;
    draft.wrong(Object.fromEntries(error.fields.map((f) => [fieldOf(f.field), f.problem])));
    throw new Told();
  }
}

/** Of "payload.to.street" the argument: "to". */
const fieldOf = (place: string): string => /^payload\.([^.[]+)/.exec(place)?.[1] ?? place;

function Fields({ draft, known }: { draft: Draft; known: boolean }) {
  const [wrong, set] = useState<Record<string, string>>({});
  draft.wrong = set;
  const lost = Object.entries(wrong).filter(([name]) => !draft.names.includes(name));
  return (
    <div class="stack tight fields">
      {!known && <p class="muted">This service does not know the task: what you write is not checked.</p>}
      {!draft.names.length && <p class="muted">It takes no arguments.</p>}
      {draft.names.map((name) => <Field key={name} draft={draft} name={name} wrong={wrong[name]} />)}
      {lost.map(([name, problem]) => <p key={name} role="alert" class="problem">{name}: {problem}</p>)}
    </div>
  );
}

function Field({ draft, name, wrong }: { draft: Draft; name: string; wrong: string | undefined }) {
  const text = draft.written[name] ?? "";
  const needed = draft.schema.required?.includes(name);
  const shared = {
    defaultValue: text, "aria-invalid": Boolean(wrong), "aria-describedby": wrong ? `wrong-${name}` : undefined, spellcheck: false,
    onInput: (event: { currentTarget: { value: string } }) => ((draft.written[name] = event.currentTarget.value), draft.typed()),
  };
  return (
    <div class="stack tiny">
      <label class="field">
        <span>{name} <span class="muted">{["", kindOf(draft.shapeOf(name)).join(" or "), needed ? "" : "may be left out"].filter((word, n) => word || !n).join(" · ")}</span></span>
        {text.includes("\n") || text.length > 60 ? <textarea rows={4} {...shared} /> : <input {...shared} />}
      </label>
      {text === HIDDEN && <span class="muted">Hidden from you. Left so, it stays what it was.</span>}
      {wrong && <span id={`wrong-${name}`} role="alert" class="problem">{wrong}</span>}
    </div>
  );
}
