// The flow of a job as a tree; what leads to a failure, and to this job, is open.
import { get } from "../lib/api";
import type { FlowDetail, FlowJob, JobStory } from "../lib/jobtypes";
import { useLoad } from "../lib/load";
import { href } from "../lib/route";
import type { Job } from "../lib/types";
import { count, short } from "../lib/words";
import { Empty, Shown } from "../parts/shown";
import { State } from "../parts/state";
import { JobLink } from "./job";

interface Node { job: FlowJob; others: string[]; below: Node[]; open: boolean }

const FEW = 30; // jobs: a flow of no more is open altogether

/** Each job once, under the last of those it waits for; the others are named beside it. */
export function treeOf(jobs: FlowJob[], here: string): Node[] {
  const nodes = new Map<string, Node>(jobs.map((job) => [job.job_id, { job, others: [], below: [], open: jobs.length <= FEW }]));
  const roots: Node[] = [];
  const place = new Map(jobs.map((job, n) => [job.job_id, n]));
  for (const node of nodes.values()) {
    const known = node.job.after.filter((id) => nodes.has(id) && (place.get(id) ?? 0) < (place.get(node.job.job_id) ?? 0));
    const under = known.at(-1);
    node.others = node.job.after.filter((id) => id !== under);
    (under ? (nodes.get(under) as Node).below : roots).push(node);
  }
  const opened = (node: Node): boolean => {
    const inside = node.below.map(opened).some(Boolean);
    node.open ||= inside;
    return inside || node.job.job_id === here || node.job.status === "failed";
  };
  roots.forEach(opened);
  return roots;
}

export function FlowTree({ job, story }: { job: Job; story: JobStory | undefined }) {
  if (!story?.flow) return <Waits story={story} />;
  return <Whole id={story.flow} here={job.job_id} />;
}

function Waits({ story }: { story: JobStory | undefined }) {
  if (!story?.after.length) return <Empty title="It stands alone" text="Jobs of a flow, and those that wait for others, are drawn here." />;
  return (
    <ul class="plainlist">
      {story.after.map((id) => (
        <li key={id} class="line">after <JobLink id={id} />{story.blocked_by.includes(id) ? <span class="pill warn">still to end</span> : <span class="pill good">ended</span>}</li>
      ))}
    </ul>
  );
}

function Whole({ id, here }: { id: string; here: string }) {
  const flow = useLoad(() => get<FlowDetail>(`/flows/${id}`), [id], 5_000);
  return (
    <Shown of={flow}>
      {(data) => (
        <div class="stack tight">
          <p><strong>{data.name}</strong> <span class="muted">{count(data.jobs.length)} jobs, {data.unfinished ? `${count(data.unfinished)} still to end` : "all ended"}</span></p>
          <ul class="tree" aria-label={`Flow ${data.name}`}>{treeOf(data.jobs, here).map((node) => <Branch key={node.job.job_id} node={node} here={here} />)}</ul>
        </div>
      )}
    </Shown>
  );
}

function Branch({ node, here }: { node: Node; here: string }) {
  const line = <Leaf node={node} here={here} />;
  if (!node.below.length) return <li>{line}</li>;
  return (
    <li>
      <details open={node.open}>
        <summary>{line}</summary>
        <ul>{node.below.map((below) => <Branch key={below.job.job_id} node={below} here={here} />)}</ul>
      </details>
    </li>
  );
}

function Leaf({ node, here }: { node: Node; here: string }) {
  const { job } = node;
  return (
    <span class={`line wrap leaf ${job.job_id === here ? "here" : ""}`}>
      <State of={job.state ?? job.status} />
      {job.job_id === here ? <strong aria-current="true">{job.task}</strong> : <a href={href(`/jobs/${job.job_id}`, { tab: "flow" })}>{job.task}</a>}
      <code class="muted" title={job.job_id}>{short(job.job_id)}</code>
      {node.others.length > 0 && <span class="muted">also after {node.others.map(short).join(", ")}</span>}
      {job.error && <span class="muted clip" title={job.error}>{job.error}</span>}
    </span>
  );
}
