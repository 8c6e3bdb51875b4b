import type { ComponentChildren } from "preact";
import { useEdges } from "./edges";

export interface Column<Row> {
  name: string;
  num?: boolean;
  wrap?: boolean; // long words go over several lines
  narrow?: boolean; // a name, which is broken rather than taking room from numbers
  title?: string;
  show: (row: Row) => ComponentChildren;
}

interface Given<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  keyOf: (row: Row) => string;
  cursor?: number;
  foot?: ComponentChildren;
}

export function Table<Row>({ label, columns, rows, keyOf, cursor, foot }: Given<Row>) {
  const box = useEdges();
  return (
    <div class={`table${columns.some((c) => c.wrap) ? " told" : ""}`} ref={box} tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>{columns.map((c) => <th key={c.name} class={c.num ? "num" : c.name ? undefined : "actions"} title={c.title} scope="col">{c.name || <span class="sr">Actions</span>}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row, n) => (
            <tr key={keyOf(row)} class={n === cursor ? "cursor" : undefined} aria-current={n === cursor || undefined}>
              {columns.map((c) => <td key={c.name} data-name={c.name} class={c.num ? "num" : c.narrow ? "narrow" : c.wrap ? "wrap" : c.name ? undefined : "actions"}>{c.show(row)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
      {foot}
    </div>
  );
}
