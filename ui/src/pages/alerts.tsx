// What fires, what has, who was told, and the rules by which.
import { get } from "../lib/api";
import { wayTo } from "../lib/alerted";
import { useLoad } from "../lib/load";
import type { Rule } from "../lib/sights";
import type { AlertEntry, Alerts as Standing } from "../lib/types";
import { Command } from "../parts/copy";
import { Empty, Shown } from "../parts/shown";
import { Table } from "../parts/table";
import { Ago } from "../parts/time";
import { Told } from "../parts/told";

const KIND: Record<string, string> = { critical: "bad", error: "bad", warning: "warn" };
const PHASE: Record<string, string> = { firing: "▲", pending: "◷", resolved: "✓" };
const Severity = ({ of }: { of: string }) => <span class={`pill ${KIND[of] ?? ""}`}>{of}</span>;

function Way({ alert }: { alert: { rule: string; subject: string } }) {
  const way = wayTo(alert);
  return way ? <a class="button small" href={way.to}>{way.label}<span class="sr">: {alert.subject}</span></a> : <span class="muted">–</span>;
}

export function Alerts() {
  const standing = useLoad(() => get<Standing>("/alerts"), [], 5_000, false);
  const history = useLoad(() => get<{ entries: AlertEntry[] }>("/alerts/history"), [], 15_000, false);
  return (
    <>
      <div class="head"><h1 class="grow">Alerts</h1><Command text="penstock alerts test" /></div>
      <h2>Now</h2>
      <Shown of={standing}>
        {(data) => data.alerts.length
          ? <Table label="Alerts that are not over" rows={data.alerts} keyOf={(a) => `${a.rule} ${a.subject}`} columns={[
              { name: "Severity", show: (a) => <Severity of={a.severity} /> },
              { name: "Is", show: (a) => <span><span aria-hidden="true">{PHASE[a.phase] ?? "·"}</span> {a.phase}</span> },
              { name: "What, as of the last look", wrap: true, show: (a) => <Told text={a.message} /> },
              { name: "Rule", show: (a) => <code>{a.rule}</code> },
              { name: "Since", show: (a) => <Ago at={a.fired_at ?? a.since} /> },
              { name: "Last so", title: "Not so any more: if it stays so, the alert is over after a while", show: (a) => <Ago at={a.clear_at} /> },
              { name: "Leads to", show: (a) => <Way alert={a} /> },
              { name: "Told", show: (a) => a.told.join(", ") || <span class="muted">nobody</span> },
            ]} />
          : <Empty title="Nothing fires" text="A worker looks every fifteen seconds. What the rules would have told of in the last week:" command="penstock alerts test" />}
      </Shown>
      <h2>Channels</h2>
      <Shown of={standing}>
        {(data) => data.channels.length
          ? <Table label="Channels" rows={data.channels} keyOf={(c) => c.name} columns={[
              { name: "Channel", show: (c) => c.name },
              { name: "Last reached", show: (c) => <Ago at={c.told_at} /> },
              { name: "Last failed", show: (c) => <Ago at={c.failed_at} /> },
              { name: "Problem", wrap: true, show: (c) => c.problem ?? <span class="muted">–</span> },
            ]} />
          : <Empty title="No channel has been used yet" text="Channels are declared in penstock.yaml: Slack, PagerDuty, e-mail, webhooks." command="penstock alerts send CHANNEL" />}
      </Shown>
      <h2>What has happened</h2>
      <Shown of={history}>
        {(data) => data.entries.length
          ? <Table label="History of alerts" rows={data.entries} keyOf={(e) => `${e.at} ${e.event} ${e.rule} ${e.subject}`} columns={[
              { name: "When", show: (e) => <Ago at={e.at} /> },
              { name: "Event", show: (e) => e.event },
              { name: "Severity", show: (e) => <Severity of={e.severity} /> },
              { name: "What", wrap: true, show: (e) => <Told text={e.message} /> },
              { name: "Leads to", show: (e) => <Way alert={e} /> },
              { name: "Rule", show: (e) => <code>{e.rule}</code> },
            ]} />
          : <Empty title="No alert has fired in the last 30 days" />}
      </Shown>
      <h2>Rules</h2>
      <Rules />
    </>
  );
}

function Rules() {
  const rules = useLoad(() => get<{ rules: Rule[] }>("/alerts/rules"), [], 60_000, false);
  return (
    <Shown of={rules}>
      {(data) => data.rules.length
        ? <Table label="Rules" rows={data.rules} keyOf={(r) => r.rule} columns={[
            { name: "Rule", show: (r) => r.rule },
            { name: "Severity", show: (r) => <Severity of={r.severity.replace("_", " ")} /> },
            { name: "Fires when", wrap: true, show: (r) => <code>{r.condition}</code> },
            { name: "Tells", show: (r) => r.channels.join(", ") || <span class="muted">nobody</span> },
            { name: "From", show: (r) => <span class="muted">{r.built_in ? "built in" : "penstock.yaml"}</span> },
          ]} />
        : <Empty title="Alerts are switched off" text="PENSTOCK_ALERTS is off where the service runs." />}
    </Shown>
  );
}
