import { useState } from "preact/hooks";
import { get } from "../lib/api";
import { heard, setPaused, useLive, useNow } from "../lib/live";
import { useLoad } from "../lib/load";
import { go, href, useRoute } from "../lib/route";
import { idIn } from "../lib/search";
import { useWho } from "../lib/session";
import { theme, wear, type Theme } from "../lib/theme";
import { ago } from "../lib/words";
import { SearchField } from "./searchfield";
import { complain } from "./toast";

export function Top() {
  return (
    <header class="top">
      <Search />
      <span class="grow" />
      <Health />
      <LiveLight />
      <Themes />
      <Me />
    </header>
  );
}

function Search() {
  const route = useRoute();
  const q = route.query.get("q") ?? "";
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const typed = String(new FormData(event.target as HTMLFormElement).get("q") ?? "").trim();
    const id = idIn(typed);
    go(id ? href(`/jobs/${id}`) : href("/jobs", { q: typed }));
  };
  return (
    <form class="search" role="search" onSubmit={submit}>
      <label class="sr" for="search">Search jobs</label>
      <SearchField key={q} text={q} />
    </form>
  );
}

function Health() {
  const { data, error } = useLoad(() => get<{ status: string }>("/health"), [], 10_000);
  if (error?.status === 401 || error?.status === 403) return null; // it is there, but not told to this person
  const status = error ? "unreachable" : data?.status;
  const kind = status === undefined ? "" : status === "healthy" ? "good" : status === "degraded" ? "warn" : "bad";
  return <a class={`pill ${kind}`} href={href("/health")}><span class="dot" aria-hidden="true" />{status ?? "…"}</a>;
}

function LiveLight() {
  const live = useLive();
  const now = useNow();
  const kind = live.light === "live" ? "good" : live.light === "paused" ? "" : "warn";
  return (
    <button type="button" class={`pill ${kind}`} onClick={() => setPaused(!live.paused)} title={`last heard ${ago(new Date(heard()), now)}`}
      aria-label={live.paused ? "Paused: show changes again" : `${live.light}: stop showing changes`}>
      <span class="dot" aria-hidden="true" /><span class="wide">{live.light}</span>
    </button>
  );
}

const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

function Themes() {
  const [worn, set] = useState(theme());
  const change = () => (wear(NEXT[worn]), set(NEXT[worn]));
  return <button type="button" class="plain" onClick={change} aria-label={`Theme: ${worn}`} title={`Theme: ${worn}`}>{worn === "dark" ? "☾" : worn === "light" ? "☀" : "◐"}</button>;
}

function Me() {
  const who = useWho();
  return (
    <span class="line wide">
      <span class="pill">{who.engine}</span>
      <span class="muted" title={who.scopes.join(", ")}>{who.name}</span>
      {who.proof && <button type="button" class="plain small" onClick={() => who.leave().catch(complain)}>Sign out</button>}
    </span>
  );
}
