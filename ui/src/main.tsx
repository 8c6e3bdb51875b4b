import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./styles.css";
import "./ops.css";
import { App } from "./app";
import { followLinks } from "./lib/route";
import { theme, wear } from "./lib/theme";

wear(theme());
document.addEventListener("click", followLinks);
render(<App />, document.getElementById("app") as HTMLElement);
