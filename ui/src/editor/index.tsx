/** The editor and the form for submitting. */
import "./editor.css";

export { EditorPage } from "./EditorPage";
export { SubmitPage } from "./SubmitPage";
