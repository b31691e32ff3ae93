/** Text for reading, with the colours of YAML; CodeMirror, so that long texts scroll and are searched. */
import { defaultKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";

import { styleNonce } from "../theme";

/** Colours by variables, so that they change with the theme. */
const COLORS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--c4)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--c2)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--c5)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--quiet)" },
  { tag: [tags.labelName, tags.typeName], color: "var(--c6)" },
]);

/** How every text of ours looks. */
export const CODE_LOOKS = [
  syntaxHighlighting(COLORS),
  EditorView.theme({
    "&": { height: "100%", fontSize: "13px", backgroundColor: "var(--log-back)", color: "var(--mantine-color-text)" },
    ".cm-scroller": { fontFamily: "var(--mantine-font-family-monospace)" },
    ".cm-gutters": { backgroundColor: "var(--log-back)", color: "var(--quiet)", borderRight: "1px solid var(--line)" },
    ".cm-cursor": { borderLeftColor: "var(--mantine-color-text)" },
    "&.cm-focused": { outline: "2px solid var(--mantine-primary-color-filled)", outlineOffset: "-2px" },
    ".cm-panels": { backgroundColor: "var(--raised)", color: "inherit" },
  }),
];

/** The text. */
export function Code({ text, label }: { text: string; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const view = new EditorView({
      parent: box.current!,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorView.cspNonce.of(styleNonce()),
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true" }),
          lineNumbers(),
          EditorView.lineWrapping,
          yaml(),
          search({ top: true }),
          highlightSelectionMatches(),
          keymap.of([...defaultKeymap, ...searchKeymap]),
          CODE_LOOKS,
        ],
      }),
    });
    return () => view.destroy();
  }, [text, label]);
  return <div className="code" ref={box} />;
}
