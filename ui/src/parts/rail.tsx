import { href } from "../lib/route";

const PLACES: [string, string, string][] = [
  ["/", "Overview", "◫"], ["/jobs", "Jobs", "≡"], ["/dead-letters", "Dead letters", "✕"], ["/queues", "Queues", "⇶"],
  ["/schedules", "Schedules", "◷"], ["/workers", "Workers", "▦"], ["/limits", "Limits & breakers", "⊝"], ["/alerts", "Alerts", "△"],
  ["/tasks", "Tasks", "ƒ"], ["/audit", "Audit", "¶"], ["/health", "Health", "♡"],
];
const isAt = (path: string, place: string) => (place === "/" ? path === "/" : path === place || path.startsWith(`${place}/`));

export function Mark() {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round">
      <path d="M3 4h8a3 3 0 0 1 3 3v9" /><path d="M10 12h8" /><path d="M3 9h5" />
    </svg>
  );
}

export function Rail({ path }: { path: string }) {
  return (
    <nav class="rail" aria-label="Pages">
      <a class="brand" href={href("/")}><Mark />Penstock</a>
      {PLACES.map(([place, name, glyph]) => (
        <a key={place} class="item" href={href(place)} aria-current={isAt(path, place) ? "page" : undefined}>
          <span aria-hidden="true">{glyph}</span>{name}
        </a>
      ))}
    </nav>
  );
}

export function Bottom({ path }: { path: string }) {
  return (
    <nav class="bottom" aria-label="Pages, at the bottom">
      {PLACES.map(([place, name, glyph]) => (
        <a key={place} href={href(place)} aria-current={isAt(path, place) ? "page" : undefined}>
          <span aria-hidden="true">{glyph}</span>{name.split(" ")[0]}
        </a>
      ))}
    </nav>
  );
}
