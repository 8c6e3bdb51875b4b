// A sentence of the service, with words of users in it: its times are the viewer's, and no mark of direction turns it around.
import { href } from "../lib/route";
import { exactly } from "../lib/words";

const UTC = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/;
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;

/** Marks that change the direction of what follows, as something that can be seen. */
export const visible = (text: string): string =>
  text.replace(TURNS, (mark) => `⟨U+${mark.charCodeAt(0).toString(16).toUpperCase()}⟩`);

/** `jobs`: the ids in it that lead to their job. */
export function Told({ text, jobs = [] }: { text: string; jobs?: string[] }) {
  const parts = visible(text).split(UTC); // words, a date, a time, words, …
  return <>{parts.map((part, n) => (n % 3 === 0 ? <Linked key={n} text={part} jobs={jobs} /> : n % 3 === 1 ? <When key={n} at={`${part}T${parts[n + 1]}Z`} /> : null))}</>;
}

function Linked({ text, jobs }: { text: string; jobs: string[] }) {
  if (!jobs.length) return <>{text}</>;
  const parts = text.split(new RegExp(`(${jobs.map((id) => id.replace(/\W/g, "\\$&")).join("|")})`)); // words, an id, words, …
  return <>{parts.map((part, n) => (n % 2 ? <a key={n} href={href(`/jobs/${encodeURIComponent(part)}`)}>{part}</a> : part))}</>;
}

function When({ at }: { at: string }) {
  const when = new Date(at);
  const today = when.toDateString() === new Date().toDateString();
  const words = today ? when.toLocaleTimeString(undefined, { timeStyle: "medium" }) : when.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
  return <time dateTime={at} title={exactly(at)}>{words}</time>;
}
