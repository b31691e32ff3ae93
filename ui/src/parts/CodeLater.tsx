/** `<Code>`, loaded when it is first needed: the editor behind it is larger than most pages. */
import { Loader } from "@mantine/core";
import { lazy, Suspense } from "react";

const Code = lazy(async () => ({ default: (await import("./Code")).Code }));

/** The text, as soon as it can be shown. */
export function CodeLater(props: { text: string; label: string }) {
  return (
    <Suspense fallback={<Loader m="md" size="sm" />}>
      <Code {...props} />
    </Suspense>
  );
}
