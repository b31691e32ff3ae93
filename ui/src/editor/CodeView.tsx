/** A text to look at, with problems at their lines. */
import { forceLinting, lintGutter, linter } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";

import type { Mistake } from "../api/client";
import { diagnostics, look } from "./code";

interface Props {
  readonly text: string;
  readonly label: string;
  readonly mistakes: readonly Mistake[];
}

const problems = new Compartment();

export function CodeView({ text, label, mistakes }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  useEffect(() => {
    if (!element.current) return undefined;
    const made = new EditorView({
      parent: element.current,
      state: EditorState.create({
        doc: text,
        extensions: [
          look(label),
          lintGutter(),
          problems.of([]),
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ "aria-readonly": "true" }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [text, label]);
  useEffect(() => {
    const target = view.current;
    if (!target) return;
    const found = diagnostics(target.state.doc, mistakes);
    target.dispatch({ effects: problems.reconfigure(linter(() => found, { delay: 0 })) });
    forceLinting(target);
    const [first] = found;
    if (first) target.dispatch({ effects: EditorView.scrollIntoView(first.from, { y: "center" }) });
  }, [text, label, mistakes]);
  return <div className="code-pane code-view" ref={element} />;
}
