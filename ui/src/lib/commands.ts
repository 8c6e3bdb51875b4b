// The commands that do in a terminal what the dashboard does; none where there is no such command.
import type { Act } from "./jobtypes";
import { write } from "./json";
import type { Search } from "./search";
import type { Job } from "./types";
import { quoted } from "./words";

const SPELT_OUT = 20; // commands; more is no help
const OPTIONS: Record<string, string> = { queue: "--queue", task: "--task", state: "--state", owner: "--owner", key: "--key", tag: "--tag" };

const oneByOne = (commands: string[]): string | undefined => (commands.length > SPELT_OUT ? undefined : commands.join("; "));

/** One after the other, each by its id; to delete there is only by what matches, and a job that was given no key has its id for one. */
export function forJobs(act: Act, jobs: Job[]): string | undefined {
  if (act === "delete" && jobs.some((job) => job.key !== null && job.key !== job.job_id)) return undefined;
  return oneByOne(jobs.map(({ job_id: id }) => (act === "delete" ? `penstock bulk delete --key ${id}` : `penstock ${act} ${id}`)));
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
export const forLetters = (act: "recover" | "purge", ids: string[]): string | undefined => oneByOne(ids.map((id) => forLetter(act, id)));
export const forEdited = (id: string, payload: unknown): string => `${forLetter("recover", id)} --args ${quoted(write(payload))}`;
export const forBreaker = (act: "open" | "close", name: string): string => `penstock breakers ${act} ${quoted(name)}`;
