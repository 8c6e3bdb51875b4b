// One stream of events for the page, and a clock for the words that depend on the time.
import { useEffect, useState } from "preact/hooks";
import { address } from "./api";

export interface JobEvent {
  event: string;
  job_id: string;
  queue: string;
  task: string;
}

export interface Live {
  light: "live" | "paused" | "reconnecting";
  paused: boolean;
  since: number; // when we last heard anything
}

let live: Live = { light: "reconnecting", paused: false, since: Date.now() };
let source: EventSource | undefined;
const watchers = new Set<(live: Live) => void>();
const changes = new Set<(event?: JobEvent) => void>();
const EVENTS = ["added", "started", "progress", "completed", "failed", "retrying", "cancelled", "resync"];

function become(next: Partial<Live>): void {
  live = { ...live, ...next };
  watchers.forEach((tell) => tell(live));
}

export function connect(): void {
  source?.close();
  source = new EventSource(address("/events"));
  source.onopen = () => become({ light: "live", since: Date.now() });
  source.onerror = () => become({ light: "reconnecting" });
  for (const name of EVENTS) source.addEventListener(name, (event) => heard(event as MessageEvent<string>));
}

function heard(message: MessageEvent<string>): void {
  become({ light: "live", since: Date.now() });
  changes.forEach((tell) => tell(message.type === "resync" ? undefined : (JSON.parse(message.data) as JobEvent)));
}

export function setPaused(paused: boolean): void {
  if (paused) source?.close();
  become({ paused, light: paused ? "paused" : "reconnecting" });
  if (!paused) connect();
}

/** Called after each event; without one when some may have been missed. */
export function onChange(tell: (event?: JobEvent) => void): () => void {
  changes.add(tell);
  return () => void changes.delete(tell);
}

export function useLive(): Live {
  const [state, set] = useState(live);
  useEffect(() => {
    watchers.add(set);
    return () => void watchers.delete(set);
  }, []);
  return state;
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
