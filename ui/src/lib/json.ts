// JSON that keeps every number as it was written: 1234567890123456789 and 1.10 are not numbers that JavaScript has.

/** A number that JavaScript would write otherwise than it was given. */
export class Exact {
  constructor(readonly text: string) {}
}

const OF_USERS = new Set(["payload", "result", "steps"]); // below these is what users gave; our own numbers are small
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\r\n]*/y;
const WORDS = new Map<string, unknown>([["true", true], ["false", false], ["null", null]]);

/** An answer of the service: exact in what is users' own. */
export const read = (text: string): unknown => new Reader(text, false).whole();

/** A value that a person has written: exact everywhere. SyntaxError where it is not JSON. */
export const readExact = (text: string): unknown => new Reader(text, true).whole();

class Reader {
  private at = 0;

  constructor(private readonly text: string, private exact: boolean) {}

  whole(): unknown {
    const value = this.value();
    this.skip();
    if (this.at < this.text.length) throw this.wrong();
    return value;
  }

  private value(): unknown {
    this.skip();
    const first = this.text[this.at];
    if (first === '"') return this.string();
    if (first === "{") return this.object();
    if (first === "[") return this.list();
    for (const [word, value] of WORDS) if (this.text.startsWith(word, this.at)) return (this.at += word.length), value;
    return this.number();
  }

  private number(): unknown {
    const text = this.match(NUMBER);
    if (!text) throw this.wrong();
    const value = Number(text);
    return this.exact && String(value) !== text ? new Exact(text) : value;
  }

  private string(): string {
    const from = this.at;
    do {
      this.at = this.text.indexOf('"', this.at + 1);
      if (this.at < 0) throw this.wrong();
    } while (this.escaped(from));
    this.at += 1;
    return JSON.parse(this.text.slice(from, this.at)) as string;
  }

  private escaped(from: number): boolean {
    let before = this.at - 1;
    while (before > from && this.text[before] === "\\") before -= 1;
    return (this.at - before) % 2 === 0;
  }

  private list(): unknown[] {
    const found: unknown[] = [];
    this.members("]", () => found.push(this.value()));
    return found;
  }

  private object(): Record<string, unknown> {
    const found: Record<string, unknown> = {};
    this.members("}", () => {
      this.skip();
      if (this.text[this.at] !== '"') throw this.wrong();
      const name = this.string();
      this.take(":");
      const before = this.exact;
      this.exact ||= OF_USERS.has(name);
      const value = this.value();
      this.exact = before;
      if (name === "__proto__") Object.defineProperty(found, name, { value, enumerable: true, configurable: true, writable: true });
      else found[name] = value;
    });
    return found;
  }

  private members(end: string, one: () => void): void {
    this.at += 1;
    this.skip();
    if (this.text[this.at] === end) return void (this.at += 1);
    for (;;) {
      one();
      this.skip();
      if (this.text[this.at] === end) return void (this.at += 1);
      this.take(",");
    }
  }

  private take(sign: string): void {
    this.skip();
    if (this.text[this.at] !== sign) throw this.wrong();
    this.at += 1;
  }

  private skip(): void {
    this.match(SPACE);
  }

  private match(what: RegExp): string {
    what.lastIndex = this.at;
    const found = what.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  private wrong(): SyntaxError {
    return new SyntaxError(`not JSON at ${this.at}`);
  }
}

/** As JSON.stringify, and every number as it was read. */
export function write(value: unknown, indent = 0): string {
  return written(value, " ".repeat(indent), "\n") ?? "null";
}

function written(value: unknown, step: string, line: string): string | undefined {
  if (value instanceof Exact) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = line + step;
  if (Array.isArray(value)) return closed("[", value.map((each) => written(each, step, inner) ?? "null"), "]", step, line);
  const pairs = Object.entries(value).flatMap(([name, each]) => {
    const text = written(each, step, inner);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${step && " "}${text}`];
  });
  return closed("{", pairs, "}", step, line);
}

function closed(open: string, parts: string[], close: string, step: string, line: string): string {
  if (!parts.length || !step) return open + parts.join(",") + close;
  return `${open}${line}${step}${parts.join(`,${line}${step}`)}${line}${close}`;
}

/** A value as a person reads it: text as it is, all else as JSON. */
export const asText = (value: unknown, indent = 0): string => (typeof value === "string" ? value : write(value, indent));
