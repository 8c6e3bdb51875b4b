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

const NAMED = 3;

export function QueueNames({ of }: { of: string[] }) {
  const more = of.slice(NAMED);
  return <span class="queues">{of.slice(0, NAMED).map((name) => <QueueName key={name} name={name} />)}{more.length > 0 && <span class="muted" title={more.join(", ")}>+ {more.length}</span>}</span>;
}
