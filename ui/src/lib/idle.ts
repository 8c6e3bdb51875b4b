// Workers that live and take nothing, because a person told them so: who serves a queue that nobody serves.
import { get } from "./api";
import { useLoad } from "./load";
import type { HealthReport, Worker, Workforce } from "./types";

export type Problem = HealthReport["problems"][number];

export const queueOf = (text: string): string | undefined => /^queue (\S+?):? /.exec(text)?.[1];
const isUnserved = (problem: Problem) => /^penstock worker( |$)/.test(problem.next ?? "");

/** Of a problem for want of a worker, those that would serve its queue: "vm:7 is quiet". */
export function useIdle(problems: Problem[]): (problem: Problem) => string | undefined {
  const asked = problems.some(isUnserved);
  const workers = useLoad(() => (asked ? get<Workforce>("/workers") : Promise.resolve(undefined)), [asked], 5_000, false);
  const idle = (workers.data?.workers ?? []).filter((worker) => worker.alive && worker.order);
  return (problem) => {
    const queue = queueOf(problem.text);
    const serving = isUnserved(problem) && queue ? idle.filter((worker) => worker.queues.includes(queue)) : [];
    return serving.length ? told(serving) : undefined;
  };
}

const MOST = 3; // that are named
const IS: Record<string, string> = { quiet: "is quiet", stop: "is stopping" };

function told(workers: Worker[]): string {
  const more = workers.length - MOST;
  const named = workers.slice(0, MOST).map((worker) => `${worker.name} ${IS[worker.order ?? ""]}`);
  return `${[...named, ...(more > 0 ? [`${more} more`] : [])].join(", ")}.`;
}
