// What a list says of itself: how much of it is here, and what is new above it.
import type { Keyset } from "../lib/keyset";
import { count } from "../lib/words";

/** All of it is only said where nothing is missing. */
export function Told({ of, one, many }: { of: Keyset<unknown>; one: string; many: string }) {
  const n = of.rows.length;
  return <span>{count(n)} {of.next || of.fresh.many ? "so far" : n === 1 ? one : many}</span>;
}

/** New rows wait while somebody points at one, or has scrolled down. */
export function FreshRows({ of }: { of: Keyset<unknown> }) {
  if (!of.fresh.many) return null;
  const show = () => (scrollTo(0, 0), of.newest());
  return <div class="fresh"><button type="button" class="small primary" onClick={show}><span aria-hidden="true">↑ </span>{count(of.fresh.many)}{of.fresh.more ? " or more" : ""} new</button></div>;
}
