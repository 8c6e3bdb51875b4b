// What the service answers: as in its OpenAPI document.
export interface Job {
  job_id: string; queue: string; task: string; status: string; state: string | null;
  attempts_made: number; max_attempts: number; created_at: string; started_at: string | null; finished_at: string | null;
  updated_at: string; next_attempt_at: string | null; progress: { percent?: number; message?: string } | null;
  error: string | null; owner: string | null; key: string | null; tags?: string[]; recovered_as?: string | null; result?: unknown; payload?: unknown;
}
export interface JobPage { jobs: Job[]; next: string | null }
export interface DeadLetter {
  job_id: string; queue: string; task: string; reason: string; error: string | null; code: string | null; attempts: number;
  max_attempts: number; first_started_at: string | null; ran_for: number; failed_at: string; recovered_at: string | null;
  recovered_as: string | null; owner: string | null; key: string | null; payload?: unknown; traceback?: string | null;
}
export interface DeadPage { dead_letters: DeadLetter[]; next: string | null }
export interface Queue {
  name: string; declared: boolean; paused: boolean; counts: Record<string, number>; parked: number;
  concurrency: number | null; max_active: number | null; rate: string | null; rate_key: string | null; workers: number;
}
export interface Worker {
  id: string; name: string; queues: string[]; slots: number; active: number; alive: boolean;
  started_at: string | null; expires_at: string | null; order: "quiet" | "stop" | null; memory: number | null; running: RunningJob[];
}
export interface LostWorker {
  id: string; name: string | null; at: string; why: string; rescued: number; jobs: { job_id: string; task: string; state: string }[];
}
export interface Workforce { workers: Worker[]; lost: LostWorker[] }
export interface RunningJob { job_id: string; task: string; queue: string; since: string | null; progress: { percent?: number; message?: string } | null }
export interface Breaker {
  name: string; state: "closed" | "open" | "half-open"; since: string | null; failures: number; runs: number; probing: number;
  retry_in: number | null; threshold: number; reset: number; probes: number; failure_rate: number | null;
}
export interface Schedule {
  id: string; task: string | null; queue: string | null; cron: string | null; every: number | null; tz: string | null;
  paused: boolean; synced: boolean; next_at: string | null; last_due: string | null; last_job: string | null;
  overlap: string | null; missed: string | null; after: string[];
}
export interface Run { at: string; there: string; note: string | null }
export interface Tick { due: string; fired_at: string; job_id: string | null; note: string | null; state: string | null }
export interface ScheduleDetail extends Schedule { runs: Run[]; ticks: Tick[] }
export interface TaskInfo {
  name: string; queue: string; description: string | null; priority: string; timeout: number | null; retry: string;
  concurrency: number | null; limit: string | null; needs: string | null; schedules: string[] | null; on: string | null; execute: string;
  key: string | null; unique: string | null; enabled: boolean; secret: string[]; searchable: string[]; payload: Schema;
}
export interface Schema {
  type?: string; title?: string; description?: string; default?: unknown; enum?: unknown[]; const?: unknown; format?: string;
  properties?: Record<string, Schema>; required?: string[]; anyOf?: Schema[]; oneOf?: Schema[]; items?: Schema; minimum?: number; maximum?: number;
  additionalProperties?: boolean | Schema; pattern?: string; minLength?: number;
  $ref?: string; $defs?: Record<string, Schema>;
}
export interface Deed {
  id: string; at: string; who: string; via: string; action: string; target: string; why: string | null; outcome: string;
  before: Record<string, unknown>; after: Record<string, unknown>;
}
export interface ErrorRecord { type: string; message: string; code?: string | null; class?: string | null; traceback?: string | null; attempt?: number; at?: string }
export interface Story {
  errors: ErrorRecord[]; steps: Record<string, unknown>; worker: string | null; origin: string | null; note: string | null;
  flow: string | null; tree: string | null; after: string[]; blocked_by: string[];
}
export interface WhyView { causes: { because: string; text: string; next: string | null; until: string | null; jobs: string[] }[] }
export interface Counted {
  throughput_per_minute: number; error_rate: number; avg_processing_time_ms: number; p50_processing_time_ms: number;
  p95_processing_time_ms: number; p99_processing_time_ms: number; avg_wait_time_ms: number; p50_wait_time_ms: number;
  p95_wait_time_ms: number; p99_wait_time_ms: number; retries: number; dead_letters: number; rescued: number;
  lost_leases: number; timed_out: number; expired: number; missed_deadlines: number;
}
export interface QueueStats extends Counted {
  queue: string; waiting: number; active: number; completed: number; failed: number; delayed: number; blocked: number;
  cancelled: number; paused: boolean; oldest_waiting_s: number;
}
export interface TaskStats extends Counted { queue: string; task: string }
export interface Stats {
  timestamp: string; window_s: number; queues: QueueStats[]; tasks: TaskStats[]; dlq_size: number; worker_count: number;
  relay_lag_s: number | null; schedule_lateness_s: number;
}
export interface Point extends Counted { at: string }
export interface HealthReport {
  status: string; engine: { status: string; error: string | null; answered_in: number | null }; dlq_size: number;
  queues: Record<string, { status: string; waiting: number; active: number; error_rate: number; oldest_age: number | null; paused: boolean }>;
  workers: Record<string, { status: string; concurrency: number; processing: number; queues: string[] }>;
  problems: { status: string; text: string; next: string | null }[]; last_check: string;
}
export interface Alerts {
  alerts: { rule: string; subject: string; severity: string; message: string; phase: string; since: string; fired_at: string | null; clear_at: string | null; told: string[] }[];
  channels: { name: string; told_at: string | null; failed_at: string | null; problem: string | null }[];
}
export interface AlertEntry { at: string; event: string; rule: string; subject: string; severity: string; message: string }
export interface Bound { said: string; rate: number | null; burst: number; concurrency: number | null }
export interface LimitInfo { name: string; limit: Bound; per_key: Bound; needs: string[]; active: number; cooled_for: number | null }
export interface Lane { lane: string; waiting: number; active: number; opens_in: number | null }
