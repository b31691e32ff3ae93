"""Workflows that the tests of the pages look at."""

from __future__ import annotations

HEAD = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: %s-}
spec:
"""
HOSTILE = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"

DIAMOND = (
    HEAD % "diamond"
    + """\
  # A diamond, as in the books.
  entrypoint: main
  arguments:
    parameters:
    - {name: greeting, value: ahoy}
  templates:
  - name: main
    dag:
      tasks:
      - {name: a, template: work}
      - {name: b, template: work, dependencies: [a]}
      - {name: c, template: work, dependencies: [a]}
      - {name: d, template: work, dependencies: [b, c]}
  - name: work
    container:
      image: any
      command: [sh, -c]
      args:
      - |
        printf '\\033[32m{{workflow.parameters.greeting}}\\033[0m from out\\n'
        echo '<b>err</b> line' >&2
        for n in 1 2 3 4 5; do echo "line $n"; done
"""
)

GATED = (
    HEAD % "gated"
    + """\
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: first, template: wait}
      - {name: second, template: say, dependencies: [first]}
  - name: wait
    container:
      image: any
      command: [sh, -c, "echo waiting; until [ -e GATE ]; do sleep 0.1; done; echo opened"]
  - name: say
    container: {image: any, command: [echo, done]}
"""
)

FAILING = (
    HEAD % "failing"
    + """\
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: fetch, template: good}
    - - name: fan
        template: item
        arguments: {parameters: [{name: num, value: "{{item}}"}]}
        withSequence: {count: "12"}
    - - {name: load, template: fragile}
    - - {name: report, template: good}
  - name: good
    container: {image: any, command: [sh, -c, "echo 42 > OUT; echo good"]}
    outputs:
      parameters: [{name: answer, valueFrom: {path: OUT}}]
      artifacts: [{name: file, path: OUT}]
  - name: item
    inputs: {parameters: [{name: num}]}
    container: {image: any, command: [echo, "item {{inputs.parameters.num}}"]}
  - name: fragile
    container: {image: any, command: [sh, -c, "[ -e MARK ] || { echo oh no >&2; exit 3; }"]}
"""
)

PAUSING = (
    HEAD % "pausing"
    + """\
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: approve, template: pause}
    - - name: deploy
        template: say
        arguments:
          parameters:
          - {name: why, value: "{{steps.approve.outputs.parameters.reason}}"}
  - name: pause
    suspend: {}
    outputs: {parameters: [{name: reason, valueFrom: {supplied: {}}}]}
  - name: say
    inputs: {parameters: [{name: why}]}
    container: {image: any, command: [echo, "because {{inputs.parameters.why}}"]}
"""
)

EVIL = (
    HEAD % "evil"
    + f"""\
  entrypoint: main
  templates:
  - name: main
    inputs:
      parameters: [{{name: what, value: "{HOSTILE}"}}]
    container:
      image: any
      command: [sh, -c, "echo '{HOSTILE}'; echo '{HOSTILE}' > OUT; exit 1"]
    outputs:
      artifacts: [{{name: "page", path: OUT}}]
      parameters: [{{name: again, valueFrom: {{path: OUT}}}}]
"""
)

BUSY = (
    HEAD % "busy"
    + """\
  entrypoint: main
  templates:
  - name: main
    container:
      image: any
      command: [sh, -c, "until [ -e GATE ]; do sleep 0.1; done"]
      resources: {requests: {cpu: CPU}}
"""
)
