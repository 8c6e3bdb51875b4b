// How numbers and times are written.
const WHOLE = new Intl.NumberFormat();
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export const count = (n: number): string => WHOLE.format(n);

export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value < 0.001) return "< 1 ms";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value < 10 ? +value.toFixed(1) : Math.round(value)} s`;
  if (value < 3600) return both(value, 60, "min", "s");
  if (value < 86400) return both(value, 3600, "h", "min");
  return both(value, 86400, "d", "h");
}

/** In two units, the second where it is not nothing. */
function both(value: number, unit: number, whole: string, rest: string): string {
  const small = { min: 60, h: 60, d: 24 }[whole] as number;
  const parts = Math.round(value / (unit / small));
  return `${Math.floor(parts / small)} ${whole}${parts % small ? ` ${parts % small} ${rest}` : ""}`;
}

/** For an axis: one number and one unit. */
export function briefly(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${+(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${+(ms / 60_000).toFixed(1)} min`;
  return `${+(ms / 3_600_000).toFixed(1)} h`;
}

export function percent(share: number | null | undefined): string {
  return share === null || share === undefined ? "–" : `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

export function bytes(size: number | null): string {
  if (size === null) return "–";
  const mib = size / 2 ** 20;
  return mib < 1024 ? `${Math.round(mib)} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}

/** "3 min", where the head of a column says of what. */
export function age(at: string | Date, now: number): string {
  const size = Math.abs(new Date(at).getTime() - now) / 1000;
  return size < 1 ? "now"
    : size < 60 ? `${Math.round(size)} s`
    : size < 3600 ? `${Math.round(size / 60)} min`
    : size < 86400 ? `${Math.round(size / 3600)} h`
    : `${Math.round(size / 86400)} d`;
}

/** "3 min ago", "in 12 s". */
export function ago(at: string | Date, now: number): string {
  const text = age(at, now);
  if (text === "now") return text;
  return new Date(at).getTime() > now ? `in ${text}` : `${text} ago`;
}

export function exactly(at: string | Date): string {
  const when = new Date(at);
  return `${EXACT.format(when)} · ${when.toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC")}`;
}

export const short = (id: string): string => (id.length > 13 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id);

/** A value as it may stand in a shell command. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** How far a run is, in whole percent. */
export function progressed(of: { percent?: number; message?: string | null }): string {
  const far = `${Math.round(of.percent ?? 0)} %`;
  return of.message ? `${far}, ${of.message}` : far;
}
