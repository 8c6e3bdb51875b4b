// A queue has the same colour on every page.
import { href } from "../lib/route";

const COLOURS = 8;

export function colourOf(queue: string): string {
  let sum = 7;
  for (const letter of queue) sum = (sum * 31 + letter.charCodeAt(0)) >>> 0;
  return `--queue-${sum % COLOURS}`;
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
