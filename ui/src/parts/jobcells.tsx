// Small things that tables show of a job.
import { asText, write } from "../lib/json";
import { useNow } from "../lib/live";
import type { Job } from "../lib/types";
import { seconds } from "../lib/words";

const MOST = 3; // arguments in a cell

/** The first arguments in one line. */
export function Arguments({ of }: { of: unknown }) {
  if (!of || typeof of !== "object") return <span class="muted">–</span>;
  const given = Object.entries(of);
  const text = given.slice(0, MOST).map(([name, value]) => `${name}=${brief(value)}`).join(" ") + (given.length > MOST ? " …" : "");
  return text ? <code title={write(of)}>{text}</code> : <span class="muted">–</span>;
}

function brief(value: unknown): string {
  const signs = [...asText(value).slice(0, 80)]; // whole ones: an emoji is two units
  return signs.length > 32 ? `${signs.slice(0, 31).join("")}…` : signs.join("");
}

/** From its first start to its end, or to now. */
export function Took({ job }: { job: Job }) {
  const now = useNow();
  if (!job.started_at) return <span class="muted">–</span>;
  const to = job.finished_at ? Date.parse(job.finished_at) : job.state === "active" ? now : undefined;
  return to === undefined ? <span class="muted">–</span> : <>{seconds(Math.max(0, to - Date.parse(job.started_at)) / 1000)}</>;
}
