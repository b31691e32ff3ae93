"""What the engine costs for each node, by the size of the workflow.

    python benchmarks/engine.py [--sizes 100,1000,10000,100000]

The runtime does nothing: every leaf ends as soon as it is started. What is left is the engine's own
work: rendering, nodes, edges, counts. Each size runs in a process of its own; CPU seconds and the
growth of resident memory are its own, so other load on the machine hardly shows. The last column
compares with the first size of the same shape: it must not grow with the workflow.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import time
from collections import deque

from tiphys.__main__ import GARBAGE
from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import step, take_effects
from tiphys.engine.run import Run
from tiphys.testing.harness import NOON, load

LEAF = {
    "name": "leaf",
    "inputs": {"parameters": [{"name": "i"}]},
    "container": {"image": "x", "command": ["true"], "args": ["{{inputs.parameters.i}}"]},
}


def fan_out(size: int) -> dict[str, object]:
    """One loop of ``size`` items."""
    argument = {"parameters": [{"name": "i", "value": "{{item}}"}]}
    loop = {"name": "a", "template": "leaf", "arguments": argument}
    return {"name": "main", "steps": [[loop | {"withSequence": {"count": str(size)}}]]}


def chain(size: int) -> dict[str, object]:
    """A DAG of tasks one after another, each using the one before."""
    argument = {"parameters": [{"name": "i", "value": "x"}]}
    tasks = [{"name": f"t{i}", "template": "leaf", "arguments": argument} for i in range(size)]
    for i in range(1, size):
        tasks[i]["depends"] = f"t{i - 1}"
    return {"name": "main", "dag": {"tasks": tasks}}


def layers(size: int) -> dict[str, object]:
    """Layers of 100 tasks; each task depends on all of the layer before."""
    argument = {"parameters": [{"name": "i", "value": "x"}]}
    tasks = [{"name": f"t{i}", "template": "leaf", "arguments": argument} for i in range(size)]
    for i in range(100, size):
        first = (i // 100 - 1) * 100
        tasks[i]["dependencies"] = [f"t{j}" for j in range(first, first + 100)]
    return {"name": "main", "dag": {"tasks": tasks}}


LARGEST = {"fan-out": 100_000, "chain": 10_000, "layers": 1_000}
"""Beyond this the file itself is past the limit of what is read."""
SHAPES = {"fan-out": fan_out, "chain": chain, "layers": layers}


def play(run: Run) -> None:
    """Run to the end on a runtime that does nothing."""
    step(run, ev.RunStarted(at=NOON))
    todo = deque(take_effects(run).commands)
    while todo:
        command = todo.popleft()
        if isinstance(command, cm.StartNode):
            node, attempt = command.node, command.attempt
            step(run, ev.NodeStarted(at=NOON, node=node, attempt=attempt))
            step(run, ev.NodeEnded(at=NOON, node=node, attempt=attempt, phase="Succeeded"))
            todo.extend(take_effects(run).commands)
    assert run.phase == "Succeeded", run.message


def measure(shape: str, size: int) -> dict[str, float]:
    """Give CPU and memory for one workflow."""
    spec = {"entrypoint": "main", "templates": [SHAPES[shape](size), LEAF]}
    text = json.dumps(
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {}, "spec": spec}
    )
    gc.set_threshold(*GARBAGE)  # As in the product.
    run = load(text)
    memory, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    play(run)
    cpu = time.process_time() - begin
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    return {"cpu": cpu, "kib": grown / size, "nodes": len(run.nodes)}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100,1000,10000,100000")
    parser.add_argument("--shapes", default="fan-out,chain,layers")
    parser.add_argument("--one", nargs=2, metavar=("SHAPE", "SIZE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]))))
        return
    print(f"{'shape':8} {'nodes':>8} {'cpu s':>8} {'µs/node':>8} {'KiB/node':>9} {'ratio':>6}")
    for shape in options.shapes.split(","):
        first = 0.0
        for size in map(int, options.sizes.split(",")):
            if size > LARGEST[shape]:
                continue
            command = [sys.executable, __file__, "--one", shape, str(size)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            each = found["cpu"] / size * 1e6
            first = first or each
            print(
                f"{shape:8} {size:8} {found['cpu']:8.2f} {each:8.1f} "
                f"{found['kib']:9.2f} {each / first:6.2f}"
            )


if __name__ == "__main__":
    main()
