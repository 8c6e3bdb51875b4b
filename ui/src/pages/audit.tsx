// Who did what, to which, why, and what came of it.
import { get } from "../lib/api";
import { useCursor } from "../lib/cursor";
import { useLoad } from "../lib/load";
import { href, turn, useRoute } from "../lib/route";
import { useWho } from "../lib/session";
import type { Deed } from "../lib/types";
import { exactly } from "../lib/words";
import { Json } from "../parts/data";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";
import { Pager } from "./jobs";

const FIELDS: [string, string, string][] = [
  ["who", "Who", "name of a token or a user"], ["action", "Did", "queue pause, job retry, …"], ["target", "To", "id or name"],
];
const OUTCOMES = ["done", "refused", "begun"];
const TIMES: [string, string][] = [["", "any time"], ["1", "the last hour"], ["24", "the last day"], ["168", "the last week"]];
const NAMES = [...FIELDS.map(([name]) => name), "outcome"];

export function Audit() {
  const who = useWho();
  return (
    <>
      <div class="head"><h1>Audit</h1></div>
      {who.may("admin") ? <Log /> : <Empty title="The audit log is for administrators" text="A token with the scope admin shows it; so does, where the app is," command="penstock audit" />}
    </>
  );
}

function Log() {
  const { query } = useRoute();
  const asked = Object.fromEntries(NAMES.map((name) => [name, query.get(name) ?? undefined]));
  const hours = query.get("hours") ?? "";
  const after = query.get("after") ?? undefined;
  const load = () => get<{ entries: Deed[]; next: string | null }>("/audit", { ...asked, since: since(hours), after, limit: 50 });
  const page = useLoad(load, [query.toString().replace(/&?open=[^&]*/, "")]);
  const filtered = NAMES.some((name) => asked[name]) || hours !== "";
  return (
    <>
      <Filters asked={asked} hours={hours} />
      <Shown of={page}>
        {(data) => data.entries.length || after
          ? <Entries entries={data.entries} next={data.next} />
          : filtered
            ? <Empty title="No entry fits" text={data.next ? "None of the latest 2,000 does; there are older ones." : "Take away one of the words above."} />
            : <Empty title="Nobody has done anything yet" text="Every retry, cancel, pause, recovery and purge is kept here: who, what and why." command="penstock audit" />}
      </Shown>
    </>
  );
}

const since = (hours: string) => (Number(hours) > 0 ? new Date(Date.now() - Number(hours) * 3_600_000).toISOString() : undefined);

function Filters({ asked, hours }: { asked: Record<string, string | undefined>; hours: string }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement);
    turn({ ...Object.fromEntries([...NAMES, "hours"].map((name) => [name, String(given.get(name) ?? "").trim() || undefined])), after: undefined, open: undefined });
  };
  return (
    <form class="filters" role="search" aria-label="Search the audit log" key={JSON.stringify([asked, hours])} onSubmit={submit}>
      {FIELDS.map(([name, label, hint]) => (
        <label key={name} class="field">{label}<input name={name} defaultValue={asked[name] ?? ""} placeholder={hint} maxLength={200} /></label>
      ))}
      <label class="field">Outcome
        <select name="outcome" defaultValue={asked.outcome ?? ""}><option value="">any</option>{OUTCOMES.map((name) => <option key={name} value={name}>{name}</option>)}</select>
      </label>
      <label class="field">When
        <select name="hours" defaultValue={hours}>{TIMES.map(([value, text]) => <option key={value} value={value}>{text}</option>)}</select>
      </label>
      <button type="submit">Search</button>
    </form>
  );
}

function Entries({ entries, next }: { entries: Deed[]; next: string | null }) {
  const { query } = useRoute();
  const open = query.get("open");
  const show = (id: string | undefined) => turn({ open: id === open ? undefined : id }, true);
  const cursor = useCursor(entries.length, (n) => show(entries[n]?.id));
  const shown = entries.find((deed) => deed.id === open);
  return (
    <>
      {shown && <Whole deed={shown} close={() => show(shown.id)} />}
      <Table label="What people did" rows={entries} cursor={cursor} keyOf={(d) => d.id} columns={columns(open, show)} foot={(next || query.get("after")) && <Pager next={next} />} />
    </>
  );
}

function columns(open: string | null, show: (id: string) => void): Column<Deed>[] {
  return [
    { name: "When", show: (d) => <Ago at={d.at} /> },
    { name: "Who", show: (d) => <span title={`by ${d.via}`}>{d.who}</span> },
    { name: "Did", show: (d) => d.action },
    { name: "To", show: (d) => <Target deed={d} /> },
    { name: "Why", show: (d) => d.why ? <span title={d.why}>{d.why}</span> : <span class="muted">–</span> },
    { name: "Outcome", show: (d) => <span class={d.outcome === "done" ? "muted" : "state blocked"}>{d.outcome}</span> },
    { name: "", show: (d) => <button type="button" class="small plain" aria-expanded={d.id === open} onClick={() => show(d.id)}>{d.id === open ? "Less" : "More"}<span class="sr"> of {d.action} {d.target}</span></button> },
  ];
}

function Target({ deed }: { deed: Deed }) {
  const path = deed.action.startsWith("job ") ? "/jobs/" : deed.action.startsWith("queue ") ? "/queues/" : deed.action.startsWith("schedule ") ? "/schedules/" : "";
  return path ? <a href={href(`${path}${encodeURIComponent(deed.target)}`)}><code>{deed.target}</code></a> : <code>{deed.target}</code>;
}

function Whole({ deed, close }: { deed: Deed; close: () => void }) {
  return (
    <section class="card stack tight" aria-label="One entry">
      <div class="head"><h2 class="grow">{deed.action}: {deed.target}</h2><button type="button" class="small" onClick={close}>Close</button></div>
      <dl class="facts">
        <dt>Who</dt><dd>{deed.who}, by {deed.via}</dd>
        <dt>When</dt><dd>{exactly(deed.at)}</dd>
        <dt>Why</dt><dd>{deed.why ?? "nothing was said"}</dd>
        <dt>Outcome</dt><dd>{deed.outcome}</dd>
      </dl>
      <div class="pair">
        <div class="stack tight"><h2>Before</h2><Json of={deed.before} /></div>
        <div class="stack tight"><h2>After</h2><Json of={deed.after} /></div>
      </div>
    </section>
  );
}
