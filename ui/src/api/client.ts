/**
 * The one way to the server: adds the token, opens the envelope, turns failures into `ApiError`.
 *
 * Components never call `fetch`; they use the functions of this folder, one file for each kind of
 * thing, whose types come from the server's OpenAPI document (`schema.d.ts`, by `npm run api`).
 */
import { signOut, token } from "./session";
import type { components } from "./schema";

export type Schemas = components["schemas"];
export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

/** One thing that is wrong with what was sent. */
export interface Mistake {
  path: string;
  line: number | null;
  column: number | null;
  message: string;
  code?: string;
  warning?: boolean;
}

/** A refusal of the server, or no answer at all (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string,
    readonly mistakes: readonly Mistake[] = [],
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** A page of a list. */
export interface Page<T> {
  items: T[];
  total: number;
  /** Whether there may be more than `total`: a long list is still being counted. */
  atLeast: boolean;
  page: number;
  limit: number;
}

interface Options {
  method?: string;
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** Instead of the token of the session: for trying one out; "" for none. */
  token?: string;
  /** The path begins at the root of the server and not below `/api/v1`. */
  root?: boolean;
}

interface Envelope {
  success: boolean;
  data?: unknown;
  message?: string;
  pagination?: { total: number; page: number; limit: number; at_least?: boolean | null };
  error?: { code: string; detail: string; errors: Mistake[]; request_id: string };
}

/** Ask for something and give the `data` of the answer. */
export async function call<T>(path: string, options: Options = {}): Promise<T> {
  return (await envelope(path, options)).data as T;
}

/** Ask for one page of a list. */
export async function callPage<T>(path: string, options: Options = {}): Promise<Page<T>> {
  const { data, pagination } = await envelope(path, options);
  const items = (data ?? []) as T[];
  return {
    items,
    total: pagination?.total ?? items.length,
    atLeast: pagination?.at_least ?? false,
    page: pagination?.page ?? 1,
    limit: pagination?.limit ?? items.length,
  };
}

/** Ask for text, such as YAML. */
export async function callText(path: string, options: Options = {}): Promise<string> {
  return (await send(path, options)).text();
}

async function envelope(path: string, options: Options): Promise<Envelope> {
  const response = await send(path, options);
  return (await response.json()) as Envelope;
}

/** Send a request and give the answer as it is; raise `ApiError` unless it is a success. */
export async function send(path: string, options: Options = {}): Promise<Response> {
  const secret = options.token ?? token();
  const headers: Record<string, string> = { ...options.headers };
  if (secret) headers["Authorization"] = `Bearer ${secret}`;
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    const url = options.root ? path : address(path, options.query);
    response = await fetch(url, {
      method: options.method ?? "GET",
      headers,
      body: options.body === undefined ? undefined : JSON.stringify(options.body),
      signal: options.signal,
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The server does not answer.", "");
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.status === 401 && options.token === undefined) signOut();
  throw problem;
}

async function problemOf(response: Response): Promise<ApiError> {
  const id = response.headers.get("x-request-id") ?? "";
  let body: Envelope | undefined;
  try {
    body = (await response.json()) as Envelope;
  } catch {
    // Not ours, perhaps a proxy's: the status must do.
  }
  const message = body?.message ?? `The server answered ${response.status}.`;
  const { code = "unknown", errors = [], request_id = id } = body?.error ?? {};
  return new ApiError(response.status, code, message, request_id, errors);
}

/** Give the address of a path of the API; `/…` is below `/api/v1`. */
export function address(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    if (typeof value === "object") for (const each of value) search.append(name, each);
    else search.set(name, String(value));
  }
  const text = search.toString();
  return `/api/v1${path}${text ? `?${text}` : ""}`;
}

/** Write one part of a path. */
export function part(value: string): string {
  return encodeURIComponent(value);
}
