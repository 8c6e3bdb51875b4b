import { get } from "../lib/api";
import { useLoad } from "../lib/load";
import type { AlertEntry, Alerts as Standing } from "../lib/types";
import { Command } from "../parts/copy";
import { Empty, Shown } from "../parts/shown";
import { Table } from "../parts/table";
import { Ago } from "../parts/time";

const PILL: Record<string, string> = { critical: "bad", error: "bad", warning: "warn", info: "" };

export function Alerts() {
  const standing = useLoad(() => get<Standing>("/alerts"), [], 5_000);
  const history = useLoad(() => get<{ entries: AlertEntry[] }>("/alerts/history"), [], 15_000);
  return (
    <>
      <div class="head"><h1 class="grow">Alerts</h1><Command text="penstock alerts rules" /></div>
      <h2>Now</h2>
      <Shown of={standing}>
        {(data) => data.alerts.length
          ? <Table label="Alerts that are not over" rows={data.alerts} keyOf={(a) => `${a.rule} ${a.subject}`} columns={[
              { name: "Severity", show: (a) => <span class={`pill ${PILL[a.severity] ?? ""}`}>{a.severity}</span> },
              { name: "Is", show: (a) => a.phase },
              { name: "What", show: (a) => <span title={a.rule}>{a.message}</span> },
              { name: "Since", show: (a) => <Ago at={a.since} /> },
              { name: "Told", show: (a) => a.told.join(", ") || <span class="muted">nobody</span> },
            ]} />
          : <Empty title="Nothing fires" text="A worker looks every fifteen seconds. Rules and channels are in penstock.yaml." command="penstock alerts test" />}
      </Shown>
      <h2>Channels</h2>
      <Shown of={standing}>
        {(data) => data.channels.length
          ? <Table label="Channels" rows={data.channels} keyOf={(c) => c.name} columns={[
              { name: "Channel", show: (c) => c.name },
              { name: "Last reached", show: (c) => <Ago at={c.told_at} /> },
              { name: "Last failed", show: (c) => <Ago at={c.failed_at} /> },
              { name: "Problem", show: (c) => c.problem ?? <span class="muted">–</span> },
            ]} />
          : <Empty title="No channel has been used yet" command="penstock alerts channels" />}
      </Shown>
      <h2>What has happened</h2>
      <Shown of={history}>
        {(data) => data.entries.length
          ? <Table label="History of alerts" rows={data.entries} keyOf={(e) => `${e.at} ${e.rule} ${e.subject}`} columns={[
              { name: "When", show: (e) => <Ago at={e.at} /> },
              { name: "Event", show: (e) => e.event },
              { name: "Severity", show: (e) => <span class={`pill ${PILL[e.severity] ?? ""}`}>{e.severity}</span> },
              { name: "What", show: (e) => <span title={e.rule}>{e.message}</span> },
            ]} />
          : <Empty title="No alert has fired yet" />}
      </Shown>
    </>
  );
}
