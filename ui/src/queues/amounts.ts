/** Amounts such as 500m or 2Gi as numbers, for bars. Pure. */
const SCALES: Readonly<Record<string, number>> = {
  n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};

/** Give the number that a quantity stands for; 0 where it is none. */
export function amount(text: string | number | null | undefined): number {
  if (text === null || text === undefined) return 0;
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|([A-Za-z]*))$/.exec(String(text).trim());
  if (!match) return 0;
  const scale = match[2] !== undefined ? 10 ** Number(match[2]) : (SCALES[match[3] ?? ""] ?? 0);
  return Number(match[1]) * scale;
}

export type Amounts = Readonly<Record<string, string>>;

/** One resource of a queue, in parts of the longest bar. */
export interface Meter {
  resource: string;
  used: number;
  /** What is used beyond the quota. */
  borrowed: number;
  quota: number;
  guarantee: number;
  /** The most it may ever get; 0 where nothing is said. */
  cap: number;
  words: string;
}

interface Known {
  quota: Amounts;
  guarantee: Amounts | null;
  capability: Amounts | null;
  allocated: Amounts;
}

/** Give a meter for each resource that a queue has or uses. */
export function metersOf({ quota, guarantee, capability, allocated }: Known): Meter[] {
  const names = new Set([...Object.keys(quota), ...Object.keys(allocated), ...Object.keys(capability ?? {})]);
  names.delete("pods");
  return [...names].map((resource) => {
    const used = amount(allocated[resource]);
    const due = amount(quota[resource]);
    const borrowed = resource in quota ? Math.max(0, used - due) : 0;
    const parts = [
      `${allocated[resource] ?? "0"} used`,
      resource in quota && `of ${quota[resource]}`,
      guarantee?.[resource] && `${guarantee[resource]} guaranteed`,
      capability?.[resource] && `at most ${capability[resource]}`,
      borrowed > 0 && "borrowing",
    ];
    return {
      resource,
      used,
      borrowed,
      quota: due,
      guarantee: amount(guarantee?.[resource]),
      cap: amount(capability?.[resource]),
      words: parts.filter(Boolean).join(" · "),
    };
  });
}

/** A queue with those below it. */
export interface Branch<Q> {
  queue: Q;
  depth: number;
}

/** Put queues in the order of their trees, one tree for each scheduler: their names do not meet. */
export function asTree<Q extends { name: string; parent: string; scheduler: string }>(queues: readonly Q[]): Branch<Q>[] {
  const key = (scheduler: string, name: string) => `${scheduler}:${name}`;
  const known = new Set(queues.map((queue) => key(queue.scheduler, queue.name)));
  const below = new Map<string, Q[]>();
  for (const queue of queues) {
    const above = key(queue.scheduler, queue.parent);
    const parent = known.has(above) ? above : key(queue.scheduler, "");
    below.set(parent, [...(below.get(parent) ?? []), queue]);
  }
  const found: Branch<Q>[] = [];
  const visit = (parent: string, depth: number): void => {
    for (const queue of below.get(parent) ?? []) {
      found.push({ queue, depth });
      visit(key(queue.scheduler, queue.name), depth + 1);
    }
  };
  for (const scheduler of new Set(queues.map((queue) => queue.scheduler))) visit(key(scheduler, ""), 0);
  return found;
}
