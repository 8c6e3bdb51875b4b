export type Theme = "auto" | "light" | "dark";

export function theme(): Theme {
  const kept = localStorage.getItem("penstock-theme");
  return kept === "light" || kept === "dark" ? kept : "auto";
}

export function wear(chosen: Theme): void {
  if (chosen === "auto") {
    localStorage.removeItem("penstock-theme");
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem("penstock-theme", chosen);
    document.documentElement.dataset.theme = chosen;
  }
  dispatchEvent(new Event("penstock-theme"));
}
