import { get } from "../lib/api";
import { useLoad } from "../lib/load";
import { useRoute } from "../lib/route";
import type { Deed } from "../lib/types";
import { Empty, Shown } from "../parts/shown";
import { Table, type Column } from "../parts/table";
import { Ago } from "../parts/time";
import { Pager } from "./jobs";

export function Audit() {
  const after = useRoute().query.get("after") ?? undefined;
  const page = useLoad(() => get<{ entries: Deed[]; next: string | null }>("/audit", { after, limit: 50 }), [after]);
  return (
    <>
      <div class="head"><h1>Audit</h1></div>
      <Shown of={page}>
        {(data) => data.entries.length
          ? <Table label="What people did" rows={data.entries} keyOf={(d) => d.id} columns={COLUMNS} foot={<Pager next={data.next} />} />
          : <Empty title="Nobody has done anything yet" text="Every retry, cancel, pause, recovery and purge is kept here: who, what and why." />}
      </Shown>
    </>
  );
}

const COLUMNS: Column<Deed>[] = [
  { name: "When", show: (d) => <Ago at={d.at} /> },
  { name: "Who", show: (d) => <span title={d.via}>{d.who}</span> },
  { name: "Did", show: (d) => d.action },
  { name: "To", show: (d) => <code>{d.target}</code> },
  { name: "Why", show: (d) => d.why ?? <span class="muted">–</span> },
  { name: "Outcome", show: (d) => <span class="muted">{d.outcome}</span> },
];
