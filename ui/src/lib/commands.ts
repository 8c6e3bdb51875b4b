// The commands that do in a terminal what the dashboard does; none where there is no such command.
import type { Act } from "./jobtypes";
import type { Search } from "./search";
import { quoted } from "./words";

const SPELT_OUT = 20; // commands; more is no help
const OPTIONS: Record<string, string> = { queue: "--queue", task: "--task", state: "--state", owner: "--owner", key: "--key", tag: "--tag" };

/** One after the other, each by its id. */
export function forJobs(act: Act, ids: string[]): string | undefined {
  if (act === "delete" || ids.length > SPELT_OUT) return undefined;
  return ids.map((id) => `penstock ${act} ${id}`).join("; ");
}

/** The same for all that match; none for what only the dashboard can ask for. */
export function forAll(act: Act, search: Search): string | undefined {
  const { since, ...query } = search.query;
  if (act === "retry" && query.recovered === "false") delete query.recovered; // as it is anyway
  if ((since && !search.ago) || Object.keys(query).some((name) => !OPTIONS[name])) return undefined;
  const plain = Object.entries(query).map(([name, value]) => `${OPTIONS[name]} ${quoted(value)}`);
  const args = Object.entries(search.args).map(([name, value]) => `--arg ${quoted(`${name}=${value}`)}`);
  return ["penstock bulk", act, ...plain, ...(since ? [`--since ${search.ago}`] : []), ...args].join(" ");
}

export const forLetter = (act: "recover" | "purge", id: string): string => `penstock dlq ${act} ${id}`;
export const forBreaker = (act: "open" | "close", name: string): string => `penstock breakers ${act} ${quoted(name)}`;
