// Who is here, as what, on which engine; and the way out.
import { useWho } from "../lib/session";
import { named, roleOf } from "../lib/who";
import { complain } from "./toast";

export function Me() {
  const who = useWho();
  return (
    <span class="line me">
      <span class="pill" title="The engine that holds the jobs">{who.engine}</span>
      <span class="who" title={`${who.name}: ${who.scopes.join(", ")}`}><strong class="text">{named(who.name)}</strong> <span class="muted text">{roleOf(who)}</span></span>
      {who.proof && <button type="button" class="plain small" onClick={() => who.leave().catch(complain)}>Sign out</button>}
    </span>
  );
}
