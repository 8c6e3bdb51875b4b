const KEYS: [string, string][] = [
  ["/", "search"], ["j k", "down and up in a list"], ["Enter o", "open the row"], ["x", "choose the row"],
  ["g o", "overview"], ["g j", "jobs"], ["g d", "dead letters"], ["g q", "queues"], ["g s", "schedules"],
  ["g w", "workers"], ["g l", "limits and breakers"], ["g a", "alerts"], ["g t", "tasks"], ["g u", "audit"], ["g h", "health"], ["?", "this page"],
];
const SEARCH: [string, string][] = [
  ["0190f0aa-…", "a job by its id"],
  ["state:failed", "waiting, delayed, blocked, active, completed, failed or cancelled"],
  ["task:send_receipt queue:email", "by task, by queue"],
  ["owner:ana key:receipt:7 tag:billing", "by owner, by key, by a tag that it was enqueued with"],
  ["recovered:no", "failed jobs that nobody has recovered yet; recovered:yes for the others"],
  ["after:2h before:10m", "by the time of enqueueing: s, m, h, d ago, or a date"],
  ["task:send_receipt args.order_id:7", "by an argument that the task declares searchable"],
];

export function Help() {
  return (
    <>
      <h1>Keys and search</h1>
      <section class="card stack tight"><h2>Keys</h2><dl class="facts">{KEYS.map(([key, what]) => [<dt key={key}><kbd>{key}</kbd></dt>, <dd key={what}>{what}</dd>])}</dl></section>
      <section class="card stack tight"><h2>Search</h2><dl class="facts">{SEARCH.map(([text, what]) => [<dt key={text}><code>{text}</code></dt>, <dd key={what}>{what}</dd>])}</dl></section>
      <section class="card stack tight">
        <h2>Who may do what</h2>
        <p>A token with the scope <code>read</code> sees, one with <code>operate</code> retries, cancels, recovers, pauses and fires; payloads need the scope <code>payload</code>. A token of one owner shows that owner's jobs, dead letters and the tasks. What you may not do is not shown.</p>
      </section>
    </>
  );
}
