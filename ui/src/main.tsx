import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./styles.css";
import "./ops.css";
import { App } from "./app";
import { begin } from "./lib/route";
import { Boundary } from "./parts/boundary";
import { theme, wear } from "./lib/theme";

wear(theme());
begin();
render(<Boundary><App /></Boundary>, document.getElementById("app") as HTMLElement);
