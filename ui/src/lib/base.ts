// Where the dashboard and the API are, as the server has written it into the page.
function written(name: string): string {
  const found = document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`);
  return (found?.content ?? "").replace(/\/$/, "");
}

export const PAGES = written("penstock-pages");
export const API = written("penstock-api");
