// A page that breaks says so, and leaves the others as they are.
import { Component, type ComponentChildren } from "preact";
import { href } from "../lib/route";
import { Copy } from "./copy";

interface State { error?: Error }

export class Boundary extends Component<{ children: ComponentChildren }, State> {
  static override getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    const { error } = this.state as State;
    return error ? <Broken error={error} again={() => this.setState({ error: undefined })} /> : this.props.children;
  }
}

function Broken({ error, again }: { error: Error; again: () => void }) {
  const told = `${error.name}: ${error.message}\n${location.pathname}${location.search}\n${error.stack ?? ""}`;
  return (
    <>
      <div class="head"><h1>This page has broken</h1></div>
      <div class="banner bad" role="alert"><span class="grow words">{error.message}</span></div>
      <p>It is a mistake of the dashboard, not of your jobs: nothing was changed. The other pages still work.</p>
      <div class="line wrap">
        <button type="button" class="primary" onClick={again}>Try again</button>
        <a class="button" href={href("/")}>To the overview</a>
        <Copy text={told} label="Copy what happened" />
      </div>
    </>
  );
}
