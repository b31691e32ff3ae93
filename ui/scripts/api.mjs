/**
 * Writes src/api/schema.d.ts from the server's own OpenAPI document.
 *
 * The document comes from the Python package of this repository, so no server must run.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const PYTHON = process.env.PYTHON ?? "../.venv/bin/python";
const PROGRAM = `
import json
from fastapi import FastAPI
from tiphys.api.app import _document, all_routes
app = FastAPI(title="Tiphys", openapi_url=None, docs_url=None, redoc_url=None)
app.router.routes.extend(all_routes())
print(json.dumps(_document(app)))
`;

const text = execFileSync(PYTHON, ["-c", PROGRAM], { encoding: "utf-8", maxBuffer: 64 << 20 });
const tree = await openapiTS(JSON.parse(text), { alphabetize: true });
writeFileSync(
  "src/api/schema.d.ts",
  `/** Made by \`npm run api\` from the OpenAPI document of the server; do not edit. */\n${astToString(tree)}`,
);
