import { useNow } from "../lib/live";
import { age, ago, exactly } from "../lib/words";

/** How long ago; the exact time, here and in UTC, on hover. */
export function Ago({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <span class="muted">–</span>;
  return <time dateTime={at} title={exactly(at)}>{ago(at, now)}</time>;
}

/** How old, for a column that says so. */
export function Age({ at }: { at: string }) {
  return <time dateTime={at} title={exactly(at)}>{age(at, useNow())}</time>;
}
