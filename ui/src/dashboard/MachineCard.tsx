/** What is in use on the machine, now and over time: cores, memory, and the nodes in line. */
import { Group, SegmentedControl, Text } from "@mantine/core";
import { useState } from "react";

import type { Panorama } from "../api/overview";
import { Chart, type Series } from "../parts/Chart";
import { Card } from "../parts/Page";
import { bytes } from "../parts/time";

const KINDS = ["CPU", "memory", "line"] as const;
type Kind = (typeof KINDS)[number];
type Use = Panorama["use"];

interface Look {
  label: string;
  series: Series[];
  format: (value: number) => string;
  binary?: boolean;
}

/** Give what a chart of this kind shows. */
export function lookOf(kind: Kind, use: Use, { latest, cpu, memory }: Pick<Panorama, "latest" | "cpu" | "memory">): Look {
  if (kind === "memory") {
    return {
      label: `Memory held by running work: ${bytes(latest.memory)} of ${bytes(memory)}`,
      series: [
        { label: "memory held", values: use.map((each) => each.memory), color: "--state-running", fill: true },
        { label: "in use on the machine", values: use.map((each) => each.machine_memory), color: "--state-suspended" },
        { label: "memory there is", values: use.map(() => memory), color: "--state-failed", dash: true },
      ],
      format: bytes,
      binary: true,
    };
  }
  if (kind === "line") {
    return {
      label: `Nodes in line: ${latest.waiting}; workflows under way: ${latest.running}`,
      series: [
        { label: "nodes in line", values: use.map((each) => each.waiting), color: "--state-error", fill: true },
        { label: "workflows under way", values: use.map((each) => each.running), color: "--state-running" },
      ],
      format: (value) => (Number.isInteger(value) ? value.toLocaleString("en") : ""),
    };
  }
  return {
    label: `Cores held by running work: ${latest.cpu} of ${cpu}`,
    series: [
      { label: "cores held", values: use.map((each) => each.cpu), color: "--state-running", fill: true },
      { label: "load of the machine", values: use.map((each) => each.load), color: "--state-suspended" },
      { label: "cores there are", values: use.map(() => cpu), color: "--state-failed", dash: true },
    ],
    format: (value) => String(Math.round(value * 10) / 10),
  };
}

/** The card. */
export function MachineCard({ seen }: { seen: Panorama }) {
  const [kind, setKind] = useState<Kind>("CPU");
  const { latest, cpu, memory } = seen;
  const use = [...seen.use, latest];
  return (
    <Card
      title="Machine"
      actions={
        <Group gap="sm">
          <Text size="sm" className="quiet num">
            {`${latest.cpu} of ${cpu} cores, ${bytes(latest.memory)} of ${bytes(memory)} held`}
          </Text>
          <SegmentedControl size="xs" aria-label="What the chart shows" data={[...KINDS]} value={kind} onChange={(value) => setKind(value as Kind)} />
        </Group>
      }
    >
      <Chart key={kind} times={use.map((each) => Date.parse(each.at) / 1000)} {...lookOf(kind, use, seen)} />
    </Card>
  );
}
