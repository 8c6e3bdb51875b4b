// Times on the wall of a chosen zone.
export const MINE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const HALF_HOUR = 1_800_000;

export interface Mark { at: number; text: string; strong: boolean }

/** Where an axis has its marks: every so many hours of the wall, and each midnight. */
export function marks(since: number, until: number, zone: string, hours: number): Mark[] {
  const wall = new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const day = new Intl.DateTimeFormat(undefined, { timeZone: zone, weekday: "short", day: "numeric" });
  const found: Mark[] = [];
  for (let at = Math.ceil(since / HALF_HOUR) * HALF_HOUR; at < until; at += HALF_HOUR) {
    const text = wall.format(at);
    const hour = Number(text.slice(0, 2));
    if (!text.endsWith(":00") || hour % hours !== 0) continue;
    found.push(hour === 0 ? { at, text: day.format(at), strong: true } : { at, text, strong: false });
  }
  return found;
}

/** The exact time on that wall, and in UTC. */
export function onWall(at: number | string, zone: string): string {
  const when = new Date(at);
  const wall = when.toLocaleString(undefined, { timeZone: zone, weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" });
  return `${wall} · ${when.toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC")}`;
}
