// What an object in a JSON schema is made of, and an example of it.
import { named } from "./schema";
import type { Schema } from "./types";

export interface Part { of: string; fields: { name: string; type: string; required: boolean }[] }

const DEEPEST = 5;
const LIKE: Record<string, string> = { "date-time": "2026-01-31T12:00:00Z", date: "2026-01-31", time: "12:00:00Z", duration: "PT1H", uuid: "00000000-0000-0000-0000-000000000000" };
const EMPTY: Record<string, unknown> = { string: "", integer: 0, number: 0, boolean: false, null: null };

export function resolved(schema: Schema, whole: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : { ...whole.$defs?.[name], ...schema, $ref: undefined };
}

/** The fields of an object, or of the objects in a list. */
export function partsOf(given: Schema, whole: Schema): Part[] {
  const schema = resolved(given, whole);
  if (schema.type === "array" && schema.items) return partsOf(schema.items, whole);
  const among = schema.anyOf ?? schema.oneOf;
  if (among) return among.flatMap((each) => partsOf(each, whole));
  if (!schema.properties) return [];
  const fields = Object.entries(schema.properties).map(([name, each]) => ({ name, type: typeOf(each, whole), required: schema.required?.includes(name) ?? false }));
  return [{ of: schema.title ?? "object", fields }];
}

function typeOf(given: Schema, whole: Schema): string {
  const schema = resolved(given, whole);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(" or ");
  const among = schema.anyOf ?? schema.oneOf;
  return among ? [...new Set(among.map((each) => named(each, whole)))].join(" or ") : named(schema, whole);
}

/** Something of this shape, for a person to change. */
export function exampleOf(given: Schema, whole: Schema, depth = 0): unknown {
  const schema = resolved(given, whole);
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const among = (schema.anyOf ?? schema.oneOf)?.filter((each) => each.type !== "null");
  if (depth >= DEEPEST) return null;
  if (among?.[0]) return exampleOf(among[0], whole, depth + 1);
  if (schema.type === "array") return schema.items ? [exampleOf(schema.items, whole, depth + 1)] : [];
  if (schema.type === "object") return objectOf(schema, whole, depth);
  return LIKE[schema.format ?? ""] ?? EMPTY[schema.type ?? ""] ?? (schema.type === undefined ? {} : null);
}

function objectOf(schema: Schema, whole: Schema, depth: number): Record<string, unknown> {
  if (schema.properties) return Object.fromEntries(Object.entries(schema.properties).map(([name, each]) => [name, exampleOf(each, whole, depth + 1)]));
  const values = schema.additionalProperties;
  return typeof values === "object" && Object.keys(values).length ? { name: exampleOf(values, whole, depth + 1) } : {};
}
