// What the service answers about many jobs, one job in full, and dead letters.
import type { ErrorRecord, Job } from "./types";

export type Act = "retry" | "promote" | "cancel" | "delete";
export interface Preview { act: Act; cut_off: string; count: number; by_state: Record<string, number>; examples: Job[]; next: string | null; confirm: string | null }
export interface Step { done: number; left: number; next: string | null }

export interface Effect { name: string; job_id: string; first_at: string; expires_at: string }
export interface Attempt extends ErrorRecord { ran_for?: number; worker?: string | null; note?: string | null; causes?: ErrorCause[] }
export interface ErrorCause { how: string; type: string; message: string; traceback?: string }
export interface LogLine { at: string; level: string; text: string }
export interface AttemptLog { attempt: number; lines: LogLine[] }
export interface JobStory {
  errors: Attempt[]; steps: Record<string, unknown>; effects: Effect[]; logs: AttemptLog[]; worker: string | null; origin: string | null;
  note: string | null; flow: string | null; after: string[]; blocked_by: string[]; recovered_from: string | null;
  recovered_as: string | null; claimed_at: string | null; expires_at: string | null; deadline_at: string | null;
  priority: string; dead_letter: boolean; ran_for: number; rescues: number;
}
export interface Why { because: string; text: string; next: string | null; until: string | null; jobs: string[] }
export interface FlowJob extends Job { after: string[]; blocked_by: string[] }
export interface FlowDetail { id: string; name: string; created_at: string; unfinished: number; jobs: FlowJob[] }

export interface Cause {
  id: string; task: string; error: string; latest: string; count: number; first_at: string; last_at: string; by_hour: number[];
}
export interface Remark { id: string; at: string; who: string; text: string }
