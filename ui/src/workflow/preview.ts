/**
 * What an artifact holds, found by looking at its bytes and never by its name. Pure but for unpacking.
 *
 * Only text and pictures that a browser draws without running anything are shown.
 */
export type Preview =
  | { kind: "text"; text: string }
  | { kind: "image"; media: string; bytes: Uint8Array<ArrayBuffer> }
  | { kind: "archive"; entries: Entry[] }
  | { kind: "unknown" };

export interface Entry {
  name: string;
  size: number;
  bytes: Uint8Array<ArrayBuffer>;
}

const BLOCK = 512;
const MAX_ENTRIES = 200;
const MAX_UNPACKED = 8 * 1024 * 1024;

const MAGIC: readonly (readonly [string, readonly number[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
];

/** Look at bytes; gzip is unpacked first. */
export async function previewOf(bytes: Uint8Array<ArrayBuffer>): Promise<Preview> {
  const gzipped = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return lookAt(gzipped ? await unpacked(bytes) : bytes);
}

/** Look at bytes that are not packed. */
export function lookAt(bytes: Uint8Array<ArrayBuffer>): Preview {
  for (const [media, magic] of MAGIC) {
    if (magic.every((each, index) => bytes[index] === each)) return { kind: "image", media, bytes };
  }
  const entries = tarEntries(bytes);
  if (entries.length) return { kind: "archive", entries };
  return isText(bytes) ? { kind: "text", text: new TextDecoder().decode(bytes) } : { kind: "unknown" };
}

async function unpacked(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const chunks: BlobPart[] = [];
  let size = 0;
  try {
    while (size < MAX_UNPACKED) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value as BlobPart);
      size += value.length;
    }
  } catch {
    // Cut off on its way: what came before the cut is still worth a look.
  }
  void reader.cancel().catch(() => undefined);
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** List the plain files of a tar archive; none where it is not one. */
export function tarEntries(bytes: Uint8Array<ArrayBuffer>): Entry[] {
  const found: Entry[] = [];
  let at = 0;
  while (at + BLOCK <= bytes.length && found.length < MAX_ENTRIES && word(bytes, at + 257, 5) === "ustar") {
    const size = Number.parseInt(word(bytes, at + 124, 12).trim(), 8);
    if (!Number.isFinite(size) || size < 0) break;
    const kind = String.fromCharCode(bytes[at + 156] ?? 0);
    const name = [word(bytes, at + 345, 155), word(bytes, at, 100)].filter(Boolean).join("/");
    if (kind === "0" || kind === "\0") found.push({ name, size, bytes: bytes.slice(at + BLOCK, at + BLOCK + size) });
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return found;
}

function word(bytes: Uint8Array, start: number, length: number): string {
  const text = new TextDecoder().decode(bytes.subarray(start, start + length));
  const end = text.indexOf("\0");
  return end < 0 ? text : text.slice(0, end);
}

function isText(bytes: Uint8Array): boolean {
  const sample = bytes.subarray(0, 4096);
  return !sample.includes(0) && !new TextDecoder().decode(sample).slice(0, -4).includes("\uFFFD");
}
