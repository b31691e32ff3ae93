/** Everything around the pages: theme, the cache of answers, messages, and who is signed in. */
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useEffect, useState, useSyncExternalStore } from "react";

import { loginMethods, whoami } from "./api/admin";
import { ApiError } from "./api/client";
import { askOtherTabs, isSignedIn, onSession, signInByCookie } from "./api/session";
import { router } from "./routes";
import { Login } from "./shell/Login";
import { styleNonce, theme, variables } from "./theme";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) =>
        failures < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500),
      refetchOnWindowFocus: true,
      staleTime: 1000,
    },
  },
});

/** The whole application. */
export function App() {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={styleNonce} cssVariablesResolver={variables}>
      <QueryClientProvider client={queries}>
        <Notifications position="bottom-right" />
        <Gate />
      </QueryClientProvider>
    </MantineProvider>
  );
}

/** Pages for those who are signed in; for others, the login. */
function Gate() {
  const signedIn = useSyncExternalStore(onSession, isSignedIn);
  const [asked, setAsked] = useState(signedIn);
  useEffect(() => {
    if (!asked) void lookForSession().then(() => setAsked(true));
  }, [asked]);
  useEffect(() => {
    if (!signedIn) queries.clear();
  }, [signedIn]);
  if (signedIn) return <RouterProvider router={router} />;
  return asked ? <Login /> : null;
}

/** Another tab may share its token; a provider may have left a cookie. */
async function lookForSession(): Promise<void> {
  if (await askOtherTabs()) return;
  if ((await loginMethods()).oidc === null) return;
  await whoami("").then(signInByCookie, () => undefined);
}
