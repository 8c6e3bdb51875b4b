// What a person types into the search field, and what the service is asked for it.
//   state:failed task:send_receipt args.order_id:7 owner:ana key:receipt:7 after:2h before:10m
export interface Search {
  query: Record<string, string>;
  args: Record<string, string>;
  unknown: string[];
}

const PLAIN: Record<string, string> = { state: "state", task: "task", queue: "queue", owner: "owner", key: "key" };
export const QUALIFIERS = [...Object.keys(PLAIN), "after", "before", "args."];
const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400 };

export function parse(text: string, now = Date.now()): Search {
  const found: Search = { query: {}, args: {}, unknown: [] };
  for (const word of words(text)) {
    const colon = word.indexOf(":");
    const name = colon < 0 ? "" : word.slice(0, colon);
    const value = word.slice(colon + 1).replace(/^"(.*)"$/, "$1");
    if (PLAIN[name]) found.query[PLAIN[name] as string] = value;
    else if (name.startsWith("args.") && name.length > 5) found.args[name.slice(5)] = value;
    else if (name === "after" || name === "before") {
      const at = instant(value, now);
      if (at) found.query[name === "after" ? "since" : "until"] = at;
      else found.unknown.push(word);
    } else found.unknown.push(word);
  }
  return found;
}

/** Without one of its words. */
export function without(text: string, word: string): string {
  return words(text).filter((each) => each !== word).join(" ");
}

export const words = (text: string): string[] => text.match(/[^\s"]*"[^"]*"|\S+/g) ?? [];

function instant(value: string, now: number): string | undefined {
  const ago = /^(\d+)([smhd])$/.exec(value);
  if (ago) return new Date(now - Number(ago[1]) * (UNITS[ago[2] as string] ?? 1) * 1000).toISOString();
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
