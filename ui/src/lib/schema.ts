// From the JSON schema of a task's arguments to the fields of a form, and back to a payload.
import { Exact, readExact, write } from "./json";
import { exampleOf, partsOf, resolved, type Part } from "./shape";
import type { Schema } from "./types";

export interface Field {
  name: string;
  kind: "text" | "number" | "boolean" | "choice" | "date" | "either" | "json"; // either: text, or something that is not
  type: string; // in words
  choices: unknown[];
  required: boolean;
  nullable: boolean;
  mayBeEmpty: boolean; // "" fits
  fallback?: string; // what stands for it where it is left out, as JSON
  hint: string;
  about?: string;
  parts: Part[]; // of an object, or of each that it may be
  example?: string; // JSON to begin with
}

export class NotJson extends Error {}

export function fieldsOf(whole: Schema): Field[] {
  return Object.entries(whole.properties ?? {}).map(([name, given]) => {
    const options = optionsOf(given, whole);
    const real = options.filter((each) => each.type !== "null");
    const kind = kindOf(real);
    const first = real.length === 1 ? (real[0] as Schema) : {};
    const type = [...new Set(real.map((each) => named(each, whole)))].join(" or ") || "nothing";
    const field = {
      name, type, kind, nullable: options.length > real.length, choices: real.flatMap(choicesOf), required: whole.required?.includes(name) ?? false,
      mayBeEmpty: real.some((each) => each.type === "string" && !each.format && !each.pattern && !each.minLength),
      fallback: given.default === undefined ? undefined : write(given.default),
      about: given.description ?? first.description, parts: real.flatMap((each) => partsOf(each, whole)),
      example: kind === "json" ? write(exampleOf(real[0] ?? {}, whole), 2) : undefined,
    };
    return { ...field, hint: hintOf(field, first) };
  });
}

/** What it may be, each resolved. */
function optionsOf(given: Schema, whole: Schema): Schema[] {
  const schema = resolved(given, whole);
  const among = schema.anyOf ?? schema.oneOf;
  return among ? among.flatMap((each) => optionsOf(each, whole)) : [schema];
}

const EXAMPLES: Record<string, string> = { "date-time": "2026-01-31T12:00:00Z", duration: "PT1H30M", uuid: "xxxxxxxx-xxxx-…", time: "12:00:00Z" };
const NAMES: Record<string, string> = { string: "text", integer: "whole number", number: "number", boolean: "true or false", object: "object", array: "list", null: "nothing" };
const FORMATS: Record<string, string> = { "date-time": "date and time", uuid: "UUID", email: "e-mail address", uri: "URL", binary: "bytes" };

function hintOf(field: Omit<Field, "hint">, schema: Schema): string {
  const like = EXAMPLES[schema.format ?? ""] ?? field.type;
  const quotes = field.kind === "either" ? ' ("12" in quotes is text)' : "";
  const empty = field.mayBeEmpty && field.kind === "text" && (!field.required || field.nullable) && field.fallback !== '""' ? ', "" for empty text' : "";
  return `${like}${quotes}${empty}`;
}

export function named(given: Schema, whole: Schema): string {
  const schema = resolved(given, whole);
  if (choicesOf(schema).length) return "one of a few";
  if (schema.type === "array") return schema.items ? `list of ${several(optionsOf(schema.items, whole), whole)}` : "list";
  if (schema.type === "object" && schema.title) return schema.title;
  return FORMATS[schema.format ?? ""] ?? (schema.type === "string" ? schema.format : undefined) ?? NAMES[schema.type ?? ""] ?? "any JSON";
}

const several = (options: Schema[], whole: Schema): string => [...new Set(options.map((each) => named(each, whole)))].join(" or ");

function choicesOf(schema: Schema): unknown[] {
  return schema.const !== undefined ? [schema.const] : schema.enum ?? [];
}

function kindOf(options: Schema[]): Field["kind"] {
  if (options.length && options.every((each) => choicesOf(each).length)) return "choice";
  const types = new Set(options.map((each) => each.type ?? ""));
  const only = types.size === 1 ? [...types][0] : undefined;
  if (only === "boolean") return "boolean";
  if (only === "integer" || only === "number" || (types.size === 2 && types.has("integer") && types.has("number"))) return "number";
  if (only === "string") return options.every((each) => each.format === "date") ? "date" : "text";
  return types.has("string") && ![...types].some((type) => ["object", "array", ""].includes(type)) ? "either" : "json";
}

/** What was typed, as a value; undefined where the argument is left out. */
export function valueOf(text: string, field: Field): unknown {
  if (text === "") return nothingTyped(field);
  if (text === '""' && field.mayBeEmpty && field.kind === "text") return "";
  if (field.kind === "text" || field.kind === "date") return text;
  try {
    const value = readExact(text);
    return value instanceof Exact && field.type === "number or text" ? text : value; // a Decimal: 1.10 stays so as text
  } catch {
    if (field.kind === "either" || field.kind === "number") return text; // the service says what is wrong with it
    throw new NotJson(`is not JSON: ${field.type}${field.example ? `, such as ${field.example.replace(/\s+/g, " ")}` : ""}`);
  }
}

/** Left out; but what is needed and may be nothing is nothing, and what is needed as text is empty, where that fits. */
function nothingTyped(field: Field): unknown {
  if (!field.required) return undefined;
  if (field.nullable) return null;
  return field.kind === "text" && field.mayBeEmpty ? "" : undefined;
}
