// To older rows, and back to the newest.
import { turn, useRoute } from "../lib/route";

export function Pager({ next }: { next: string | null }) {
  const { query } = useRoute();
  return (
    <div class="pager">
      {query.get("after") && <button type="button" class="small" onClick={() => turn({ after: undefined })}>To the newest</button>}
      <span class="grow" />
      {next && <button type="button" class="small" onClick={() => turn({ after: next })}>Older</button>}
    </div>
  );
}
