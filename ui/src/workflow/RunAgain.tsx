/** Run a workflow that has ended again from one node on, whatever came of it. */
import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { act, type Node } from "../api/workflows";
import { Confirm } from "../parts/Confirm";
import { Icon } from "../parts/Icon";
import { tellDone, tellProblem } from "../parts/Problem";

interface RunAgainProps {
  workflow: string;
  node: Node;
  onDone: () => void;
}

/** The button, and the question behind it. */
export function RunAgain({ workflow, node, onDone }: RunAgainProps) {
  const [asked, setAsked] = useState(false);
  const queries = useQueryClient();

  async function go(): Promise<void> {
    try {
      await act(workflow, "retry", { restart_successful: true, node_selector: `id=${node.id}` });
      tellDone(`${node.display_name} runs again`);
      onDone();
      await Promise.all(["workflow", "graph", "timeline", "node"].map((name) => queries.invalidateQueries({ queryKey: [name, workflow] })));
    } catch (error) {
      tellProblem(error, `${node.display_name} does not run again`);
    }
  }

  return (
    <>
      <Button size="xs" variant="default" mt="md" leftSection={<Icon name="retry" size={14} />} onClick={() => setAsked(true)}>
        Run again from here
      </Button>
      {asked && (
        <Confirm title={`Run ${node.display_name} again?`} action="Run again" onConfirm={go} onClose={() => setAsked(false)}>
          It and what came after it run again, and so does what failed. The rest stays as it is.
        </Confirm>
      )}
    </>
  );
}
