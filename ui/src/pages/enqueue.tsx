// A form made of a task's schema; what is wrong is told at its field.
import { useRef, useState } from "preact/hooks";
import { ApiError, post } from "../lib/api";
import { asText, readExact, write } from "../lib/json";
import { go, href } from "../lib/route";
import { fieldsOf, NotJson, valueOf, type Field } from "../lib/schema";
import { useWho } from "../lib/session";
import type { TaskInfo } from "../lib/types";
import { seesAll } from "../lib/who";
import { complain, tell } from "../parts/toast";

/** As the service names them: arguments as payload.NAME, for one may be called as an option is. */
type Wrong = Record<string, string>;
const argument = (name: string): string => `payload.${name}`;
const OPTIONS = ["key", "delay", "priority", "owner", "tags"];
const PRIORITIES = ["critical", "high", "medium", "low"];

export function Enqueue({ task }: { task: TaskInfo }) {
  const who = useWho();
  const [wrong, set] = useState<Wrong>({});
  const [busy, setBusy] = useState(false);
  const fields = fieldsOf(task.payload);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const given = new FormData(form);
    const [payload, notJson] = read(fields, given);
    set(notJson);
    if (Object.keys(notJson).length) return point(form);
    setBusy(true);
    try {
      const made = await post<{ job_id: string; duplicate: boolean }>(`/jobs/${encodeURIComponent(task.queue)}`, { task: task.name, payload, ...options(given) });
      if (made.duplicate) tell("Its key was taken: this is the job that holds it.");
      go(href(`/jobs/${made.job_id}`));
    } catch (error) {
      const told = error instanceof ApiError ? placed(error, fields) : {};
      set(told);
      if (!Object.keys(told).length) complain(error);
      point(form);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="card stack" onSubmit={submit} noValidate aria-label={`Enqueue ${task.name}`}>
      <h2>Enqueue one</h2>
      {fields.map((field) => <Input key={field.name} field={field} secret={task.secret.includes(field.name)} wrong={wrong[argument(field.name)]} />)}
      {!fields.length && <p class="muted">It takes no arguments.</p>}
      <details open={OPTIONS.some((name) => name in wrong)}>
        <summary>Options</summary>
        <div class="options">
          <Option name="key" label="Key" hint="the same key is the same job" wrong={wrong.key} />
          <Option name="delay" label="Delay, in seconds" hint="0" wrong={wrong.delay} />
          <label class="field">Priority
            <select name="priority" defaultValue=""><option value="">{task.priority}, as declared</option>{PRIORITIES.map((name) => <option key={name} value={name}>{name}</option>)}</select>
          </label>
          <Option name="tags" label="Tags" hint="words to find it by, with spaces between" wrong={wrong.tags} />
          {seesAll(who) && <Option name="owner" label="Owner" hint="nobody" wrong={wrong.owner} />}
        </div>
      </details>
      <div><button type="submit" class="primary" disabled={busy}>Enqueue</button></div>
    </form>
  );
}

function Input({ field, secret, wrong }: { field: Field; secret: boolean; wrong: string | undefined }) {
  const id = `arg-${field.name}`;
  const common = { id, name: `arg ${field.name}`, "aria-invalid": wrong !== undefined, "aria-describedby": wrong ? `${id}-wrong` : undefined, "aria-required": field.required };
  return (
    <div class="field">
      <label for={id}>{field.name}{!field.required && <span> ({field.fallback === undefined || field.fallback === "null" ? "may be left out" : <>if left out: <code>{field.fallback}</code></>})</span>}</label>
      {field.about && <span class="muted">{field.about}</span>}
      {field.kind === "choice" || field.kind === "boolean"
        ? <select {...common} defaultValue="">
            <option value="">{field.required ? "choose" : "left out"}</option>
            {(field.kind === "boolean" ? [true, false] : field.choices).map((value) => <option key={write(value)} value={write(value)}>{asText(value)}</option>)}
            {field.nullable && <option value="null">nothing</option>}
          </select>
        : field.kind === "json"
          ? <Whole field={field} common={common} />
          : <input {...common} type={secret ? "password" : field.kind === "date" ? "date" : "text"} inputMode={field.kind === "number" ? "decimal" : undefined} autoComplete="off" placeholder={field.hint} />}
      {wrong && <span class="wrong" role="alert" id={`${id}-wrong`}>{wrong}</span>}
    </div>
  );
}

/** What is more than one value: as JSON, with what it is made of, and an example to begin with. */
function Whole({ field, common }: { field: Field; common: { id: string; name: string } }) {
  const area = useRef<HTMLTextAreaElement>(null);
  const begin = () => {
    if (!area.current) return;
    area.current.value = field.example ?? "";
    area.current.focus();
  };
  return (
    <>
      {field.parts.map((part) => (
        <span key={part.of} class="muted">{part.of}: {part.fields.map((each, n) => [n ? ", " : "", <code key={each.name}>{each.name}</code>, ` ${each.type}${each.required ? "" : ", may be left out"}`])}</span>
      ))}
      <textarea {...common} ref={area} placeholder={field.type === "any JSON" ? field.hint : `${field.hint}, as JSON`} spellcheck={false} />
      <span><button type="button" class="small" onClick={begin}>Begin with an example<span class="sr"> of {field.name}</span></button></span>
    </>
  );
}

function Option({ name, label, hint, wrong }: { name: string; label: string; hint: string; wrong: string | undefined }) {
  return (
    <label class="field">{label}
      <input name={name} placeholder={hint} autoComplete="off" aria-invalid={wrong !== undefined} />
      {wrong && <span class="wrong" role="alert">{wrong}</span>}
    </label>
  );
}

function read(fields: Field[], given: FormData): [Record<string, unknown>, Wrong] {
  const payload: Record<string, unknown> = {};
  const wrong: Wrong = {};
  for (const field of fields) {
    try {
      const text = String(given.get(`arg ${field.name}`) ?? "");
      const value = (field.kind === "choice" || field.kind === "boolean") && text ? readExact(text) : valueOf(text, field);
      if (value !== undefined) payload[field.name] = value;
    } catch (error) {
      if (!(error instanceof NotJson)) throw error;
      wrong[argument(field.name)] = error.message;
    }
  }
  return [payload, wrong];
}

function options(given: FormData): Record<string, unknown> {
  const text = (name: string) => String(given.get(name) ?? "").trim();
  const delay = text("delay");
  const tags = text("tags").split(/[\s,]+/).filter(Boolean);
  const found = { tags: tags.length ? tags : "", key: text("key"), priority: text("priority"), owner: text("owner"), delay: delay && !Number.isNaN(Number(delay)) ? Number(delay) : delay };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== ""));
}

/** Which field each problem is told at; of an argument within an argument, the outer one. */
function placed(error: ApiError, fields: Field[]): Wrong {
  const known = new Set([...fields.map((field) => argument(field.name)), ...OPTIONS]);
  const found = error.fields.map(({ field, problem }) => {
    const outer = known.has(field) ? field : /^(payload\.)?[^.[]*/.exec(field)?.[0] ?? field;
    return [outer, field === outer ? problem : `${field.slice(outer.length).replace(/^\./, "")}: ${problem}`] as const;
  });
  return found.every(([name]) => known.has(name)) ? Object.fromEntries(found) : {};
}

/** To the first field that is wrong. */
const point = (form: HTMLFormElement) => setTimeout(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
