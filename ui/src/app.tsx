// The frame: rail, top bar, the page that the URL names, and what lies over all pages.
import { useEffect } from "preact/hooks";
import { connect } from "./lib/live";
import { useRoute } from "./lib/route";
import { SessionContext, useSession } from "./lib/session";
import { useKeys } from "./lib/keys";
import { Asker } from "./parts/ask";
import { Within } from "./parts/beyond";
import { Bottom, Rail } from "./parts/rail";
import { Toasts } from "./parts/toast";
import { Top } from "./parts/top";
import { Login } from "./pages/login";
import { pageAt } from "./pages";

export function App() {
  const session = useSession();
  const route = useRoute();
  useKeys();
  useEffect(() => {
    if (session.who) connect();
  }, [session.who?.name]);

  if (session.asked && !session.who) return <Login enter={session.enter} used={session.used} />;
  if (!session.who) return null;
  const page = pageAt(route);
  return (
    <SessionContext.Provider value={session}>
      <a class="skip" href="#main">To the page</a>
      <div class="frame">
        <Rail path={route.path} />
        <div>
          <Top />
          <main class="main" id="main" tabIndex={-1}><Within path={route.path}>{page}</Within></main>
        </div>
      </div>
      <Bottom path={route.path} />
      <Asker />
      <Toasts />
    </SessionContext.Provider>
  );
}
