/**
 * Who is signed in: the token, and where it is kept; or the cookie of a session with a provider.
 *
 * A token lives in this tab's session storage; with "remember" in local storage. A tab without one
 * asks the other tabs of the same origin, so that a link opened in a new tab needs no second login.
 * The cookie is the browser's own business: no script can read it, so only its use is known here.
 */
const KEY = "tiphys.token";
let cookie = false;
const CHANNEL = "tiphys.session";

type Listener = () => void;
const listeners = new Set<Listener>();
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(CHANNEL) : null;

function storages(): Storage[] {
  return typeof sessionStorage === "undefined" ? [] : [sessionStorage, localStorage];
}

/** Give the token, "" where nobody is signed in. */
export function token(): string {
  for (const storage of storages()) {
    const found = storage.getItem(KEY);
    if (found) return found;
  }
  return "";
}

/** Tell whether somebody is signed in, by token or by cookie. */
export function isSignedIn(): boolean {
  return cookie || token() !== "";
}

/** Tell whether the cookie of a session does it. */
export function byCookie(): boolean {
  return cookie && token() === "";
}

/** Take note that the browser has the cookie of a session. */
export function signInByCookie(): void {
  cookie = true;
  changed();
}

/** Keep a token that the server has accepted. */
export function signIn(value: string, remember = false): void {
  (remember ? localStorage : sessionStorage).setItem(KEY, value);
  changed();
}

/** Forget the token, here and in the other tabs. */
export function signOut(): void {
  forget();
  channel?.postMessage({ kind: "gone" });
}

function forget(): void {
  for (const storage of storages()) storage.removeItem(KEY);
  cookie = false;
  changed();
}

function changed(): void {
  for (const listener of listeners) listener();
}

/** Call back when somebody signs in or out; for `useSyncExternalStore`. */
export function onSession(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Wait a moment for another tab to share its token. */
export function askOtherTabs(patience = 150): Promise<boolean> {
  if (!channel || token()) return Promise.resolve(Boolean(token()));
  channel.postMessage({ kind: "ask" });
  return new Promise((resolve) => {
    const stop = onSession(() => done());
    const timer = setTimeout(() => done(), patience);
    function done(): void {
      clearTimeout(timer);
      stop();
      resolve(Boolean(token()));
    }
  });
}

channel?.addEventListener("message", (event: MessageEvent<{ kind: string; token?: string }>) => {
  const { kind, token: given } = event.data;
  if (kind === "ask" && token()) channel.postMessage({ kind: "here", token: token() });
  if (kind === "here" && given && !token()) signIn(given);
  if (kind === "gone" && token()) forget();
});
