/** Reads the JSON schema of workflow files: which keys may stand somewhere, and which values. */

export interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly required?: readonly string[];
}

export interface Key {
  readonly name: string;
  readonly description: string;
  readonly shape: "map" | "list" | "value";
  readonly required: boolean;
}

/** List the kinds of documents that the schema knows. */
export function kindsOf(root: Schema): string[] {
  return (root.oneOf ?? []).map((each) => String(each.properties?.["kind"]?.const ?? "")).filter(Boolean);
}

/** Give the schemas that hold under `keys` of a document of a kind. */
export function schemasAt(root: Schema, kind: string, keys: readonly string[]): Schema[] {
  const start = root.$defs?.[kind];
  if (!start) return [];
  return keys.reduce<Schema[]>(
    (found, key) => found.flatMap((each) => below(root, each, key)),
    opened(root, start),
  );
}

function below(root: Schema, schema: Schema, key: string): Schema[] {
  const next = schema.properties?.[key];
  if (next) return opened(root, next);
  const rest = schema.additionalProperties;
  return typeof rest === "object" ? opened(root, rest) : [];
}

/** Follow references and alternatives, and go into the items of lists. */
function opened(root: Schema, schema: Schema): Schema[] {
  if (schema.$ref) {
    const found = root.$defs?.[schema.$ref.replace("#/$defs/", "")];
    return found ? opened(root, found) : [];
  }
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return several.flatMap((each) => opened(root, each));
  return schema.items ? opened(root, schema.items) : [schema];
}

export function keysAt(root: Schema, kind: string, keys: readonly string[]): Key[] {
  return schemasAt(root, kind, keys).flatMap((schema) =>
    Object.entries(schema.properties ?? {}).map(([name, each]) => ({
      name,
      description: each.description ?? opened(root, each)[0]?.description ?? "",
      shape: shapeOf(root, each),
      required: schema.required?.includes(name) ?? false,
    })),
  );
}

function shapeOf(root: Schema, schema: Schema): Key["shape"] {
  if (schema.$ref) return shapeOf(root, root.$defs?.[schema.$ref.replace("#/$defs/", "")] ?? {});
  const one = (schema.anyOf ?? schema.oneOf)?.find((each) => each.type !== "null");
  if (one) return shapeOf(root, one);
  if (schema.type === "array") return "list";
  return schema.properties || schema.type === "object" ? "map" : "value";
}

/** List the values that may stand at a key, where they can be listed. */
export function valuesAt(root: Schema, kind: string, keys: readonly string[]): string[] {
  const found = schemasAt(root, kind, keys).flatMap((schema) => {
    if (schema.const !== undefined) return [String(schema.const)];
    if (schema.enum) return schema.enum.filter((each) => each !== null && each !== "").map(String);
    return schema.type === "boolean" ? ["true", "false"] : [];
  });
  return [...new Set(found)];
}
