// j and k walk through the rows of a table, o opens one.
import { useState } from "preact/hooks";
import { useListKeys } from "./keys";

export function useCursor(rows: number, open: (row: number) => void): number {
  const [at, set] = useState(-1);
  const here = Math.min(at, rows - 1);
  useListKeys((key) => {
    if (key === "j") set(Math.min(here + 1, rows - 1));
    if (key === "k") set(Math.max(here - 1, 0));
    if (key === "o" && here >= 0) open(here);
  });
  return here;
}
