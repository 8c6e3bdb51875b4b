// When another page is there: it is scrolled to where it was left, and who reads it begins at its heading.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { scrolledTo, type Route } from "./route";

const PATIENCE = 3_000; // ms for a page to get its heading and its height
const AFTER_AN_ACT = 15_000; // ms in which a page shows what was done
const HANDS = ["wheel", "touchmove", "keydown", "pointerdown"];

export function useArrival({ path, entry }: Route, isHere: boolean): void {
  const last = useRef<{ path?: string; entry?: string }>({});
  const moved = isHere && last.current.entry !== undefined && last.current.entry !== entry;
  const another = moved && last.current.path !== path;

  useLayoutEffect(() => {
    if (isHere) last.current = { path, entry };
    if (!moved) return;
    const to = scrolledTo();
    if (to === undefined && !another) return; // a filter was turned: it stays where it is
    return whenThere(() => (scrollTo(0, to ?? 0), Math.abs(scrollY - (to ?? 0)) < 2));
  }, [entry, isHere]);

  useEffect(() => {
    if (another) return beginAtHeading();
  }, [entry, isHere]);
}

function beginAtHeading(): (() => void) | undefined {
  const main = document.getElementById("main");
  main?.focus({ preventScroll: true });
  return whenThere(() => {
    const heading = main?.querySelector<HTMLElement>("h1");
    if (!heading || document.activeElement !== main) return document.activeElement !== main;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    return true;
  });
}

/** What has the focus may go, for what it was there for is done: then it is at the page's heading, not nowhere. */
export function keepFocus(): void {
  const held = document.activeElement;
  whenThere(() => {
    const isGone = !held?.isConnected || held === document.body || held.matches(":disabled");
    if (isGone && [held, document.body].includes(document.activeElement as HTMLElement)) beginAtHeading();
    return isGone || document.activeElement !== held;
  }, AFTER_AN_ACT);
}

/** Tries it at once and whenever the page changes, until it is done, somebody moves, or it takes too long. */
function whenThere(tried: () => boolean, patience = PATIENCE): (() => void) | undefined {
  if (tried()) return;
  const main = document.getElementById("main");
  const watch = new MutationObserver(() => tried() && stop());
  const stop = () => (watch.disconnect(), clearTimeout(late), HANDS.forEach((name) => removeEventListener(name, stop)));
  const late = window.setTimeout(stop, patience);
  HANDS.forEach((name) => addEventListener(name, stop, { passive: true }));
  if (main) watch.observe(main, { childList: true, subtree: true });
  return stop;
}
