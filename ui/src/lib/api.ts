// Every call to the service. Errors say what the service said.
import { API } from "./base";
import { read, write } from "./json";

export interface Problem {
  field: string;
  problem: string;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly fields: Problem[] = [],
  ) {
    super(message);
  }
}

let proof = ""; // that a page of ours asks, not one from elsewhere

export function provedBy(given: string | null): void {
  proof = given ?? "";
}

let stranger: (() => void) | undefined; // told when the service does not know any more who asks

export function whenStranger(tell: () => void): () => void {
  stranger = tell;
  return () => void (stranger = undefined);
}

type Query = Record<string, string | number | boolean | null | undefined>;

export function address(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `${API}${path}${text ? `?${text}` : ""}`;
}

async function ask<T>(method: string, path: string, query: Query, body?: unknown): Promise<T> {
  const asker = proof;
  let response: Response;
  try {
    response = await fetch(address(path, query), {
      method,
      headers: headers(method, body),
      body: body === undefined ? undefined : write(body),
      credentials: "same-origin",
    });
  } catch {
    throw new ApiError(0, "unreachable", "The service does not answer. Is it running (penstock serve, or penstock dev)?");
  }
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  const data = text ? parsed(text) : {};
  if (response.status === 401 && asker === proof) stranger?.();
  if (!response.ok) throw refusal(response.status, data);
  return data as T;
}

function headers(method: string, body: unknown): Record<string, string> {
  return {
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    ...(method === "GET" || !proof ? {} : { "X-Penstock-Proof": proof }),
  };
}

function parsed(text: string): unknown {
  try {
    return read(text);
  } catch {
    return {};
  }
}

function refusal(status: number, data: unknown): ApiError {
  const error = (data as { error?: { code?: string; message?: string; fields?: Problem[] } }).error;
  return new ApiError(status, error?.code ?? "error", error?.message ?? `The service answered ${status}.`, error?.fields);
}

export const get = <T>(path: string, query: Query = {}) => ask<T>("GET", path, query);
export const post = <T>(path: string, body: unknown = {}, query: Query = {}) => ask<T>("POST", path, query, body);
export const put = <T>(path: string, body: unknown = {}, query: Query = {}) => ask<T>("PUT", path, query, body);
export const remove = <T>(path: string, query: Query = {}) => ask<T>("DELETE", path, query);
