/**
 * One text with two faces. The document of CodeMirror is the truth: the graph is read from it after
 * each change, and an edit of the graph is a transaction on it, so that undo goes back over both.
 */
import { isolateHistory, redo, redoDepth, undo, undoDepth } from "@codemirror/commands";
import { ChangeSet, EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { ApiError, type Mistake } from "../api/client";
import { tellProblem } from "../parts/Problem";
import { getSchema, lint } from "./api";
import { look, writing } from "./code";
import { keepDraft } from "./draft";
import { type Model, readModel } from "./model/read";
import type { Schema } from "./model/schema";
import { type Edit, type Source, lineOf, readSource } from "./model/source";

const PATIENCE = 800;

interface Reading {
  readonly text: string;
  readonly source: Source;
  /** Of the text, or of the last one that could be read. */
  readonly model: Model;
  readonly readable: boolean;
  readonly undos: number;
  readonly redos: number;
}

export interface Editing extends Reading {
  readonly problems: readonly Mistake[];
  readonly checked: boolean;
  /** Give the pane its element; null takes it away. */
  readonly mount: (element: HTMLElement | null) => void;
  /** Make an edit; gives false, and says why, where it cannot be made. */
  readonly apply: (make: (source: Source) => Edit) => boolean;
  readonly replace: (text: string) => void;
  readonly undo: () => void;
  readonly redo: () => void;
  readonly reveal: (offset: number, focus?: boolean) => void;
}

function readingOf(text: string, before: Model | undefined, state?: EditorState): Reading {
  const source = readSource(text);
  const readable = source.mistakes.length === 0;
  return {
    text,
    source,
    model: readable || !before ? readModel(source) : before,
    readable,
    undos: state ? undoDepth(state) : 0,
    redos: state ? redoDepth(state) : 0,
  };
}

export function useEditing(start: string): Editing {
  const [reading, setReading] = useState(() => readingOf(start, undefined));
  const [problems, setProblems] = useState<readonly Mistake[]>([]);
  const [checked, setChecked] = useState(false);
  const view = useRef<EditorView | null>(null);
  const kept = useRef<EditorState | null>(null);
  const model = useRef(reading.model);
  const schema = useSchema();

  const changed = useCallback((state: EditorState) => {
    const text = state.doc.toString();
    setReading((before) => {
      const next = readingOf(text, before.model, state);
      model.current = next.model;
      return next;
    });
    setChecked(false);
    keepDraft(text);
  }, []);

  const stateOf = useCallback(
    (doc: string) => EditorState.create({
      doc,
      extensions: [
        look("Workflow as YAML"),
        writing({
          schema,
          model: () => model.current,
          check: async (text) => {
            const found = await checkText(text);
            setProblems(found);
            setChecked(true);
            return found;
          },
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state);
        }),
      ],
    }),
    [changed, schema],
  );

  const mount = useCallback(
    (element: HTMLElement | null) => {
      if (!element) {
        kept.current = view.current?.state ?? kept.current;
        view.current?.destroy();
        view.current = null;
        return;
      }
      schema(); // So that it is there when the first word is typed.
      view.current = new EditorView({ parent: element, state: kept.current ?? stateOf(start) });
    },
    [start, stateOf, schema],
  );

  const actions = useMemo(() => actionsOn(view), []);
  const readable = !useLasting(!reading.readable);
  return { ...reading, readable, problems, checked, mount, ...actions };
}

/** Tell whether something is so for a while: a word that is being typed is seldom YAML. */
function useLasting(now: boolean): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    if (!now) {
      setLasts(false);
      return undefined;
    }
    const timer = setTimeout(() => setLasts(true), PATIENCE);
    return () => clearTimeout(timer);
  }, [now]);
  return now && lasts;
}

function actionsOn(view: { current: EditorView | null }) {
  return {
    apply(make: (source: Source) => Edit): boolean {
      const target = view.current;
      if (!target) return false;
      try {
        const edit = make(readSource(target.state.doc.toString()));
        const changes = edit.steps.reduce(
          (all, step) => all.compose(ChangeSet.of([...step], all.newLength)),
          ChangeSet.empty(target.state.doc.length),
        );
        if (changes.empty) return true;
        target.dispatch({
          changes,
          userEvent: "input.graph",
          annotations: isolateHistory.of("full"),
          effects: EditorView.scrollIntoView(firstChange(changes), { y: "nearest" }),
        });
        return true;
      } catch (error) {
        tellProblem(error, "This cannot be done");
        return false;
      }
    },
    replace(text: string): void {
      const target = view.current;
      target?.dispatch({
        changes: { from: 0, to: target.state.doc.length, insert: text },
        selection: { anchor: 0 },
        annotations: isolateHistory.of("full"),
        scrollIntoView: true,
      });
    },
    undo: () => { if (view.current) undo(view.current); },
    redo: () => { if (view.current) redo(view.current); },
    reveal(offset: number, focus = false): void {
      const target = view.current;
      if (!target) return;
      const at = Math.min(offset, target.state.doc.length);
      target.dispatch({
        selection: { anchor: at },
        effects: EditorView.scrollIntoView(at, { y: "center" }),
      });
      if (focus) target.focus();
    },
  };
}

function firstChange(changes: ChangeSet): number {
  let first = 0;
  let found = false;
  changes.iterChanges((_from, _to, from) => {
    if (!found) first = from;
    found = true;
  });
  return first;
}

/** Ask the server; where it does not answer, at least say what is not YAML. */
async function checkText(text: string): Promise<readonly Mistake[]> {
  if (text.trim() === "") return [];
  try {
    return (await lint(text)).problems;
  } catch (error) {
    if (error instanceof ApiError && error.mistakes.length > 0) return error.mistakes;
    return readSource(text).mistakes.map(({ message, from }) => ({
      path: "",
      line: lineOf(text, from) + 1,
      column: null,
      message,
    }));
  }
}

/** Fetch the schema when it is first needed; until then there are no suggestions of keys. */
function useSchema(): () => Schema | undefined {
  const found = useRef<Schema | undefined>(undefined);
  const asked = useRef(false);
  return useCallback(() => {
    if (!asked.current) {
      asked.current = true;
      getSchema().then((schema) => { found.current = schema; }).catch(() => { asked.current = false; });
    }
    return found.current;
  }, []);
}
