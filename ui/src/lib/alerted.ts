// To what an alert leads: the queue, task, job or schedule it is about, or the page where it is mended.
import { href } from "./route";
import { idIn } from "./search";
import type { Alerts } from "./types";

type Alert = Alerts["alerts"][number];
export interface Way { label: string; to: string }

const OF_THE_WHOLE: Record<string, Way> = {
  dlq_threshold: { label: "Dead letters", to: "/dead-letters" }, breaker_open: { label: "Breakers", to: "/limits" },
  relay_lag_high: { label: "Relay", to: "/limits" },
};
const OTHERS = "others"; // of one rule, beyond those that are told one by one

export function wayTo({ rule, subject }: Pick<Alert, "rule" | "subject">): Way | undefined {
  const whole = OF_THE_WHOLE[rule];
  if (whole) return { ...whole, to: href(whole.to) };
  if (subject === "system" || subject === OTHERS) return undefined;
  if (rule === "schedule_not_fired") return { label: "Schedule", to: href(`/schedules/${encodeURIComponent(subject)}`) };
  const job = idIn(subject);
  if (job) return { label: "Job", to: href(`/jobs/${job}`) };
  const [queue = "", task] = subject.split("/");
  if (task === undefined) return { label: "Queue", to: href(`/queues/${encodeURIComponent(queue)}`) };
  if (rule === "job_failures" || rule === "job_timed_out") return { label: "Failed jobs", to: href("/jobs", { q: `state:failed task:${task}` }) };
  return { label: "Its jobs", to: href("/jobs", { q: `queue:${queue} task:${task}` }) };
}
