import { useState } from "preact/hooks";
import { get } from "../lib/api";
import { heard, setPaused, useLive, useNow } from "../lib/live";
import { useLoad } from "../lib/load";
import { go, href, useRoute } from "../lib/route";
import { idIn } from "../lib/search";
import { useWho } from "../lib/session";
import { theme, wear, type Theme } from "../lib/theme";
import { seesAll } from "../lib/who";
import { ago } from "../lib/words";
import { Me } from "./me";
import { SearchField } from "./searchfield";

export function Top() {
  return (
    <header class="top">
      <Search />
      <span class="grow" />
      <Health />
      <LiveLight />
      <Themes />
      <span class="wide"><Me /></span>
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

const SIGN: Record<string, string> = { healthy: "good", ready: "good", degraded: "warn" };

/** How all does; for somebody who sees the jobs of one owner, whether jobs can be put in. */
function Health() {
  const all = seesAll(useWho());
  const { data, error } = useLoad(() => (all ? get<{ status: string }>("/health") : get("/readyz").then(() => ({ status: "ready" }))), [all], 10_000);
  if (error?.status === 401 || error?.status === 403) return null; // it is there, but not told to this person
  const status = error ? (error.status === 503 && !all ? "not ready" : "unreachable") : data?.status;
  const kind = status === undefined ? "" : SIGN[status] ?? "bad";
  const words = <><span class="dot" aria-hidden="true" />{status ?? "…"}</>;
  return all ? <a class={`pill ${kind}`} href={href("/health")}>{words}</a> : <span class={`pill ${kind}`}>{words}</span>;
}

function LiveLight() {
  const live = useLive();
  const now = useNow();
  const kind = live.light === "live" ? "good" : live.light === "paused" ? "" : "warn";
  const told = ago(new Date(heard()), now);
  return (
    <>
      <button type="button" class={`pill ${kind}`} onClick={() => setPaused(!live.paused)} title={`last heard ${told}`}
        aria-label={live.paused ? "Paused: show changes again" : `${live.light}: stop showing changes`}>
        <span class="dot" aria-hidden="true" /><span>{live.light}</span>
      </button>
      <span class="wide age muted">{told}</span>
    </>
  );
}

const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

function Themes() {
  const [worn, set] = useState(theme());
  const change = () => (wear(NEXT[worn]), set(NEXT[worn]));
  return <button type="button" class="plain" onClick={change} aria-label={`Theme: ${worn}`} title={`Theme: ${worn}`}>{worn === "dark" ? "☾" : worn === "light" ? "☀" : "◐"}</button>;
}
