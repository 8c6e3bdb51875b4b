// From the JSON schema of a task's arguments to the fields of a form, and back to a payload.
import { Exact, readExact, write } from "./json";
import type { Schema } from "./types";

export interface Field {
  name: string;
  kind: "text" | "number" | "boolean" | "choice" | "date" | "json";
  type: string; // in words
  choices: unknown[];
  required: boolean;
  nullable: boolean;
  hint: string;
  about?: string;
}

export class NotJson extends Error {}

export function fieldsOf(whole: Schema): Field[] {
  return Object.entries(whole.properties ?? {}).map(([name, given]) => {
    const options = [given, ...(given.anyOf ?? [])].map((each) => resolved(each, whole));
    const nullable = options.some((each) => each.type === "null");
    const real = given.anyOf ? options.slice(1).filter((each) => each.type !== "null") : options.slice(0, 1);
    const schema = real.length === 1 ? (real[0] as Schema) : {};
    const type = real.map(named).join(" or ") || "JSON";
    return {
      name, type, nullable, kind: kindOf(schema), choices: choicesOf(schema), required: whole.required?.includes(name) ?? false,
      hint: given.default === undefined ? EXAMPLES[schema.format ?? ""] ?? type : `${type}, by default ${write(given.default)}`,
      about: given.description ?? schema.description,
    };
  });
}

const EXAMPLES: Record<string, string> = { "date-time": "2026-01-31T12:00:00Z", duration: "PT1H30M", uuid: "xxxxxxxx-xxxx-…", time: "12:00:00Z" };

function resolved(schema: Schema, whole: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : { ...whole.$defs?.[name], ...schema };
}

function named(schema: Schema): string {
  if (schema.enum || schema.const !== undefined) return "one of a few";
  if (schema.type === "array") return schema.items?.type ? `list of ${schema.items.type}` : "list";
  return schema.format ?? schema.type ?? "JSON";
}

function choicesOf(schema: Schema): unknown[] {
  return schema.const !== undefined ? [schema.const] : schema.enum ?? [];
}

function kindOf(schema: Schema): Field["kind"] {
  if (choicesOf(schema).length) return "choice";
  if (schema.type === "boolean") return "boolean";
  if (schema.type === "integer" || schema.type === "number") return "number";
  if (schema.type === "string") return schema.format === "date" ? "date" : "text";
  return "json";
}

/** What was typed, as a value; undefined where the argument is left out. */
export function valueOf(text: string, field: Field): unknown {
  if (text === "") return field.required && field.nullable ? null : field.required && field.kind === "text" ? "" : undefined;
  if (field.kind === "text" || field.kind === "date") return text;
  try {
    const value = readExact(text);
    return value instanceof Exact && field.type === "number or string" ? text : value; // a Decimal: 1.10 stays so as text
  } catch {
    if (field.kind === "number") return text; // the service says what is wrong with it
    throw new NotJson("is not JSON");
  }
}
