import { useState } from "preact/hooks";
import { Command } from "../parts/copy";
import { Mark } from "../parts/rail";

export function Login({ enter, why }: { enter: (token: string) => Promise<void>; why: string }) {
  const [wrong, set] = useState("");
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    set("");
    try {
      await enter(String(new FormData(event.target as HTMLFormElement).get("token") ?? "").trim());
    } catch (error) {
      set(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <main class="login">
      <form class="card stack" onSubmit={submit}>
        <h1 class="brand"><Mark />Penstock</h1>
        {why && <p class="banner" role="status">{why}</p>}
        <label class="field">
          Token
          <input name="token" type="password" required autoComplete="current-password" autoFocus aria-invalid={Boolean(wrong)} aria-describedby="wrong" />
        </label>
        {wrong && <p id="wrong" class="banner bad" role="alert">{wrong}</p>}
        <button type="submit" class="primary">Sign in</button>
        <p class="muted">You have none? Where Penstock runs, type</p>
        <Command text="penstock token create me --scope admin" />
      </form>
    </main>
  );
}
