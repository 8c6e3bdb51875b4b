// Which page the URL names.
import type { ComponentChildren } from "preact";
import type { Route } from "../lib/route";
import { Empty } from "../parts/shown";
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

const PAGES: [RegExp, Page][] = [
  [/^\/$/, () => <Overview />],
  [/^\/jobs$/, () => <Jobs />],
  [/^\/jobs\/(.+)$/, (id) => <JobDetail id={id} key={id} />],
  [/^\/dead-letters$/, () => <DeadLetters />],
  [/^\/queues$/, () => <Queues />],
  [/^\/queues\/(.+)$/, (name) => <QueueDetail name={name} key={name} />],
  [/^\/schedules$/, () => <Schedules />],
  [/^\/schedules\/(.+)$/, (id) => <ScheduleDetail id={id} key={id} />],
  [/^\/workers$/, () => <Workers />],
  [/^\/limits$/, () => <Limits />],
  [/^\/tasks$/, () => <Tasks />],
  [/^\/tasks\/(.+)$/, (name) => <TaskDetail name={name} key={name} />],
  [/^\/alerts$/, () => <Alerts />],
  [/^\/health$/, () => <Health />],
  [/^\/audit$/, () => <Audit />],
  [/^\/help$/, () => <Help />],
];

export function pageAt({ path }: Route): ComponentChildren {
  for (const [shape, page] of PAGES) {
    const found = shape.exec(path);
    if (found) return page(decodeURIComponent(found[1] ?? ""));
  }
  return <Empty title="There is no such page" text="The rail has all of them." />;
}
