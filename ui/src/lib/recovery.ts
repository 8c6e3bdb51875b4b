// Dead letters that come back at a rate: it goes on while the tab is open, whatever page is looked at.
import { useEffect, useState } from "preact/hooks";
import { post } from "./api";

export interface Going { done: number; already: number; gone: number; over: boolean; stopped: boolean; lasts: number; error?: string }
export interface Wish { ids: string[]; rate: number; reason: string }

/** The recovery of one cause. */
export interface Recovery {
  all: number;
  rate: number;
  going: Going;
  handed: boolean; // over to the service
  stop: boolean;
}

const MOST = 200; // at once
const wait = (ms: number) => new Promise((then) => setTimeout(then, ms));
const known = new Map<string, Recovery>();
const watchers = new Map<string, Set<() => void>>();

export const isRunning = (recovery: Recovery | undefined): boolean => recovery !== undefined && !recovery.going.over;
const warn = (event: BeforeUnloadEvent) => event.preventDefault();

/** Those who look at a cause see what becomes of it. */
function changed(cause: string): void {
  watchers.get(cause)?.forEach((look) => look());
  if ([...known.values()].some(isRunning)) addEventListener("beforeunload", warn);
  else removeEventListener("beforeunload", warn);
}

export function useRecovery(cause: string): Recovery | undefined {
  const [, again] = useState(0);
  useEffect(() => {
    const look = () => again((n) => n + 1);
    const others = watchers.get(cause) ?? new Set();
    watchers.set(cause, others.add(look));
    return () => void (others.delete(look) && !others.size && watchers.delete(cause));
  }, [cause]);
  return known.get(cause);
}

/** `unseen` is told of the end where nobody looks at it. */
export async function recover(cause: string, wish: Wish, unseen: (recovery: Recovery) => void): Promise<void> {
  const going: Going = { done: 0, already: 0, gone: 0, over: false, stopped: false, lasts: 0 };
  const recovery: Recovery = { all: wish.ids.length, rate: wish.rate, going, handed: false, stop: false };
  known.set(cause, recovery);
  changed(cause);
  try {
    await bySeconds(wish, recovery, () => changed(cause));
  } catch (error) {
    going.error = (error as Error).message;
  }
  going.over = true;
  changed(cause);
  if (!watchers.has(cause)) unseen(recovery);
}

export function change(cause: string, how: Partial<Pick<Recovery, "handed" | "stop">>): void {
  const recovery = known.get(cause);
  if (recovery) Object.assign(recovery, how);
  changed(cause);
}

/** When a session ends: nobody else's goes on with it. */
export function stopAll(): void {
  for (const cause of known.keys()) change(cause, { stop: true });
}

export function forget(cause: string): void {
  known.delete(cause);
  changed(cause);
}

/** A second's worth at a time; handed over, all at once, and due at the rate. */
async function bySeconds({ ids, rate, reason }: Wish, recovery: Recovery, tell: () => void): Promise<void> {
  const { going } = recovery;
  let [at, behind] = [0, 0];
  while (at < ids.length && !recovery.stop) {
    const some = ids.slice(at, at + (recovery.handed ? MOST : Math.max(1, Math.min(MOST, Math.ceil(rate)))));
    const made = await post<{ job_ids: string[]; already: number; gone: number }>("/dead-letters/recover", { job_ids: some, rate, behind, reason: reason || null });
    at += some.length;
    if (recovery.handed) behind += some.length;
    Object.assign(going, { done: going.done + made.job_ids.length, already: going.already + made.already, gone: going.gone + made.gone, lasts: behind / rate });
    tell();
    for (const until = Date.now() + (some.length / rate) * 1000; at < ids.length && !recovery.handed && !recovery.stop && Date.now() < until;) {
      await wait(Math.min(200, until - Date.now()));
    }
  }
  going.stopped = at < ids.length;
}
