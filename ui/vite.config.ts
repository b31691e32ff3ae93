/** Builds the pages into the Python package, where `tiphys server` finds them. */
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const SERVER = process.env["TIPHYS_SERVER"] ?? "http://127.0.0.1:2746";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/tiphys/api/static",
    emptyOutDir: true,
    // The policy of the server allows no inline code: small files stay files too.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
  },
  worker: { format: "es" },
  server: {
    proxy: {
      "/api": { target: SERVER, ws: true },
      "/openapi.json": { target: SERVER },
    },
  },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
