/** Saving things to the reader's disk. */
import { address, call, part, send, type Schemas } from "../api/client";
import type { LogLine } from "../api/live";
import { tellProblem } from "../parts/Problem";
import { plain } from "./ansi";

/** Hand bytes to the browser as a file. */
export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  clickOn(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function clickOn(url: string, name: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}

/** Save a log as text; one that is not here as a whole comes straight from the server (NDJSON). */
export async function saveLog(workflow: string, node: string, name: string, lines: LogLine[] | null): Promise<void> {
  if (lines) {
    const text = lines.map((line) => `${line.time ?? ""} ${line.stream} ${plain(line.text)}\n`);
    saveBlob(new Blob(text, { type: "text/plain" }), `${name}.log`);
    return;
  }
  await saveFrom(`/workflows/${part(workflow)}/nodes/${part(node)}/logs`, `${name}.log.ndjson`);
}

/** Save what is at a path of the API, however large, by a ticket of its own. */
export async function saveFrom(path: string, name: string): Promise<void> {
  try {
    const { ticket } = await call<Schemas["Ticket"]>("/tickets", { method: "POST" });
    clickOn(address(path, { ticket }), name);
  } catch (error) {
    tellProblem(error, "It cannot be downloaded");
  }
}

/** Read the beginning of an artifact. */
export async function readStart(path: string, limit: number): Promise<{ bytes: Uint8Array<ArrayBuffer>; cut: boolean }> {
  const controller = new AbortController();
  const response = await send(path, { signal: controller.signal });
  const reader = response.body!.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let cut = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.length;
    if (size > limit) {
      cut = true;
      controller.abort();
      break;
    }
  }
  const bytes = new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer());
  return { bytes, cut };
}
