import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const key = "hookspan-token";
// 127.0.0.1 may have been another server's origin, of which a tab is still open.
const channel = typeof BroadcastChannel === "undefined" || !location.hostname.endsWith(".localhost") ? undefined : new BroadcastChannel("hookspan");

// takeToken moves the token from the address to this tab's storage, so that it is in
// no history and no copied link.
export function takeToken() {
  const given = /^#token=([0-9a-f]{64})$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem(key, given[1]);
    history.replaceState(history.state, "", location.pathname === "/open" ? "/" : location.pathname + location.search);
  }
  // A tab that a link opened asks the others of this origin.
  channel?.addEventListener("message", (e) => {
    const mine = sessionStorage.getItem(key);
    if (e.data === "ask" && mine) channel.postMessage({ token: mine });
    if (typeof e.data?.token === "string" && !mine) {
      sessionStorage.setItem(key, e.data.token);
      changed();
    }
  });
  if (!sessionStorage.getItem(key)) channel?.postMessage("ask");
}

export class Refused extends Error {
  constructor(public status: number, message: string, public hint?: string) { super(message); }
}

const headers = () => ({ "X-Hookspan-Token": sessionStorage.getItem(key) ?? "" });

async function text(path: string, { body, signal }: { body?: unknown; signal?: AbortSignal } = {}): Promise<string> {
  let res: Response, answer: string;
  const started = performance.now();
  open++;
  try {
    res = await fetch("/api/v1/" + path, body === undefined ? { headers: headers(), cache: "no-store", credentials: "omit", signal }
      : { method: "POST", headers: { ...headers(), "Content-Type": "application/json" }, body: JSON.stringify(body), cache: "no-store", credentials: "omit" });
    answer = await res.text();
  } catch {
    throw new Refused(0, "hookspan ui does not answer", "start it again: hookspan ui");
  } finally {
    open--;
    if (started - begun < 250) spent += performance.now() - started;
  }
  const older = Number(res.headers.get("X-Hookspan-Older")); // It is of an earlier state of the store.
  if (older) later ||= window.setTimeout(() => { later = 0; soon(); }, older);
  if (res.ok) return answer;
  let why = { error: res.statusText, hint: undefined as string | undefined };
  try { why = JSON.parse(answer); } catch { /* not from hookspan */ }
  if (res.status === 503) setTimeout(changed, 1000); // it is not ready yet
  throw new Refused(res.status, why.error, why.hint);
}

// download saves an answer as a file.
export async function download(path: string, name: string) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([await text(path)]));
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
}

// The answers seen last are kept, so that Back shows at once what was there.
const kept = new Map<string, { text: string; value: unknown }>();
const maxKept = 24;

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const body = await text(path, { signal });
  const old = kept.get(path);
  kept.delete(path);
  if (old?.text === body) {
    kept.set(path, old);
    return old.value as T;
  }
  const value = JSON.parse(body) as T;
  kept.set(path, { text: body, value });
  if (kept.size > maxKept) kept.delete(kept.keys().next().value!);
  return value;
}

// post asks for a change, and has what is on the page asked for again.
export async function post<T>(path: string, body: unknown): Promise<T> {
  try { return JSON.parse(await text(path, { body })) as T; } finally { changed(); }
}

// Changes are counted; what is on the page is asked for again at each.
let changes = 0;
let live = false;
const listeners = new Set<() => void>();
let pending = 0, later = 0;
const changed = () => { changes++; listeners.forEach((f) => f()); };

// What is on the page is asked for again in at most one part in refetchShare of the time:
// begun is when that was last, spent how long its answers took, open how many are awaited. On
// a busy machine answers take long without being much work: no wait is longer than longestWait.
const refetchShare = 25, longestWait = 5000;
let begun = 0, spent = 0, open = 0;
function soon() {
  const rest = () => (open > 0 ? 60 : begun + Math.min(longestWait, refetchShare * spent) - performance.now());
  pending ||= window.setTimeout(() => {
    pending = 0;
    if (rest() > 0) { soon(); return; }
    begun = performance.now();
    spent = 0;
    changed();
  }, Math.max(60, rest()));
}

function useListener() {
  const [, poke] = useState(0);
  useEffect(() => {
    const f = () => poke((n) => n + 1);
    listeners.add(f);
    f(); // What has changed since the first drawing.
    return () => { listeners.delete(f); };
  }, []);
}

export function useLive(): boolean {
  useListener();
  return live;
}

// useData returns an answer of the API. It asks again when something has changed: the
// version if there is one, else anything.
export function useData<T>(path: string | null, version?: number): { data?: T; error?: Refused } {
  useListener();
  const [state, set] = useState<{ path: string | null; data?: T; error?: Refused }>({ path: null });
  const at = version ?? changes;
  // Before the page is painted: a frame earlier.
  useLayoutEffect(() => {
    if (path === null) return;
    let wanted = true;
    const stop = new AbortController();
    get<T>(path, stop.signal).then(
      (data) => wanted && set((old) => (old.path === path && old.data === data && !old.error ? old : { path, data })),
      (error) => wanted && set((old) => ({ path, error, data: error.status === 0 && old.path === path ? old.data : undefined })),
    );
    return () => { wanted = false; stop.abort(); };
  }, [path, at, version !== undefined && state.error ? changes : 0]);
  if (path === null) return {};
  if (state.path === path) return state;
  return { data: kept.get(path)?.value as T | undefined };
}

// useShown is useData that returns the answer shown last until a new one is there, so
// that a change of a filter does not empty the page, nor one that is refused. stale reports that
// data is that of another filter.
export function useShown<T>(path: string | null, version?: number): { data?: T; error?: Refused; stale?: boolean } {
  const now = useData<T>(path, version);
  const last = useRef<T | undefined>(undefined);
  if (now.data || path === null) last.current = now.data;
  const keep = !now.error || now.error.status === 503 || now.error.status === 400;
  return { data: keep ? last.current : now.data, error: now.error, stale: !now.data };
}

// follow keeps one stream open while the page is visible.
export function follow() {
  let stop: AbortController | undefined;
  let wait = 500;
  const run = async () => {
    if (stop || document.hidden) return;
    const mine = (stop = new AbortController());
    try {
      const res = await fetch("/api/v1/events", { headers: headers(), signal: mine.signal, cache: "no-store", credentials: "omit" });
      if (!res.ok || !res.body) throw new Error("no stream");
      const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
      live = true;
      wait = 500;
      changed();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        if (value.includes("event: change")) soon();
      }
    } catch { /* asked again below */ }
    if (stop === mine) stop = undefined;
    if (live) { live = false; listeners.forEach((f) => f()); }
    if (!document.hidden) setTimeout(run, (wait = Math.min(wait * 2, 15_000)));
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { stop?.abort(); stop = undefined; } else run();
  });
  run();
}
