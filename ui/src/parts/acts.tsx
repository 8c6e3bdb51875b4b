// Acting on chosen jobs: the question names how many and shows three; the answer says how many it was done to.
import { ApiError, post } from "../lib/api";
import { forJobs } from "../lib/commands";
import type { Act } from "../lib/jobtypes";
import type { Job } from "../lib/types";
import { ask } from "./ask";
import { State } from "./state";
import { tell } from "./toast";

export const WORDS: Record<Act, { title: string; action: string; done: string }> = {
  retry: { title: "Retry", action: "Retry", done: "retried" },
  cancel: { title: "Cancel", action: "Cancel them", done: "cancelled" },
  delete: { title: "Delete", action: "Delete", done: "deleted" },
  promote: { title: "Run now", action: "Run now", done: "made due" },
};

export function askFor(act: Act, jobs: Job[], done: () => void): void {
  const words = WORDS[act];
  const many = jobs.length === 1 ? "this job" : `${jobs.length} jobs`;
  ask({
    title: `${words.title}: ${many}?`,
    danger: act === "cancel" || act === "delete",
    action: jobs.length === 1 && act === "cancel" ? "Cancel it" : words.action,
    command: forJobs(act, jobs),
    body: (
      <ul class="plainlist">
        {jobs.slice(0, 3).map((job) => <li key={job.job_id}><State of={job.state ?? job.status} /> {job.task} <code>{job.job_id}</code></li>)}
        {jobs.length > 3 && <li class="muted">and {jobs.length - 3} more</li>}
      </ul>
    ),
    act: async (reason) => {
      const kept = await each(act, jobs, reason);
      const good = jobs.length - kept.length;
      tell(kept.length ? `${good} of ${jobs.length} ${words.done}; the others: ${kept[0]}` : `${good} ${words.done}`);
      done();
    },
  });
}

const AT_ONCE = 4; // requests: a browser has six for all its tabs

/** A few at a time; why those that were not eligible were left. */
async function each(act: Act, jobs: Job[], reason: string): Promise<string[]> {
  const left: string[] = [];
  const waiting = [...jobs];
  const line = async () => {
    for (let job = waiting.shift(); job; job = waiting.shift()) {
      try {
        await post(`/jobs/${job.job_id}/${act}`, { reason: reason || null });
      } catch (error) {
        if (!(error instanceof ApiError) || error.status === 0 || error.status >= 500) throw error;
        left.push(error.message);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, line));
  return left;
}
