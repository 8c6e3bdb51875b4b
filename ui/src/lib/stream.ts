// One stream of events for all tabs of a browser: it opens few connections to a host, and each stream holds one.
// The tab that has the lock listens and tells the others. Where there are no locks, each tab listens for itself.
import { address } from "./api";
import { API } from "./base";

export interface Listener {
  isLive: (live: boolean) => void;
  changed: () => void;
  lost: () => void; // the stream has ended, or there was none
}

type Word = "hello" | "live" | "away" | "changed";

const NAME = `penstock-events ${API}`;
const EVENTS = ["added", "started", "progress", "completed", "failed", "retrying", "cancelled", "resync"];
const GATHERED = 100; // ms: what happens within is told once
const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 30_000;

/** Listens until what it returns is called. */
export function listen(listener: Listener): () => void {
  const shares = "locks" in navigator && "BroadcastChannel" in window;
  return shares ? listenTogether(listener) : listenAlone(listener);
}

function listenTogether(listener: Listener): () => void {
  const others = new BroadcastChannel(NAME);
  const over = new AbortController();
  let live: boolean | undefined; // known where it is this tab that listens
  const say = (word: Word) => others.postMessage(word);
  const told: Record<Word, () => void> = {
    hello: () => live !== undefined && say(live ? "live" : "away"),
    live: () => listener.isLive(true),
    away: () => listener.isLive(false),
    changed: () => (listener.isLive(true), listener.changed()),
  };
  others.onmessage = (message: MessageEvent<Word>) => told[message.data]?.();
  say("hello");
  const mine = () => new Promise<void>((end) => {
    const stop = listenAlone({
      isLive: (now) => ((live = now), listener.isLive(now), say(now ? "live" : "away")),
      changed: () => (listener.changed(), say("changed")),
      lost: listener.lost,
    });
    over.signal.addEventListener("abort", () => (stop(), end()));
  });
  navigator.locks.request(NAME, { signal: over.signal }, mine).catch(() => undefined); // it was over before its turn came
  return () => (over.abort(), others.close());
}

function listenAlone(listener: Listener): () => void {
  let source: EventSource;
  let wait = FIRST_WAIT;
  let later: number | undefined;
  let gathering: number | undefined;
  const changed = () => (gathering ??= window.setTimeout(() => ((gathering = undefined), listener.changed()), GATHERED));
  const open = () => {
    source = new EventSource(address("/events"));
    source.onopen = () => ((wait = FIRST_WAIT), listener.isLive(true), changed()); // some may have been missed before
    source.onerror = () => {
      listener.isLive(false);
      listener.lost();
      if (source.readyState !== EventSource.CLOSED) return; // the browser comes again by itself
      later = window.setTimeout(open, wait * (0.5 + Math.random() / 2));
      wait = Math.min(wait * 2, LONGEST_WAIT);
    };
    for (const name of EVENTS) source.addEventListener(name, changed);
  };
  open();
  return () => (source.close(), clearTimeout(later), clearTimeout(gathering));
}
