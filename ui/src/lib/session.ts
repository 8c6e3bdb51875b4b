// Who looks at the page, and what they may do.
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, get, post, provedBy, remove, whenStranger } from "./api";
import { API } from "./base";

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
  why: string; // nobody is here, where that needs a word
  enter: (token: string) => Promise<void>;
  leave: () => Promise<void>;
  look: () => void; // whether it is still the same person
}

export const SessionContext = createContext<Session | undefined>(undefined);

const INVITED = "#enter=";
const USED = "This link has been used already. Each start of penstock dev prints a new one.";
const TRY_AGAIN = 3_000; // ms
const ENDED = "Your session has ended: its token was revoked or has expired, or you signed out in another tab. Sign in, and you are back at this page.";

/** What the link from a terminal holds; it is left in no history, and was never sent to a server. */
function invitation(): string {
  if (!location.hash.startsWith(INVITED)) return "";
  const code = location.hash.slice(INVITED.length);
  history.replaceState(history.state, "", location.pathname + location.search);
  return code;
}

/** Calls `look` when another tab has signed in or out, and tells the others when this one has. */
function useOtherTabs(look: () => void): () => void {
  const others = useRef<BroadcastChannel>();
  useEffect(() => {
    if (!("BroadcastChannel" in window)) return;
    const channel = (others.current = new BroadcastChannel(`penstock-session ${API}`));
    channel.onmessage = look;
    return () => channel.close();
  }, []);
  return () => others.current?.postMessage("changed");
}

export function useSession(): Session {
  const [state, set] = useState<{ asked: boolean; who?: Who; why?: string }>({ asked: false });
  const isHere = useRef(false);
  const become = (who: Who) => {
    provedBy(who.proof);
    isHere.current = true;
    set({ asked: true, who });
  };
  const end = (why: string) => {
    isHere.current = false;
    set({ asked: true, why });
    tellOthers();
  };
  const look = () => void get<Who>("/session").then(become, () => undefined); // who is unknown by now is told of it below
  const tellOthers = useOtherTabs(look);
  useEffect(() => whenStranger(() => isHere.current && end(ENDED)), []);
  useEffect(() => begin(invitation()), []);

  const begin = (code: string) => {
    const asked = () => get<Who>("/session");
    const whoIsHere = code ? post<Who>("/session", { token: code }).catch(asked) : asked();
    void whoIsHere.then(become, (error: ApiError) => {
      const isAway = error.status === 0 || error.status >= 500;
      set({ asked: true, why: isAway ? error.message : code ? USED : "" });
      if (isAway) setTimeout(() => isHere.current || begin(code), TRY_AGAIN);
    });
  };
  return {
    asked: state.asked,
    who: state.who,
    why: state.why ?? "",
    enter: async (token) => (become(await post<Who>("/session", { token })), tellOthers()),
    leave: async () => (await remove("/session"), end("")),
    look,
  };
}

export function useWho(): Who & { may: (scope: string) => boolean; leave: () => Promise<void> } {
  const session = useContext(SessionContext);
  const who = session?.who;
  if (!session || !who) throw new Error("nobody is here");
  return { ...who, leave: session.leave, may: (scope) => who.scopes.includes("admin") || who.scopes.includes(scope) };
}
