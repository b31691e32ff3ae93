/** CodeMirror, set up for workflows: highlighting, problems, completion, one history. */
import {
  type CompletionContext,
  type CompletionResult,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  HighlightStyle,
  bracketMatching,
  foldGutter,
  foldKeymap,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, linter } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension, type Text } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

import type { Mistake } from "../api/client";
import { styleNonce } from "../theme";
import { suggest } from "./model/complete";
import type { Model } from "./model/read";
import type { Schema } from "./model/schema";

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--code-word)" },
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.labelName, tags.typeName, tags.meta], color: "var(--code-word)" },
]);

const LOOK = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", backgroundColor: "var(--mantine-color-body)", color: "var(--mantine-color-text)" },
  ".cm-scroller": { fontFamily: "var(--mantine-font-family-monospace)", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--quiet)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--code-line)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--code-selection) !important" },
  ".cm-cursor": { borderLeftColor: "var(--mantine-color-text)" },
  "&.cm-focused": { outline: "2px solid var(--mantine-primary-color-filled)", outlineOffset: "-2px" },
  ".cm-tooltip": { backgroundColor: "var(--mantine-color-body)", color: "var(--mantine-color-text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--mantine-primary-color-filled)", color: "#fff" },
  ".cm-completionDetail": { color: "inherit", opacity: "1", fontStyle: "normal", marginLeft: "1em" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--mantine-color-text)" },
});

/** What every pane has, whether it can be written in or not. */
export function look(label: string): Extension[] {
  const nonce = styleNonce();
  return [
    nonce ? EditorView.cspNonce.of(nonce) : [],
    lineNumbers(),
    foldGutter(),
    drawSelection(),
    bracketMatching(),
    highlightSelectionMatches(),
    search({ top: true }),
    yaml(),
    syntaxHighlighting(COLOURS),
    LOOK,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    keymap.of([...searchKeymap, ...foldKeymap]),
  ];
}

export interface Asked {
  schema: () => Schema | undefined;
  model: () => Model;
  check: (text: string) => Promise<readonly Mistake[]>;
}

/** What a pane has in which one writes. */
export function writing({ schema, model, check }: Asked): Extension[] {
  return [
    history(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    indentOnInput(),
    indentUnit.of("  "),
    EditorState.tabSize.of(2),
    closeBrackets(),
    autocompletion({ override: [completer(schema, model)], activateOnTyping: true, icons: false }),
    lintGutter(),
    linter(async (view) => diagnostics(view.state.doc, await check(view.state.doc.toString())), { delay: 400 }),
    keymap.of([
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...defaultKeymap,
      ...historyKeymap,
      ...lintKeymap,
      indentWithTab,
    ]),
  ];
}

function completer(schema: () => Schema | undefined, model: () => Model) {
  return (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    const found = suggest(text, context.pos, schema(), model());
    const before = text.slice(Math.max(0, context.pos - 2), context.pos);
    if (!found || (found.from === context.pos && !context.explicit && !before.endsWith("{{"))) return null;
    return {
      from: found.from,
      options: found.options.map(({ label, detail, insert }) => ({
        label,
        detail,
        apply: (view, _, from, to) => {
          const written = insert ?? label;
          // A key that has its colon already keeps it.
          const rest = view.state.sliceDoc(to, to + 1);
          const text = rest === ":" ? written.replace(/:\s*$/, "") : written;
          view.dispatch({ changes: { from, to, insert: text }, selection: { anchor: from + text.length } });
        },
      })),
      validFor: /^[\w.-]*$/,
    };
  };
}

/** Put the server's problems where they belong in the text. */
export function diagnostics(doc: Text, mistakes: readonly Mistake[]): Diagnostic[] {
  return mistakes.map((mistake) => {
    const line = doc.line(Math.min(Math.max(mistake.line ?? 1, 1), doc.lines));
    const from = Math.min(line.from + Math.max((mistake.column ?? 1) - 1, 0), line.to);
    const word = /^[^\s,[\]{}]+/.exec(doc.sliceString(from, line.to))?.[0] ?? "";
    return {
      from,
      to: Math.max(from, from + word.length),
      severity: mistake.warning ? "warning" : "error",
      message: mistake.message,
      source: mistake.code ?? "",
    };
  });
}
