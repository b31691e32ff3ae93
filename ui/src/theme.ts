/** Colours and shapes. One accent, and one colour for each state that a thing can be in. */
import { Anchor, Modal, createTheme, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core";

const helm: MantineColorsTuple = [
  "#e3fafc", "#c5f6fa", "#99e9f2", "#66d9e8", "#3bc9db",
  "#22b8cf", "#15aabf", "#0c8599", "#0b7285", "#095c6b",
];

export const theme = createTheme({
  primaryColor: "helm",
  primaryShade: 8,
  colors: { helm },
  defaultRadius: "sm",
  fontFamily:
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif",
  fontFamilyMonospace:
    "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace",
  headings: { fontWeight: "600" },
  cursorType: "pointer",
  respectReducedMotion: true,
  // A link among words must be told from them without its colour.
  components: {
    Anchor: Anchor.extend({ defaultProps: { underline: "always" } }),
    // At once: keys that are pressed while a dialog comes belong to it, not to the page below.
    Modal: Modal.extend({ defaultProps: { transitionProps: { duration: 0 } } }),
  },
});

/** Quiet text is quiet, and still has 4.5:1 against every background of ours. */
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: { "--mantine-color-dimmed": "#5b6470", "--mantine-color-placeholder": "#66707b" },
  dark: { "--mantine-color-dimmed": "#a3adb8", "--mantine-color-placeholder": "#98a2ac" },
});

/** The nonce under which the server's policy allows style sheets of this page. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";
}
