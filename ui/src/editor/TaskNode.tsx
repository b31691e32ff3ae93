/** One box of the editor's graph: a task, or a template that stands alone. */
import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { memo } from "react";

import { Icon } from "../parts/Icon";
import { iconOf, labelOf } from "./kinds";
import type { TemplateKind } from "./model/read";

export interface TaskData extends Record<string, unknown> {
  readonly name: string;
  readonly runs: string;
  readonly kind: TemplateKind;
  readonly when: string;
  readonly loop: string;
  readonly problems: number;
  readonly connects: boolean;
  readonly opens: boolean;
}

export type TaskNodeType = Node<TaskData, "task">;
export const WIDTH = 190;
export const HEIGHT = 58;

export const TaskNode = memo(function TaskNode({ data, selected }: NodeProps<TaskNodeType>) {
  const classes = ["task-node", selected ? "is-selected" : "", data.problems > 0 ? "has-problems" : ""];
  return (
    <div className={classes.join(" ")} style={{ width: WIDTH, height: HEIGHT }}>
      {data.connects && <Handle type="target" position={Position.Top} />}
      <div className="task-line">
        <Icon name={iconOf(data.kind)} size={14} />
        <span className="cut task-name">{data.name}</span>
        {data.problems > 0 && (
          <span className="task-problem" title={`${data.problems} problems`}>
            <Icon name="warning" size={14} />
          </span>
        )}
      </div>
      <div className="task-line task-about">
        <span className="cut">{data.runs && data.runs !== data.name ? data.runs : labelOf(data.kind)}</span>
        {data.loop && <span className="task-badge" title={data.loop}>loop</span>}
        {data.when && <span className="task-badge" title={data.when}>when</span>}
        {data.opens && <span className="task-badge">opens</span>}
      </div>
      {data.connects && <Handle type="source" position={Position.Bottom} />}
    </div>
  );
});
