// Who looks at the page, and what they may do.
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { get, post, provedBy, remove } from "./api";

export interface Who {
  name: string;
  owner: string | null;
  scopes: string[];
  engine: string;
  proof: string | null;
}

export interface Session {
  asked: boolean;
  who: Who | undefined;
  used: boolean; // the link that led here had been used before
  enter: (token: string) => Promise<void>;
  leave: () => Promise<void>;
}

export const SessionContext = createContext<Session | undefined>(undefined);

const INVITED = "#enter=";

/** What the link from a terminal holds; it is left in no history, and was never sent to a server. */
function invitation(): string {
  if (!location.hash.startsWith(INVITED)) return "";
  const code = location.hash.slice(INVITED.length);
  history.replaceState(null, "", location.pathname + location.search);
  return code;
}

export function useSession(): Session {
  const [state, set] = useState<{ asked: boolean; who?: Who; used?: boolean }>({ asked: false });
  const become = (who: Who) => {
    provedBy(who.proof);
    set({ asked: true, who });
  };
  useEffect(() => {
    const code = invitation();
    const asked = () => get<Who>("/session");
    const whoIsHere = code ? post<Who>("/session", { token: code }).catch(asked) : asked();
    void whoIsHere.then(become, () => set({ asked: true, used: Boolean(code) }));
  }, []);
  return {
    asked: state.asked,
    who: state.who,
    used: state.used ?? false,
    enter: async (token) => become(await post<Who>("/session", { token })),
    leave: async () => {
      await remove("/session");
      set({ asked: true });
    },
  };
}

export function useWho(): Who & { may: (scope: string) => boolean; leave: () => Promise<void> } {
  const session = useContext(SessionContext);
  const who = session?.who;
  if (!session || !who) throw new Error("nobody is here");
  return { ...who, leave: session.leave, may: (scope) => who.scopes.includes("admin") || who.scopes.includes(scope) };
}
