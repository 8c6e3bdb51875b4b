// Which page the URL names.
import type { ComponentChildren } from "preact";
import { href, type Route } from "../lib/route";
import { short } from "../lib/words";
import { Alerts } from "./alerts";
import { Audit } from "./audit";
import { DeadLetters } from "./dead";
import { Health } from "./health";
import { Help } from "./help";
import { JobDetail } from "./job";
import { Jobs } from "./jobs";
import { Limits } from "./limits";
import { Overview } from "./overview";
import { QueueDetail, Queues } from "./queues";
import { ScheduleDetail, Schedules } from "./schedules";
import { TaskDetail, Tasks } from "./tasks";
import { Workers } from "./workers";

type Page = (rest: string) => ComponentChildren;

const PAGES: [RegExp, string, Page][] = [
  [/^\/$/, "Overview", () => <Overview />],
  [/^\/jobs$/, "Jobs", () => <Jobs />],
  [/^\/jobs\/(.+)$/, "Job", (id) => <JobDetail id={id} key={id} />],
  [/^\/dead-letters$/, "Dead letters", () => <DeadLetters />],
  [/^\/queues$/, "Queues", () => <Queues />],
  [/^\/queues\/(.+)$/, "Queue", (name) => <QueueDetail name={name} key={name} />],
  [/^\/schedules$/, "Schedules", () => <Schedules />],
  [/^\/schedules\/(.+)$/, "Schedule", (id) => <ScheduleDetail id={id} key={id} />],
  [/^\/workers$/, "Workers", () => <Workers />],
  [/^\/limits$/, "Limits & breakers", () => <Limits />],
  [/^\/tasks$/, "Tasks", () => <Tasks />],
  [/^\/tasks\/(.+)$/, "Task", (name) => <TaskDetail name={name} key={name} />],
  [/^\/alerts$/, "Alerts", () => <Alerts />],
  [/^\/health$/, "Health", () => <Health />],
  [/^\/audit$/, "Audit", () => <Audit />],
  [/^\/help$/, "Keys and search", () => <Help />],
];

export interface Found { title: string; body: ComponentChildren }

export function pageAt({ path, query }: Route): Found {
  for (const [shape, name, page] of PAGES) {
    const found = shape.exec(path);
    const rest = found && decoded(found[1] ?? "");
    if (rest === null) continue;
    const about = rest ? (name === "Job" ? short(rest) : rest) : path === "/jobs" ? query.get("q") : "";
    return { title: about ? `${name}: ${about}` : name, body: page(rest) };
  }
  return { title: "No such page", body: <Missing /> };
}

/** Null where it is not what any page has written. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function Missing() {
  return (
    <>
      <div class="head"><h1>There is no such page</h1></div>
      <p>The address may have been cut off or mistyped. <a href={href("/")}>To the overview</a></p>
    </>
  );
}
