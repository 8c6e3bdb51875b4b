import { get, post } from "../lib/api";
import { useLoad } from "../lib/load";
import { useWho } from "../lib/session";
import type { Breaker } from "../lib/types";
import { percent, quoted, seconds } from "../lib/words";
import { ask } from "../parts/ask";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";
import { tell } from "../parts/toast";

const PILL: Record<string, string> = { closed: "good", open: "bad", "half-open": "warn" };

export function Limits() {
  const who = useWho();
  const breakers = useLoad(() => get<{ breakers: Breaker[] }>("/breakers"), [], 3_000);
  return (
    <>
      <div class="head"><h1>Limits & breakers</h1></div>
      <h2>Circuit breakers</h2>
      <Shown of={breakers}>
        {(data) => data.breakers.length
          ? <Table label="Breakers" rows={data.breakers} keyOf={(b) => b.name} columns={columns(who.may("operate"), breakers.again)} />
          : <Empty title="No breakers" text={'A breaker stops jobs from running into a service that is down: app.breaker("whatsapp"), then needs="whatsapp" on its tasks.'} />}
      </Shown>
    </>
  );
}

function columns(mayAct: boolean, done: () => void): Column<Breaker>[] {
  return [
    { name: "Breaker", show: (b) => b.name },
    { name: "Is", show: (b) => <span class={`pill ${PILL[b.state]}`}>{b.state}</span> },
    { name: "Since", show: (b) => <Ago at={b.since} /> },
    { name: "Next probe", show: (b) => b.retry_in === null ? <span class="muted">–</span> : `in ${seconds(b.retry_in)}` },
    { name: "Failures", num: true, show: (b) => b.failure_rate === null ? `${b.failures} of ${b.threshold}` : `${b.failures} of ${b.runs} (opens at ${percent(b.failure_rate)})` },
    { name: "Probing", num: true, show: (b) => `${b.probing} of ${b.probes}` },
    { name: "", show: (b) => mayAct && (b.state === "closed"
        ? <button type="button" class="small" onClick={() => set(b, "open", done)}>Open</button>
        : <button type="button" class="small" onClick={() => set(b, "reset", done)}>Close</button>) },
  ];
}

function set(breaker: Breaker, verb: "open" | "reset", done: () => void): void {
  ask({
    title: verb === "open" ? `Stop all jobs that need ${breaker.name}?` : `Let jobs that need ${breaker.name} run again?`,
    body: <p>{verb === "open" ? `They wait and burn no attempt; it is probed again after ${seconds(breaker.reset)}.` : "Its failures are forgotten."}</p>,
    action: verb === "open" ? "Open the breaker" : "Close the breaker",
    command: `penstock breakers ${verb} ${quoted(breaker.name)}`,
    act: async (reason) => {
      await post(`/breakers/${encodeURIComponent(breaker.name)}/${verb}`, { reason: reason || null });
      tell(`${breaker.name} is ${verb === "open" ? "open" : "closed"}`);
      done();
    },
  });
}
