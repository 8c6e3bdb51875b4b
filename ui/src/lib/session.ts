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
  enter: (token: string) => Promise<void>;
  leave: () => Promise<void>;
}

export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const [state, set] = useState<{ asked: boolean; who?: Who }>({ asked: false });
  const become = (who: Who) => {
    provedBy(who.proof);
    set({ asked: true, who });
  };
  useEffect(() => void get<Who>("/session").then(become, () => set({ asked: true })), []);
  return {
    asked: state.asked,
    who: state.who,
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
