// A long list, of jobs or dead letters: read page by page as far as somebody scrolls, renewed where they look.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, type ApiError } from "./api";
import { useRenewal } from "./live";
import { recalled, remember } from "./place";
import { here } from "./route";

type Query = Record<string, string | undefined>;

export interface Range { first: number; last: number }

export interface Named { job_id: string }

export interface Keyset<Row> {
  rows: Row[];
  loaded: boolean; // at least the first page
  next: string | null; // there is more
  fresh: Fresh; // newer rows that are not shown yet
  paused: boolean; // it looked far without finding anything
  error: ApiError | undefined;
  more: () => void;
  again: () => void;
  newest: () => void; // from its top, with all that is new
  looking: (at: Range) => void;
  hold: (held: boolean) => void; // while somebody points at a row, no row comes above it
}

export interface Page<Row> { rows: Row[]; next: string | null }
export interface Fresh { many: number; more: boolean }
interface Kept<Row> { rows: Row[]; next: string | null; loaded: boolean; error?: ApiError; empty: number; fresh: Fresh }

const PAGE = 200;
const HEAD = 50; // rows of the top that are looked at again
const SOONEST = 1_000; // ms between two loads that events ask for
const REGULARLY = 15_000;
const MOST_EMPTY = 3; // pages without a find, after which a person is asked
const NONE: Fresh = { many: 0, more: false };
const NOTHING: Kept<never> = { rows: [], next: null, loaded: false, empty: 0, fresh: NONE };

/** The list with a page put in its place: what lies within the page and is not in it does not match any more.
 *
 * Where the page does not reach what was known below it, there may be others between: what was below is dropped,
 * and the list goes on from the page's end. */
export function merged<Row extends Named>(list: Page<Row>, page: Page<Row>, after: string | undefined): Page<Row> {
  const above = after ? list.rows.filter((row) => row.job_id >= after) : [];
  const known = list.rows[above.length];
  const bound = page.next;
  const reaches = bound === null || (known !== undefined && bound <= known.job_id);
  const below = bound && reaches ? list.rows.filter((row) => row.job_id < bound) : [];
  const sameEnd = below.length > 0 || list.rows.at(-1)?.job_id === bound;
  return { rows: [...above, ...page.rows, ...below], next: sameEnd ? list.next : page.next };
}

/** The same rows, each as the page has it. */
function renewed<Row extends Named>(list: Row[], page: Row[]): Row[] {
  const latest = new Map(page.map((row) => [row.job_id, row]));
  return list.map((row) => latest.get(row.job_id) ?? row);
}

/** What of a page from the top is newer than the list; `more`: there may be others that the page did not reach. */
export function newerThan<Row extends Named>(list: Row[], page: Page<Row>): Fresh {
  const top = list[0]?.job_id ?? "";
  return { many: page.rows.filter((row) => row.job_id > top).length, more: page.next !== null && page.next > top };
}

/** What is at a path of the service: pages whose rows are in `field`, newest first. */
export function useKeyset<Row extends Named>(path: string, field: string, query: Query): Keyset<Row> {
  const key = JSON.stringify(query);
  const name = `${path} ${key}`;
  const [kept, set] = useState<Kept<Row>>(() => recalled(here().entry, name) ?? NOTHING);
  const now = useRef(kept);
  const turn = useRef(0); // answers to an earlier question are dropped
  const busy = useRef(false);
  const view = useRef<Range>({ first: 0, last: 0 });
  const held = useRef(false);
  const readAt = useRef(Date.now()); // the first page, all of it
  const keep = (next: Partial<Kept<Row>>) => set((now.current = { ...now.current, ...next }));

  const fetched = useCallback(async (after: string | undefined, limit: number, put: (page: Page<Row>) => void) => {
    const mine = turn.current;
    try {
      const page = await get<Record<string, Row[]> & { next: string | null }>(path, { ...(JSON.parse(key) as Query), after, limit });
      if (mine !== turn.current) return;
      if (now.current.error) keep({ error: undefined });
      put({ rows: page[field] ?? [], next: page.next });
    } catch (error) {
      if (mine === turn.current) keep({ error: error as ApiError });
    }
  }, [path, key]);

  const more = useCallback(() => {
    const { next } = now.current;
    if (busy.current || !next) return;
    busy.current = true;
    const mine = turn.current;
    void fetched(next, PAGE, (page) => {
      if (now.current.next !== next) return; // the list has been cut meanwhile
      keep({ rows: [...now.current.rows, ...page.rows], next: page.next, empty: page.rows.length ? 0 : now.current.empty + 1 });
    }).then(() => {
      if (mine !== turn.current) return;
      busy.current = false;
      if (!now.current.error) looking(view.current); // it may have brought nothing
    });
  }, [fetched]);

  const looking = useCallback((at: Range) => {
    view.current = at;
    const { rows, next, empty } = now.current;
    if (next && empty < MOST_EMPTY && at.last >= rows.length - 40) more();
  }, [more]);

  /** Where the list has been cut, it is read on. */
  const put = (next: Partial<Kept<Row>>) => (keep(next), looking(view.current));

  const fromTop = useCallback(() => {
    const isDue = Date.now() - readAt.current > REGULARLY; // rows also come and go below what is in view
    if (isDue) readAt.current = Date.now();
    void fetched(undefined, isDue ? PAGE : Math.min(PAGE, Math.max(HEAD, view.current.last + 1)), (page) => put({ ...merged(now.current, page, undefined), loaded: true, fresh: NONE }));
  }, [fetched]);

  /** The rows in view as they are now; of what is new above them, only how many. */
  const inPlace = useCallback(() => {
    const { rows } = now.current;
    const first = Math.max(1, Math.min(view.current.first, rows.length - 1));
    const above = rows[first - 1]?.job_id;
    void fetched(undefined, HEAD, (page) => put({ rows: renewed(now.current.rows, page.rows), fresh: newerThan(now.current.rows, page) }));
    void fetched(above, Math.min(PAGE, Math.max(1, view.current.last - first + 1)), (page) => put(merged(now.current, page, above)));
  }, [fetched]);

  const again = useCallback(() => (now.current.rows.length && view.current.first > 0 ? inPlace() : fromTop()), [fromTop, inPlace]);

  const renew = useCallback(() => {
    held.current &&= now.current.rows.length > 0;
    if (held.current) inPlace();
    else again();
  }, [again, inPlace]);

  useEffect(() => {
    const { entry } = here();
    const before = recalled<Kept<Row>>(entry, name);
    turn.current += 1;
    busy.current = false;
    view.current = { first: 0, last: 0 };
    keep({ error: undefined, ...(before ?? NOTHING) });
    const soon = before && window.setTimeout(renew, SOONEST); // once it is scrolled to where it was
    if (!before) void fetched(undefined, PAGE, (page) => keep({ ...page, loaded: true, empty: page.rows.length ? 0 : 1 }));
    return () => {
      turn.current += 1;
      clearTimeout(soon);
      if (now.current.loaded) remember(entry, name, now.current);
    };
  }, [fetched]);

  useRenewal(renew, REGULARLY, SOONEST);

  const hold = useCallback((next: boolean) => {
    const letGo = held.current && !next;
    held.current = next;
    if (letGo && view.current.first === 0) fromTop();
  }, [fromTop]);

  return {
    rows: kept.rows, loaded: kept.loaded, next: kept.next, error: kept.error, fresh: kept.fresh, paused: kept.empty >= MOST_EMPTY,
    more: () => (keep({ empty: 0 }), more()), again, looking, hold,
    newest: () => ((view.current = { first: 0, last: 0 }), fromTop()),
  };
}
