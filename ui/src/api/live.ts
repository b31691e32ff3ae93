/**
 * Streams of the server: what changes in a workflow or in all of them, and lines of logs.
 *
 * A browser cannot send a token with a WebSocket, so each connection begins with a ticket. Whoever
 * connects again gets the whole state first, so a lost connection loses nothing.
 */
import { address, call, part, send, type Query, type Schemas } from "./client";

export type Node = Schemas["Node"];
export type Workflow = Schemas["Workflow"];

/** A node as changes show it: not all fields. */
export type NodeChange = Partial<Node> & Pick<Node, "id" | "status">;

/** One message of a stream. */
export interface Update {
  type: "status_update";
  workflow_id: string;
  status: Workflow["status"];
  progress: number;
  current_node: string | null;
  nodes: NodeChange[];
  message: string;
  timestamp: string;
  /** In the first message of a connection only. */
  workflow?: Workflow;
}

/** How a stream is doing. */
export type LiveState = "connecting" | "live" | "ended" | "lost";

interface Watcher<T> {
  onUpdate: (update: T) => void;
  onState?: (state: LiveState) => void;
}

/** Nothing to come back for. After 4401 the next ticket tells whether the token still holds. */
const GONE = new Set([4403, 4404]);
const MAX_WAIT = 15_000;

/** Watch a workflow to its end; returns what stops it. */
export function watchWorkflow(id: string, watcher: Watcher<Update>): () => void {
  return watch(`/workflows/${part(id)}/watch`, {}, watcher);
}

/** Watch what a path of the API tells, with a new connection whenever one is lost. */
export function watch<T>(path: string, query: Query, watcher: Watcher<T>): () => void {
  let socket: WebSocket | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  let failures = 0;

  async function connect(): Promise<void> {
    watcher.onState?.("connecting");
    try {
      const { ticket } = await call<Schemas["Ticket"]>("/tickets", { method: "POST" });
      if (!stopped) open(ticket);
    } catch {
      again();
    }
  }

  function open(ticket: string): void {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    socket = new WebSocket(`${scheme}://${location.host}${address(path, { ...query, ticket })}`);
    socket.addEventListener("message", (event: MessageEvent<string>) => {
      failures = 0;
      watcher.onState?.("live");
      watcher.onUpdate(JSON.parse(event.data) as T);
    });
    socket.addEventListener("close", (event) => {
      if (stopped) return;
      if (event.code === 1000) watcher.onState?.("ended");
      else if (GONE.has(event.code)) watcher.onState?.("lost");
      else again();
    });
  }

  function again(): void {
    if (stopped) return;
    watcher.onState?.("lost");
    failures += 1;
    timer = setTimeout(() => void connect(), Math.min(MAX_WAIT, 500 * 2 ** failures));
  }

  void connect();
  return () => {
    stopped = true;
    clearTimeout(timer);
    socket?.close();
  };
}

/** One line of a log. */
export interface LogLine {
  time: string | null;
  stream: "stdout" | "stderr";
  container: string;
  text: string;
  /** Where the line ends in its stream, in bytes. */
  offset: number;
}

interface LogOptions {
  follow: boolean;
  signal: AbortSignal;
  query?: Record<string, string | number>;
  onLines: (lines: LogLine[]) => void;
}

/** Read a node's log; lines come in bunches, in order. Ends with the log, or when cancelled. */
export async function readLog(workflow: string, node: string, options: LogOptions): Promise<void> {
  const path = `/workflows/${part(workflow)}/nodes/${part(node)}/logs`;
  const query = { ...options.query, follow: options.follow };
  const response = await send(path, { query, signal: options.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const texts = (rest + value).split("\n");
    rest = texts.pop() ?? "";
    if (texts.length) options.onLines(texts.filter(Boolean).map(parseLine));
  }
  if (rest) options.onLines([parseLine(rest)]);
}

function parseLine(text: string): LogLine {
  return JSON.parse(text) as LogLine;
}
