// Whether the page hears what happens, and a clock for the words that depend on the time.
import { useEffect, useRef, useState } from "preact/hooks";
import { listen } from "./stream";

export interface Live {
  light: "live" | "paused" | "reconnecting";
  paused: boolean;
}

let live: Live = { light: "reconnecting", paused: false };
let heardAt = Date.now();
let wanted = false; // somebody is signed in
let lost: () => void = () => undefined;
let stop: (() => void) | undefined;
const watchers = new Set<(live: Live) => void>();
const changes = new Set<() => void>();

function become(next: Partial<Live>): void {
  const before = live;
  live = { ...live, ...next };
  if (live.light !== before.light || live.paused !== before.paused) watchers.forEach((tell) => tell(live));
}

/** Listen from now on, while somebody sees the page. */
export function connect(whenLost: () => void): void {
  [wanted, lost] = [true, whenLost];
  follow();
}

export function disconnect(): void {
  wanted = false;
  follow();
}

/** When somebody last heard anything. */
export const heard = (): number => heardAt;

function follow(): void {
  stop?.();
  stop = undefined;
  if (!wanted || live.paused || document.hidden) return;
  stop = listen({ isLive, changed, lost: () => lost() });
}

function changed(): void {
  heardAt = Date.now();
  changes.forEach((tell) => tell());
}

function isLive(now: boolean): void {
  if (now) heardAt = Date.now();
  become({ light: now ? "live" : "reconnecting" });
}

document.addEventListener("visibilitychange", follow);

export function setPaused(paused: boolean): void {
  become({ paused, light: paused ? "paused" : "reconnecting" });
  follow();
}

export function useLive(): Live {
  const [state, set] = useState(live);
  useEffect(() => {
    set(live);
    watchers.add(set);
    return () => void watchers.delete(set);
  }, []);
  return state;
}

/** Whether somebody looks, and wants to see what changes. */
function useAwake(): boolean {
  const [awake, set] = useState(isAwake);
  useEffect(() => {
    const look = () => set(isAwake());
    look();
    watchers.add(look);
    document.addEventListener("visibilitychange", look);
    return () => (watchers.delete(look), document.removeEventListener("visibilitychange", look));
  }, []);
  return awake;
}

const isAwake = () => !live.paused && !document.hidden;

/** Calls `again` every so often, soon after something has happened, and when somebody looks again. */
export function useRenewal(again: () => void, every: number, soonest: number | false): void {
  const awake = useAwake();
  const slept = useRef(false);
  useEffect(() => {
    if (!awake) return void (slept.current = true);
    if (slept.current) again();
    slept.current = false;
    let due: number | undefined;
    const soon = () => (due ??= window.setTimeout(() => ((due = undefined), again()), soonest || 0));
    const regularly = window.setInterval(again, every);
    if (soonest !== false) changes.add(soon);
    return () => (clearTimeout(due), clearInterval(regularly), void changes.delete(soon));
  }, [again, awake, every, soonest]);
}

const clocks = new Set<(now: number) => void>();
let ticking: number | undefined;

/** The time, once a second: one clock for all that show it. */
export function useNow(): number {
  const [now, set] = useState(Date.now);
  useEffect(() => {
    clocks.add(set);
    ticking ??= window.setInterval(() => clocks.forEach((tell) => tell(Date.now())), 1_000);
    return () => {
      clocks.delete(set);
      if (clocks.size) return;
      clearInterval(ticking);
      ticking = undefined;
    };
  }, []);
  return now;
}
