// What a job has done for good: the steps it kept, and the effects it made once.
import type { JobStory } from "../lib/jobtypes";
import { Json } from "../parts/data";
import { Empty } from "../parts/shown";
import { Table } from "../parts/table";
import { Ago } from "../parts/time";
import { JobLink } from "./job";

export function Done({ story }: { story: JobStory | undefined }) {
  const steps = Object.entries(story?.steps ?? {});
  const effects = story?.effects ?? [];
  if (!steps.length && !effects.length) {
    return <Empty title="No steps and no effects" text="ctx.step() keeps what a run has done, so that a retry does not do it again; ctx.once() records that an effect was made." />;
  }
  return (
    <div class="stack">
      {steps.length > 0 && (
        <section class="stack tight" aria-label="Steps">
          <h2>Steps, in the order in which they were kept</h2>
          <ol class="steps">
            {steps.map(([name, value]) => (
              <li key={name}>
                <details><summary><span class="state completed"><span class="glyph" aria-hidden="true">✓</span></span> {name}</summary>
                  {value === null ? <p class="muted">Its result is nothing, or not shown to you.</p> : <Json of={value} />}
                </details>
              </li>
            ))}
          </ol>
        </section>
      )}
      {effects.length > 0 && (
        <section class="stack tight" aria-label="Effects">
          <h2>Effects, made once for its key</h2>
          <Table label="Effects" rows={effects} keyOf={(effect) => effect.name} columns={[
            { name: "Effect", show: (effect) => effect.name },
            { name: "Made", show: (effect) => <Ago at={effect.first_at} /> },
            { name: "By job", show: (effect) => <JobLink id={effect.job_id} /> },
            { name: "Remembered until", show: (effect) => <Ago at={effect.expires_at} /> },
          ]} />
        </section>
      )}
    </div>
  );
}
