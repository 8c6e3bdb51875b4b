// A page about the work of all owners, for somebody who sees that of one: said once, with where to go.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { go, href } from "../lib/route";
import { useWho } from "../lib/session";
import { isAt, isBeyond, PLACES } from "../lib/who";

export function Within({ path, children }: { path: string; children: ComponentChildren }) {
  const who = useWho();
  const beyond = isBeyond(path, who);
  const atHome = path === "/" && beyond;
  useEffect(() => void (atHome && go(href("/jobs"), true)), [atHome]);
  if (!beyond) return <>{children}</>;
  if (atHome) return null;
  return (
    <>
      <div class="head"><h1>{PLACES.find((place) => isAt(path, place.at))?.name}</h1></div>
      <div class="empty">
        <strong>This page shows the work of all owners</strong>
        <span>You are signed in for the jobs of <b class="text">{who.owner}</b>. Somebody who sees all of them has a token with the owner *.</span>
        <span class="line"><a class="button" href={href("/jobs")}>Your jobs</a><a class="button" href={href("/dead-letters")}>Your dead letters</a></span>
      </div>
    </>
  );
}
