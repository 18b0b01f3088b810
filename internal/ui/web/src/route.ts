import { useEffect, useState } from "preact/hooks";

// The address is the state of the page.
export interface Route { path: string; query: URLSearchParams }

const read = (): Route => ({ path: location.pathname, query: new URLSearchParams(location.search) });
const listeners = new Set<() => void>();
const notify = () => listeners.forEach((f) => f());

history.scrollRestoration = "manual";
let scrolled = 0;
addEventListener("scroll", () => {
  clearTimeout(scrolled);
  scrolled = window.setTimeout(() => history.replaceState({ ...history.state, y: scrollY }, ""), 120);
}, { passive: true });
addEventListener("popstate", () => {
  closing = false;
  clearTimeout(scrolled);
  notify();
  restore(history.state?.y ?? 0);
});

// restore scrolls to a place, which may be there only when the data has come; the user's
// hand ends the tries.
function restore(y: number) {
  const end = Date.now() + 3000;
  let wanted = true;
  for (const e of ["wheel", "keydown", "pointerdown"]) addEventListener(e, () => { wanted = false; }, { once: true, passive: true });
  const step = () => {
    if (!wanted) return;
    scrollTo(0, y);
    if (Math.abs(scrollY - y) > 1 && Date.now() < end) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}
if (history.state?.y) restore(history.state.y);

const above = (): string | undefined => history.state?.sheet;
let closing = false;

// step adds a step to the history, in place of a sheet if one is open.
function step(state: object, to: string) {
  if (!above()) history.replaceState({ ...history.state, y: scrollY }, "");
  clearTimeout(scrolled);
  history[above() ? "replaceState" : "pushState"](state, "", to);
}

// useSheet is what lies above the page: filters on a small screen, the palette, the keys. It is
// a step of the history, so that Back closes it first.
export function useSheet(name: string): [boolean, (open: boolean) => void] {
  const [shown, set] = useState(above() === name);
  useEffect(() => {
    const f = () => set(above() === name);
    f();
    listeners.add(f);
    return () => { listeners.delete(f); };
  }, [name]);
  return [shown, (open) => {
    if (closing || open === (above() === name)) return;
    if (open) { step({ y: scrollY, sheet: name }, location.href); notify(); } else { closing = true; history.back(); }
  }];
}

export function go(to: string) {
  step({}, to);
  notify();
  scrollTo(0, 0);
}

// put changes parameters of the address; an empty value removes one. A step that Back
// should undo is pushed, below a sheet that is open.
export function put(values: Record<string, string | undefined>, push = false) {
  const q = new URLSearchParams(location.search);
  for (const [k, v] of Object.entries(values)) {
    if (v) q.set(k, v); else q.delete(k);
  }
  const to = location.pathname + (q.size ? "?" + q : "");
  if (to === location.pathname + location.search) return;
  if (above() && push) {
    const { sheet, ...below } = history.state;
    history.replaceState(below, "", to);
    history.pushState({ ...below, sheet }, "", to);
  } else history[push ? "pushState" : "replaceState"](push ? {} : history.state, "", to);
  notify();
}

// decoded is a part of a path, undefined if it is not encoded right.
export function decoded(part: string): string | undefined {
  try { return decodeURIComponent(part); } catch { return undefined; }
}

// sessionPath is the address of a session: two agents may have one of the same id.
export const sessionPath = (session: string, agent?: string) => "/s/" + encodeURIComponent(session) + (agent ? "?agent=" + encodeURIComponent(agent) : "");

// useMedia reports whether the screen is as a query says.
export function useMedia(query: string): boolean {
  const [is, set] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const m = matchMedia(query), f = () => set(m.matches);
    f();
    m.addEventListener("change", f);
    return () => m.removeEventListener("change", f);
  }, [query]);
  return is;
}

// isTrace tells a task's id from filters.
export const isTrace = (side: string) => /^[0-9a-f]{32}(-[0-9a-f]{8})?$/.test(side);

export function useRoute(): Route {
  const [route, set] = useState(read);
  useEffect(() => {
    const f = () => set(read());
    listeners.add(f);
    return () => { listeners.delete(f); };
  }, []);
  return route;
}
