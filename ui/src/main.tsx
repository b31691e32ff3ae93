/** Where the browser begins. */
import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./app.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./app";
import { styleNonce } from "./theme";

// Libraries that make style sheets of their own look for the nonce under this name.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
