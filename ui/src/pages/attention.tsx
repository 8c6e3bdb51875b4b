// What needs somebody now: each line a fact, its cause, and the action that mends it.
import type { ComponentChildren } from "preact";
import { get } from "../lib/api";
import { wayTo } from "../lib/alerted";
import { queueOf, useIdle, type Problem } from "../lib/idle";
import { useLoad } from "../lib/load";
import { href } from "../lib/route";
import { useWho } from "../lib/session";
import type { AlertEntry, Alerts, Breaker, HealthReport, LimitInfo, Queue, Stats } from "../lib/types";
import { count, quoted, seconds } from "../lib/words";
import { Command } from "../parts/copy";
import { Ago } from "../parts/time";
import { Told, visible } from "../parts/told";
import { askBreaker } from "./limits";
import { askPause } from "./queues";

interface Action { label: string; to?: string; act?: () => void; command?: string }
export interface Fact { status: string; text: string; key?: string; cause?: ComponentChildren; actions: Action[] }

const NOBODY: Fact = { status: "degraded", text: "No worker is running: what is enqueued waits until one comes.", actions: [{ label: "worker", command: "penstock worker --app module:app" }] };
const MOST_ALERTS = 5; // each with a line of its own
const LAG = 60; // seconds that a relay or a schedule may be late

export function Attention({ health, stats, queues, again }: { health: HealthReport; stats: Stats | undefined; queues: Queue[]; again: () => void }) {
  const mayAct = useWho().may("operate");
  const breakers = useLoad(() => get<{ breakers: Breaker[] }>("/breakers"), [], 5_000, false);
  const limits = useLoad(() => get<{ limits: LimitInfo[] }>("/limits"), [], 15_000, false);
  const alerts = useLoad(() => get<Alerts>("/alerts"), [], 10_000, false);
  const stopped = new Set(queues.filter((q) => q.paused).map((q) => q.name)); // that has a line of its own
  const open = (breakers.data?.breakers ?? []).filter((b) => b.state !== "closed");
  const idle = useIdle(health.problems);
  const done = () => (again(), breakers.again());
  const facts = [
    ...health.problems.filter((problem) => !stopped.has(queueOf(problem.text) ?? "")).map((problem) => told(problem, open, limits.data?.limits ?? [], idle(problem))),
    ...open.map((b) => broken(b, mayAct ? () => askBreaker(b, "reset", done) : undefined)),
    ...queues.filter((q) => q.paused).map((q) => paused(q, mayAct ? () => askPause(q, done) : undefined)),
    ...queues.filter((q) => q.parked > 0).map(parked),
    ...(stats?.worker_count === 0 && !health.problems.some((problem) => problem.text.startsWith("no worker")) ? [NOBODY] : []),
    ...firing(alerts.data, new Set(health.problems.map((problem) => queueOf(problem.text))), open.length > 0),
    ...late(stats),
  ];
  return (
    <section class="attention" aria-label="What needs attention">
      {facts.map((fact) => <Line key={fact.key ?? fact.text} fact={fact} />)}
      {!facts.length && <Calm at={health.last_check} />}
    </section>
  );
}

function Line({ fact }: { fact: Fact }) {
  const bad = fact.status === "unhealthy";
  return (
    <div class={`fact ${bad ? "bad" : "warn"}`}>
      <span class="sign" role="img" aria-label={bad ? "wrong" : "to look at"}>{bad ? "✕" : "△"}</span>
      <span class="grow"><Told text={fact.text} />{fact.cause && <span class="muted"> {fact.cause}</span>}</span>
      {fact.actions.map((action) => <Do key={action.label} action={action} />)}
    </div>
  );
}

function Do({ action }: { action: Action }): ComponentChildren {
  if (action.act) return <button type="button" class="small" onClick={action.act}>{action.label}</button>;
  if (action.to) return <a class="button small" href={action.to}>{action.label}</a>;
  return action.command ? <Command text={action.command} /> : null;
}

/** Nothing is wrong: since when, as the alerts remember. */
function Calm({ at }: { at: string }) {
  const history = useLoad(() => get<{ entries: AlertEntry[] }>("/alerts/history", { limit: 1 }), [], 60_000, false);
  const last = history.data?.entries[0];
  return (
    <p class="calm">
      <span aria-hidden="true">✓</span>
      <span>Nothing needs you. {last ? <>The last alert was <Ago at={last.at} />.</> : "No alert has fired in the last 30 days."} Checked <Ago at={at} />.</span>
    </p>
  );
}

/** A problem as the service tells it; the command it names has a page here. */
function told(problem: Problem, broken: Breaker[], limits: LimitInfo[], idle: string | undefined): Fact {
  const queue = queueOf(problem.text);
  const needed = limits.filter((l) => queue && (l.name === queue || l.name.startsWith(`${queue}>`))).flatMap((l) => l.needs);
  const open = broken.find((b) => needed.includes(b.name));
  const probed = open && `The breaker ${open.name} is ${open.state}${open.retry_in === null ? "" : `, next probe in ${seconds(open.retry_in)}`}.`;
  return {
    status: problem.status,
    text: problem.text.charAt(0).toUpperCase() + problem.text.slice(1) + ".",
    cause: [idle && visible(idle), probed].filter(Boolean).join(" "),
    actions: [...(open ? [{ label: "Breaker", to: href("/limits") }] : []), ...(idle ? [WORKERS] : pageOf(problem.next, queue))],
  };
}

const WORKERS: Action = { label: "Workers", to: href("/workers") };

function pageOf(command: string | null, queue: string | undefined): Action[] {
  if (!command) return [];
  if (/^penstock dlq/.test(command)) return [{ label: "Dead letters", to: href("/dead-letters") }];
  if (/^penstock workers/.test(command)) return [WORKERS];
  if (/^penstock doctor/.test(command)) return [{ label: "Health", to: href("/health") }];
  if (/^penstock jobs/.test(command) && queue) return [{ label: "Queue", to: href(`/queues/${encodeURIComponent(queue)}`) }];
  return [{ label: command, command }];
}

function broken(breaker: Breaker, close?: () => void): Fact {
  const probe = breaker.retry_in === null ? "" : ` The next probe is in ${seconds(breaker.retry_in)}.`;
  return {
    status: "degraded", text: `Breaker ${breaker.name} is ${breaker.state}: jobs that need it wait.`, cause: probe.trim(),
    actions: [close ? { label: "Close it…", act: close } : { label: "Breaker", to: href("/limits") }],
  };
}

function paused(queue: Queue, resume?: () => void): Fact {
  return {
    status: "degraded", text: `Queue ${queue.name} is paused, ${count(queue.counts.waiting ?? 0)} wait in it.`,
    actions: [resume ? { label: "Resume…", act: resume } : { label: "Queue", to: href(`/queues/${encodeURIComponent(queue.name)}`) }],
  };
}

function parked(queue: Queue): Fact {
  return {
    status: "degraded", text: `${count(queue.parked)} jobs of ${queue.name} are set aside:`, cause: "no worker here can run them.",
    actions: [{ label: "parked", command: `penstock jobs --parked -q ${quoted(queue.name)}` }],
  };
}

/** But for those of a queue, and of breakers, that have a line already, which says the same. */
function firing(alerts: Alerts | undefined, told: Set<string | undefined>, broken: boolean): Fact[] {
  const found = (alerts?.alerts ?? []).filter((alert) => alert.phase === "firing" && !told.has(alert.subject) && !(broken && alert.rule === "breaker_open"));
  const more = found.length - MOST_ALERTS;
  const status = (severity: string) => (severity === "warning" ? "degraded" : "unhealthy");
  return [
    ...found.slice(0, MOST_ALERTS).map((alert) => ({
      status: alert.clear_at ? "degraded" : status(alert.severity), text: alert.message, key: `${alert.rule} ${alert.subject}`, cause: <Since alert={alert} />,
      actions: [wayTo(alert) ?? { label: "Alerts", to: href("/alerts") }],
    })),
    ...(more > 0 ? [{ status: status(found[MOST_ALERTS]?.severity ?? ""), text: `${count(more)} more ${more === 1 ? "alert fires" : "alerts fire"}.`, actions: [{ label: "Alerts", to: href("/alerts") }] }] : []),
  ];
}

/** Its words are as of the last look: since when it fires, and whether it is about to be over. */
function Since({ alert }: { alert: Alerts["alerts"][number] }) {
  return <>fired <Ago at={alert.fired_at ?? alert.since} /> by rule {alert.rule}{alert.clear_at && <>; last so <Ago at={alert.clear_at} />, over soon unless it comes back</>}.</>;
}

function late(stats: Stats | undefined): Fact[] {
  const relay = stats?.relay_lag_s ?? 0;
  const schedules = stats?.schedule_lateness_s ?? 0;
  return [
    ...(relay > LAG ? [{ status: "degraded", text: `The oldest row of the outbox waits ${seconds(relay)} for a relay.`, actions: [{ label: "Relay", to: href("/limits") }] }] : []),
    ...(schedules > LAG ? [{ status: "degraded", text: `A schedule is ${seconds(schedules)} late.`, actions: [{ label: "Schedules", to: href("/schedules") }] }] : []),
  ];
}
