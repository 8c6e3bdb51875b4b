// A queue has the same colour on every page.
import { get } from "../lib/api";
import { useLoad } from "../lib/load";
import { href } from "../lib/route";
import type { Who } from "../lib/session";
import type { Queue } from "../lib/types";
import { seesAll } from "../lib/who";

const COLOURS = 12;
const places = new Map<string, number>(); // of the queues that are known

/** Colours by the order of names, so that the first twelve all differ; one that comes later has the next, and others keep theirs. */
function know(names: string[]): void {
  names.filter((name) => !places.has(name)).sort().forEach((name) => places.set(name, places.size));
}

/** For the whole page: what is drawn below has the colours of the queues that there are. */
export function useColours(who: Pick<Who, "owner" | "scopes"> | undefined): void {
  const all = who !== undefined && seesAll(who);
  useLoad(() => (all ? get<{ queues: Queue[] }>("/queues").then(({ queues }) => know(queues.map((q) => q.name))) : Promise.resolve()), [all], 60_000, false);
}

export function colourOf(queue: string): string {
  return `--queue-${(places.get(queue) ?? summed(queue)) % COLOURS}`;
}

/** Of one that is not known, or not told to this person. */
function summed(name: string): number {
  return [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7);
}

export function QueueName({ name }: { name: string }) {
  return (
    <a class="queue" href={href(`/queues/${encodeURIComponent(name)}`)}>
      <span class="dot" aria-hidden="true" style={{ color: `var(${colourOf(name)})` }} />{name}
    </a>
  );
}

const NAMED = 2;
const LETTERS = 36; // of all that are named

export function QueueNames({ of }: { of: string[] }) {
  const [named, more] = briefly(of);
  return <span class="queues">{named.map((name) => <QueueName key={name} name={name} />)}{more.length > 0 && <span class="muted" title={more.join(", ")}>+ {more.length}</span>}</span>;
}

/** The first of them, as far as there is room, and the others. */
function briefly(names: string[]): [string[], string[]] {
  let letters = 0;
  const many = names.findIndex((name, n) => n >= NAMED || ((letters += name.length) > LETTERS && n > 0));
  return many < 0 ? [names, []] : [names.slice(0, many), names.slice(many)];
}
