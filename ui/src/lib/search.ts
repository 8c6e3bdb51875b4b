// What a person types into the search field, and what the service is asked for it.
//   0190f0aa-…  state:failed recovered:no task:send_receipt args.order_id:7 owner:ana key:receipt:7 after:2h before:10m
export interface Search {
  query: Record<string, string>;
  args: Record<string, string>;
  ago?: string; // "2h", where `after` was said so
  unknown: string[];
}

export const STATES = ["waiting", "delayed", "blocked", "active", "completed", "failed", "cancelled"];
const ID = /^(?:id:)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;
const PLAIN: Record<string, string> = { state: "state", task: "task", queue: "queue", owner: "owner", key: "key", tag: "tag" };
const YES: Record<string, string> = { yes: "true", no: "false" };
export const QUALIFIERS = [...Object.keys(PLAIN), "recovered", "after", "before", "args."];
const AGO = /^(\d+)([smhd])$/;
const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400 };

export function parse(text: string, now = Date.now()): Search {
  const found: Search = { query: {}, args: {}, unknown: [] };
  for (const word of words(text)) {
    const colon = word.indexOf(":");
    const name = colon < 0 ? "" : word.slice(0, colon);
    const value = word.slice(colon + 1).replace(/^"(.*)"$/, "$1");
    if (name === "state" && !STATES.includes(value)) found.unknown.push(word);
    else if (PLAIN[name] && value) found.query[PLAIN[name] as string] = value;
    else if (name === "recovered" && YES[value]) Object.assign(found.query, { recovered: YES[value], state: found.query.state ?? "failed" });
    else if (name.startsWith("args.") && name.length > 5) found.args[name.slice(5)] = value;
    else if (name === "after" || name === "before") {
      const at = instant(value, now);
      if (!at) found.unknown.push(word);
      else found.query[name === "after" ? "since" : "until"] = at;
      if (name === "after" && AGO.test(value)) found.ago = value;
    } else found.unknown.push(word);
  }
  return found;
}

/** The job that is meant where a person types nothing but its id. */
export const idIn = (text: string): string | undefined => ID.exec(text.trim())?.[1]?.toLowerCase();

/** As the service is asked. */
export function asked(search: Search): Record<string, string> {
  const args = Object.entries(search.args).map(([name, value]) => [`args.${name}`, value] as const);
  return { ...search.query, ...Object.fromEntries(args) };
}

/** What there is to complete with: tasks with the arguments that they can be searched by, and queues. */
export interface Names { tasks: Record<string, string[]>; queues: string[] }

/** Whole texts, each with its last word completed. */
export function completions(text: string, names: Names): string[] {
  const last = /\S*$/.exec(text)?.[0] ?? "";
  const before = text.slice(0, text.length - last.length);
  const task = parse(text).query.task ?? "";
  const values: Record<string, string[]> = { state: STATES, recovered: ["yes", "no"], task: Object.keys(names.tasks), queue: names.queues, after: ["15m", "2h", "1d"], before: ["15m", "2h", "1d"] };
  const args = (names.tasks[task] ?? []).map((name) => `args.${name}:`);
  const [name, value] = [last.slice(0, last.indexOf(":")), last.slice(last.indexOf(":") + 1)];
  const words = last.includes(":")
    ? (values[name] ?? []).filter((each) => each.startsWith(value) && each !== value).map((each) => `${name}:${each}`)
    : [...QUALIFIERS.filter((each) => each !== "args.").map((each) => `${each}:`), ...args].filter((each) => each.startsWith(last));
  return words.slice(0, 12).map((word) => before + word);
}

/** Without one of its words. */
export function without(text: string, word: string): string {
  return words(text).filter((each) => each !== word).join(" ");
}

export const words = (text: string): string[] => text.match(/[^\s"]*"[^"]*"|\S+/g) ?? [];

function instant(value: string, now: number): string | undefined {
  const ago = AGO.exec(value);
  if (ago) return new Date(now - Number(ago[1]) * (UNITS[ago[2] as string] ?? 1) * 1000).toISOString();
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
