// The frame: rail, top bar, the page that the URL names, and what lies over all pages.
import { useEffect } from "preact/hooks";
import { useArrival } from "./lib/arrival";
import { connect, disconnect } from "./lib/live";
import { stopAll } from "./lib/recovery";
import { useRoute } from "./lib/route";
import { SessionContext, useSession } from "./lib/session";
import { useKeys } from "./lib/keys";
import { Asker } from "./parts/ask";
import { Within } from "./parts/beyond";
import { Boundary } from "./parts/boundary";
import { useColours } from "./parts/queue";
import { Bottom, Rail } from "./parts/rail";
import { Toasts } from "./parts/toast";
import { Top } from "./parts/top";
import { Login } from "./pages/login";
import { pageAt } from "./pages";

export function App() {
  const session = useSession();
  const route = useRoute();
  const page = pageAt(route);
  const isHere = session.who !== undefined;
  useKeys();
  useColours(session.who);
  useArrival(route, isHere);
  useEffect(() => void (document.title = `${isHere ? page.title : "Sign in"} · Penstock`), [page.title, isHere]);
  useEffect(() => {
    if (isHere) connect(session.look);
    else (disconnect(), stopAll());
  }, [isHere]);

  if (session.asked && !session.who) return <Login enter={session.enter} why={session.why} />;
  if (!session.who) return null;
  return (
    <SessionContext.Provider value={session}>
      <a class="skip" href="#main">To the page</a>
      <div class="frame">
        <Rail path={route.path} />
        <div>
          <Top />
          <main class="main" id="main" tabIndex={-1}><Boundary key={route.path}><Within path={route.path}>{page.body}</Within></Boundary></main>
        </div>
      </div>
      <Bottom path={route.path} />
      <Asker />
      <Toasts />
    </SessionContext.Provider>
  );
}
