// A long list, of jobs or dead letters: read page by page as far as somebody scrolls, renewed where they look.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, type ApiError } from "./api";
import { onChange, useLive } from "./live";

type Query = Record<string, string | undefined>;

export interface Range { first: number; last: number }

export interface Named { job_id: string }

export interface Keyset<Row> {
  rows: Row[];
  loaded: boolean; // at least the first page
  next: string | null; // there is more
  paused: boolean; // it looked far without finding anything
  error: ApiError | undefined;
  more: () => void;
  again: () => void;
  looking: (at: Range) => void;
}

export interface Page<Row> { rows: Row[]; next: string | null }
interface Kept<Row> { rows: Row[]; next: string | null; loaded: boolean; error?: ApiError; empty: number }

const PAGE = 200;
const SOONEST = 1_000; // ms between two loads that events ask for
const REGULARLY = 15_000;
const MOST_EMPTY = 5; // pages without a find, after which a person is asked
const NOTHING: Kept<never> = { rows: [], next: null, loaded: false, empty: 0 };

/** The list with a page put in its place: what lies within the page and is not in it does not match any more. */
export function merged<Row extends Named>(list: Row[], page: Page<Row>, after: string | undefined): Row[] {
  const above = after ? list.filter((job) => job.job_id >= after) : [];
  const bound = page.next;
  const below = bound ? list.filter((job) => job.job_id < bound) : [];
  return [...above, ...page.rows, ...below];
}

/** What is at a path of the service: pages whose rows are in `field`, newest first. */
export function useKeyset<Row extends Named>(path: string, field: string, query: Query): Keyset<Row> {
  const key = JSON.stringify(query);
  const [kept, set] = useState<Kept<Row>>(NOTHING);
  const now = useRef(kept);
  const turn = useRef(0); // answers to an earlier question are dropped
  const busy = useRef(false);
  const view = useRef<Range>({ first: 0, last: 0 });
  const live = useLive();
  const keep = (next: Kept<Row>) => set((now.current = next));

  const fetched = useCallback(async (after: string | undefined, limit: number, put: (page: Page<Row>) => void) => {
    const mine = turn.current;
    try {
      const page = await get<Record<string, Row[]> & { next: string | null }>(path, { ...(JSON.parse(key) as Query), after, limit });
      if (mine === turn.current) put({ rows: page[field] ?? [], next: page.next });
    } catch (error) {
      if (mine === turn.current) keep({ ...now.current, error: error as ApiError });
    }
  }, [path, key]);

  const again = useCallback(() => {
    const { rows } = now.current;
    const first = Math.max(0, Math.min(view.current.first, rows.length - 1));
    const after = first > 0 ? rows[first - 1]?.job_id : undefined;
    const limit = Math.min(PAGE, Math.max(50, view.current.last - first + 1));
    void fetched(after, limit, (page) => {
      const list = merged(now.current.rows, page, after);
      const atEnd = page.next === null || list.at(-1)?.job_id === page.rows.at(-1)?.job_id;
      keep({ rows: list, next: atEnd ? page.next : now.current.next, loaded: true, empty: now.current.empty });
    });
  }, [fetched]);

  const more = useCallback(() => {
    const { next } = now.current;
    if (busy.current || !next) return;
    busy.current = true;
    void fetched(next, PAGE, (page) => {
      const empty = page.rows.length ? 0 : now.current.empty + 1;
      keep({ rows: merged(now.current.rows, page, next), next: page.next, loaded: true, empty });
    }).finally(() => (busy.current = false));
  }, [fetched]);

  useEffect(() => {
    turn.current += 1;
    busy.current = false;
    view.current = { first: 0, last: 0 };
    keep(NOTHING);
    void fetched(undefined, PAGE, (page) => keep({ rows: page.rows, next: page.next, loaded: true, empty: page.rows.length ? 0 : 1 }));
    return () => void (turn.current += 1);
  }, [fetched]);

  useEffect(() => {
    if (live.paused) return;
    let due: number | undefined;
    const soon = () => (due ??= window.setTimeout(() => ((due = undefined), again()), SOONEST));
    const regularly = window.setInterval(again, REGULARLY);
    const stop = onChange(soon);
    return () => (clearTimeout(due), clearInterval(regularly), stop());
  }, [again, live.paused]);

  const looking = useCallback((at: Range) => {
    view.current = at;
    const { rows, next, empty } = now.current;
    if (next && empty < MOST_EMPTY && at.last >= rows.length - 40) more();
  }, [more]);

  return {
    rows: kept.rows, loaded: kept.loaded, next: kept.next, error: kept.error, paused: kept.empty >= MOST_EMPTY,
    more: () => (keep({ ...now.current, empty: 0 }), more()), again, looking,
  };
}
