// The causes of all dead letters: read look by look, added up, and read again the less often the longer it takes.
import { useRef, useState } from "preact/hooks";
import { get } from "./api";
import type { Cause } from "./jobtypes";
import { useLoad, type Loaded } from "./load";

export interface Causes { causes: Cause[]; looked: number; looks: number; whole: boolean }
interface Look { causes: Cause[]; looked: number; next: string | null }

const OFTEN = 15_000; // ms
const SOONEST = 3_000;
const REST = 10; // times as long as it took, where one look was not enough
const FIRST = 300; // ms in which the page gets what it shows of the first look
const wait = (ms: number) => new Promise((then) => setTimeout(then, ms));

export function useCauses(): Loaded<Causes> {
  const [partly, tell] = useState<Causes>(); // while it is read for the first time
  const [took, measure] = useState(0);
  const line = useRef<{ now?: Promise<Causes>; next?: Promise<Causes> }>({});
  const walk = async (): Promise<Causes> => {
    const begun = performance.now();
    const found = await read(tell);
    measure(found.looks > 1 ? Math.round((performance.now() - begun) / 500) * 500 : 0);
    return found;
  };
  // One at a time; who asks meanwhile gets the one after it.
  const inTurn = (): Promise<Causes> => {
    const { current } = line;
    if (!current.now) return (current.now = walk().finally(() => (current.now = undefined)));
    return (current.next ??= current.now.catch(() => undefined).then(() => ((current.next = undefined), inTurn())));
  };
  const load = useLoad(inTurn, [], Math.max(OFTEN, took * REST), Math.max(SOONEST, took * REST));
  return { ...load, data: load.data ?? partly };
}

async function read(tell: (sofar: Causes) => void): Promise<Causes> {
  const found = new Map<string, Cause>();
  let [looked, after]: [number, string | null] = [0, null];
  for (let looks = 1; ; looks += 1) {
    const look: Look = await get<Look>("/dead-letters/causes", { after });
    look.causes.forEach((cause) => found.set(cause.id, added(found.get(cause.id), cause)));
    looked += look.looked;
    after = look.next;
    const causes = [...found.values()].sort((a, b) => b.count - a.count || (a.id < b.id ? -1 : 1));
    if (!after) return { causes, looked, looks, whole: true };
    tell({ causes, looked, looks, whole: false });
    if (looks === 1) await wait(FIRST);
  }
}

export function added(one: Cause | undefined, other: Cause): Cause {
  if (!one) return other;
  const [first, last] = one.last_at < other.last_at ? [one, other] : [other, one];
  return {
    ...last, count: one.count + other.count, first_at: one.first_at < other.first_at ? one.first_at : other.first_at,
    last_at: last.last_at, by_hour: last.by_hour.map((n, hour) => n + (first.by_hour[hour] ?? 0)),
  };
}

/** The ids of all dead letters of a cause, as they are now; `tell` hears how many so far. */
export async function idsOf(cause: { id: string; task: string }, tell: (count: number) => void, stop: { current: boolean }): Promise<string[]> {
  const ids: string[] = [];
  let after: string | null = null;
  do {
    const look: { job_ids: string[]; next: string | null } = await get("/dead-letters/ids", { cause: cause.id, task: cause.task, after });
    ids.push(...look.job_ids);
    tell(ids.length);
    after = look.next;
  } while (after && !stop.current);
  return ids;
}
