// What a page shows: loaded, kept while it is loaded again, renewed when something happens.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "./api";
import { useRenewal } from "./live";

export interface Loaded<T> {
  data: T | undefined;
  error: ApiError | undefined;
  again: () => void;
}

const SOONEST = 1_000; // ms between two loads that events ask for
const LATEST = 15_000;

/** At most every `soonest` milliseconds when something happens to a job; `false`: only every so often. */
export function useLoad<T>(
  load: () => Promise<T>,
  deps: unknown[],
  every = LATEST,
  soonest: number | false = SOONEST,
): Loaded<T> {
  const [state, set] = useState<{ data?: T; error?: ApiError }>({});
  const latest = useRef(0);
  const again = useCallback(() => {
    const mine = ++latest.current;
    load().then(
      (data) => mine === latest.current && set({ data }),
      (error: ApiError) => mine === latest.current && set((before) => ({ ...before, error })),
    );
  }, deps);

  useEffect(() => {
    again();
    return () => void latest.current++;
  }, [again]);

  useRenewal(again, every, soonest);

  return { data: state.data, error: state.error, again };
}
