// A table of any length: only the rows in view are in the page, the others are room.
import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Range } from "../lib/keyset";
import { useEdges } from "./edges";

export interface Col<Row> {
  name: string;
  hidden?: string; // what a screen reader is told where the name is no word
  head?: ComponentChildren;
  kind?: string; // a class of its cells
  width?: number; // px
  part?: number; // of a hundred, of the table; of what is left those with neither have equal parts
  rare?: boolean; // only where there is much room
  show: (row: Row) => ComponentChildren;
}

interface Given<Row> {
  label: string;
  columns: Col<Row>[];
  rows: Row[];
  keyOf: (row: Row) => string;
  cursor?: string; // the key of the row that keys act on
  looking?: (at: Range) => void;
  hold?: (held: boolean) => void; // somebody points at a row
  foot?: ComponentChildren;
}

const SPARE = 12; // rows kept above and below what is seen
const FIRST_GUESS = 37; // px
const LEAST = 140; // px, of a column without a width
const ROOMY = matchMedia("(min-width: 1500px)");
const BARS = 64; // px that bars cover at the top and at the bottom

/** Whether there is room for what is rarely looked at. */
function useRoom(): boolean {
  const [room, set] = useState(ROOMY.matches);
  useEffect(() => {
    const look = () => set(ROOMY.matches);
    ROOMY.addEventListener("change", look);
    return () => ROOMY.removeEventListener("change", look);
  }, []);
  return room;
}

export function Windowed<Row>({ label, columns: all, rows, keyOf, cursor, looking, hold, foot }: Given<Row>) {
  const room = useRoom();
  const box = useEdges();
  const columns = useMemo(() => all.filter((c) => room || !c.rare), [all, room]);
  const body = useRef<HTMLTableSectionElement>(null);
  const height = useRef(FIRST_GUESS);
  const [range, set] = useState<Range>({ first: 0, last: 50 });

  useLayoutEffect(() => {
    const look = () => {
      const place = body.current;
      if (!place) return;
      const row = place.querySelector<HTMLElement>("tr.row");
      if (row?.offsetHeight) height.current = row.getBoundingClientRect().height;
      const seen = Math.floor(-place.getBoundingClientRect().top / height.current);
      const first = Math.max(0, Math.floor((seen - SPARE) / 4) * 4);
      const last = Math.max(0, Math.min(rows.length - 1, seen + Math.ceil(innerHeight / height.current) + SPARE));
      set((before) => (before.first === first && before.last === last ? before : { first, last }));
      looking?.({ first, last });
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => (removeEventListener("scroll", look), removeEventListener("resize", look));
  }, [rows.length, looking]);

  const shownCursor = useRef(cursor); // who comes back is where they were, not where the cursor is
  useEffect(() => {
    if (shownCursor.current === cursor) return;
    shownCursor.current = cursor;
    const place = body.current;
    const at = cursor === undefined ? -1 : rows.findIndex((row) => keyOf(row) === cursor);
    if (!place || at < 0) return;
    const top = place.getBoundingClientRect().top + at * height.current;
    if (top < BARS) scrollBy(0, top - BARS);
    else if (top + height.current > innerHeight - BARS) scrollBy(0, top + height.current - innerHeight + BARS);
  }, [cursor]);

  const first = Math.min(range.first, Math.max(0, rows.length - 1));
  const shown = rows.slice(first, range.last + 1);
  const below = rows.length - first - shown.length;
  return (
    <div class="table" ref={box} tabIndex={0} role="region" aria-label={label}>
      <table class="windowed" aria-rowcount={rows.length + 1} style={{ minWidth: `${columns.reduce((sum, c) => sum + (c.width ?? LEAST), 0)}px` }}>
        <colgroup>{columns.map((c) => <col key={c.name} class={c.kind} style={widthOf(c)} />)}</colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((c) => <th key={c.name} class={c.kind} scope="col">{c.head ?? (c.hidden ? <span class="sr">{c.hidden}</span> : c.name)}</th>)}
          </tr>
        </thead>
        <tbody ref={body} onPointerEnter={() => hold?.(true)} onPointerLeave={() => hold?.(false)}>
          {first > 0 && <tr class="room" aria-hidden="true" style={{ height: `${first * height.current}px` }}><td colSpan={columns.length} /></tr>}
          {shown.map((row, n) => (
            <RowOf key={keyOf(row)} row={row} columns={columns} index={first + n + 2} here={keyOf(row) === cursor} />
          ))}
          {below > 0 && <tr class="room" aria-hidden="true" style={{ height: `${below * height.current}px` }}><td colSpan={columns.length} /></tr>}
        </tbody>
      </table>
      {foot}
    </div>
  );
}

function widthOf({ width, part }: Pick<Col<never>, "width" | "part">): { width: string } | undefined {
  if (width) return { width: `${width}px` };
  return part ? { width: `${part}%` } : undefined;
}

interface RowGiven<Row> { row: Row; columns: Col<Row>[]; index: number; here: boolean }

/** Drawn again only where something of it has changed: most have not when somebody scrolls. */
class RowOf<Row> extends Component<RowGiven<Row>> {
  override shouldComponentUpdate(next: RowGiven<Row>): boolean {
    const now = this.props;
    return next.row !== now.row || next.columns !== now.columns || next.index !== now.index || next.here !== now.here;
  }

  override render({ row, columns, index, here }: RowGiven<Row>) {
    return (
      <tr class={`row${here ? " cursor" : ""}`} aria-rowindex={index} aria-current={here || undefined}>
        {columns.map((c) => <td key={c.name} class={c.kind}>{c.show(row)}</td>)}
      </tr>
    );
  }
}
