import { useRef, useState } from "preact/hooks";
import { href } from "../lib/route";
import { useWho } from "../lib/session";
import { isAt, placesFor, type Place } from "../lib/who";
import { Me } from "./me";

const AT_THE_BOTTOM = 4; // beside "More": what a thumb can tell apart

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
      {placesFor(useWho()).map((place) => <Item key={place.at} place={place} path={path} />)}
    </nav>
  );
}

function Item({ place, path }: { place: Place; path: string }) {
  return (
    <a class="item" href={href(place.at)} aria-current={isAt(path, place.at) ? "page" : undefined}>
      <span aria-hidden="true">{place.glyph}</span>{place.name}
    </a>
  );
}

/** On phones: the first pages, and behind "More" the others, who one is, and the way out. */
export function Bottom({ path }: { path: string }) {
  const places = placesFor(useWho());
  const [first, others] = [places.slice(0, AT_THE_BOTTOM), places.slice(AT_THE_BOTTOM)];
  const sheet = useRef<HTMLDivElement>(null);
  const [open, set] = useState(false);
  return (
    <>
      <nav class="bottom" aria-label="Pages, at the bottom">
        {first.map((place) => (
          <a key={place.at} href={href(place.at)} aria-current={isAt(path, place.at) ? "page" : undefined}>
            <span aria-hidden="true">{place.glyph}</span>{place.brief}
          </a>
        ))}
        <button type="button" popovertarget="more" aria-current={others.some((place) => isAt(path, place.at)) ? "true" : undefined}>
          <span aria-hidden="true">⋯</span>More
        </button>
      </nav>
      <div class="sheet" id="more" popover="auto" ref={sheet} onBeforeToggle={(event) => set(event.newState === "open")}
        onClick={(event) => (event.target as Element).closest("a") && sheet.current?.hidePopover()}>
        {open && (
          <>
            <nav aria-label="More pages">
              {others.map((place) => <Item key={place.at} place={place} path={path} />)}
              <a class="item" href={href("/help")}><span aria-hidden="true">?</span>Help</a>
            </nav>
            <Me />
          </>
        )}
      </div>
    </>
  );
}
