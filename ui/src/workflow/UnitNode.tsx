/** One box of the graph. */
import { Handle, Position, useStore, type Node, type NodeProps } from "@xyflow/react";
import { memo } from "react";

import { colorOf, StatusMark } from "../parts/Status";
import type { Unit } from "./unit";

export interface UnitData extends Record<string, unknown> {
  unit: Unit;
  chosen: boolean;
  dimmed: boolean;
  down: boolean;
  onToggle: (unit: Unit) => void;
}

export type UnitFlowNode = Node<UnitData, "unit">;

const far = (state: { transform: [number, number, number] }) => state.transform[2] < 0.3;

/** Draw it; from afar only its colour. */
export const UnitNode = memo(function UnitNode({ data }: NodeProps<UnitFlowNode>) {
  const { unit, chosen, dimmed, down, onToggle } = data;
  const plain = useStore(far);
  const many = unit.kind === "fan";
  const classes = ["unit", `unit-${unit.kind}`, chosen && "unit-chosen", dimmed && "unit-dimmed"].filter(Boolean).join(" ");
  const handles = (
    <>
      <Handle type="target" position={down ? Position.Top : Position.Left} isConnectable={false} />
      <Handle type="source" position={down ? Position.Bottom : Position.Right} isConnectable={false} />
    </>
  );
  if (plain) {
    return (
      <div className={classes} style={{ background: colorOf(unit.status) }}>
        {handles}
      </div>
    );
  }
  return (
    <div className={classes} style={{ borderLeftColor: colorOf(unit.status) }}>
      {handles}
      <StatusMark status={unit.status} size={18} />
      <div className="unit-words">
        <div className="cut unit-name" title={unit.name}>
          {unit.name}
        </div>
        {many ? <Counts unit={unit} /> : <div className="cut unit-about">{about(unit)}</div>}
      </div>
      {(many || unit.kind === "composite") && (
        <button
          type="button"
          className="unit-toggle nodrag nopan"
          aria-label={`${unit.open ? "Collapse" : "Expand"} ${unit.name}`}
          aria-expanded={unit.open}
          onClick={(event) => {
            event.stopPropagation();
            onToggle(unit);
          }}
        >
          {unit.open ? "−" : "+"}
        </button>
      )}
    </div>
  );
});

function about(unit: Unit): string {
  const tries = unit.attempts > 1 ? ` · ${unit.attempts} attempts` : "";
  if (unit.kind === "more") return "see the timeline";
  if (unit.kind === "planned" && unit.loop) return `${unit.template} · for each item`;
  if (unit.kind === "planned" && unit.when) return `when ${unit.when}`;
  return `${unit.template || unit.type}${tries}`;
}

function Counts({ unit }: { unit: Unit }) {
  const total = Object.values(unit.counts).reduce((sum, each) => sum + each, 0);
  const parts = Object.entries(unit.counts);
  return (
    <div className="unit-counts" title={parts.map(([name, count]) => `${count} ${name}`).join(", ")}>
      <span className="unit-bar">
        {parts.map(([name, count]) => (
          <span key={name} style={{ flexGrow: count, background: colorOf(name) }} />
        ))}
      </span>
      <span className="num">{total.toLocaleString("en")}</span>
    </div>
  );
}
