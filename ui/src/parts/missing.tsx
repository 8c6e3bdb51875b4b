// Something that is not there: what was looked for, what may have happened, where to look next.
import type { ComponentChildren } from "preact";
import { Command } from "./copy";

interface Given { what: string; id: string; maybe: string[]; command: string; children: ComponentChildren }

export function Missing({ what, id, maybe, command, children }: Given) {
  return (
    <>
      <div class="head"><h1>There is no such {what}</h1></div>
      <section class="card stack">
        <p><code class="words">{id}</code></p>
        <div class="stack tight">
          <h2>What may have happened</h2>
          <ul class="may">{maybe.map((each) => <li key={each}>{each}</li>)}</ul>
        </div>
        <div class="stack tight">
          <h2>Where to look next</h2>
          <div class="line wrap">{children}<Command text={command} /></div>
        </div>
      </section>
    </>
  );
}
