// What the service tells of the whole: plans, gauges, the relay, findings.
import type { Tick } from "./types";

export interface Lane {
  id: string; task: string | null; tz: string | null; paused: boolean; after: string[]; runs: string[]; more: boolean;
  ticks: string[]; fired: string[]; last: Tick | null;
}
export interface Seam { zone: string; at: string; forward: number }
export interface Plan { now: string; since: string; until: string; lanes: Lane[]; seams: Seam[] }
export interface Gauge {
  at: string; waiting: number | null; oldest_age: number | null; stalled: number | null; dead_letters: number | null;
  workers: number | null; relay_lag: number | null;
}
export interface Lately { completed: Record<string, number[]> }
export interface Relay {
  outbox: boolean; problem: string | null; waiting: number | null; lag: number | null; refused: number | null;
  errors: { id: string; order_key: string | null; tries: number; error: string; retry_in: number }[];
}
export interface Findings {
  safe: boolean; accepted: string[]; findings: { name: string; level: "ok" | "warning" | "unsafe" | "unusable"; text: string }[];
}
export interface Rule { rule: string; severity: string; condition: string; channels: string[]; built_in: boolean }
