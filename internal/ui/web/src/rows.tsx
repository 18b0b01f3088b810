import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { put } from "./route";
import type { Tree } from "./waterfall";

export type Range = [number, number];

// The names of tools that edit files and that run commands, over all agents.
const kinds: Record<string, RegExp> = { edits: /^(?!.*todo).*(edit|write|patch|replace|create_?file|^create$)/i, shell: /bash|shell|exec|terminal|command/i };
const selects: [string, string, [string, string][]][] = [
  ["kind", "All rows", [["edits", "Edits"], ["shell", "Shell"], ["requests", "Requests"], ["subagent", "In subagents"]]],
  ["slower", "Any time", [["1", "1 s or slower"], ["10", "10 s or slower"], ["60", "1 min or slower"]]],
  ["dearer", "Any cost", [["0.01", "1 cent or more"], ["0.1", "10 cents or more"], ["1", "$1 or more"]]],
  ["sort", "As it happened", [["cost", "Dearest first"], ["time", "Slowest first"]]],
];
const noFilter = { kind: "", slower: "", dearer: "", sort: "", fails: "" };

// Chosen are the rows that are shown, in their order, and the place of each of them; passes
// reports whether the zoom and the filters let a row through, folded or not. In a flat list
// no row is below another.
export interface Chosen { rows: Int32Array; place: Int32Array; flat: boolean; passes(row: number): boolean }

// useChosen applies the filters of the address, the zoom and the folds.
export function useChosen(tree: Tree | undefined, folded: Set<number>, zoom: Range | undefined, query: URLSearchParams): Chosen | undefined {
  const key = Object.keys(noFilter).map((n) => query.get(n) ?? "").join("|");
  return useMemo(() => {
    if (!tree) return undefined;
    const { c, n, end, cost } = tree;
    const value = (name: string) => (selects.find(([s]) => s === name)?.[2].some(([v]) => v === query.get(name)) ? query.get(name)! : "");
    const kind = value("kind"), slower = Number(value("slower")) * 1e6, dearer = Number(value("dearer")), sort = value("sort"), fails = query.has("fails");
    const flat = !!(kind || slower || dearer || sort || fails);
    const labels = kinds[kind] && c.labels.map((l) => kinds[kind].test(l));
    const within = new Uint8Array(kind === "subagent" ? n : 0);
    if (within.length) for (let i = 0; i < n; i++) if (c.kinds[c.kind[i]] === "agent") within.fill(1, i, end[i]);
    const passes = (i: number) => {
      const k = c.kinds[c.kind[i]];
      if (zoom && (c.at[i] > zoom[1] || (c.took[i] >= 0 || k === "event" ? c.at[i] + Math.max(0, c.took[i]) < zoom[0] : false))) return false;
      if (!flat) return true;
      return k !== "run" && k !== "no root" && (k !== "event" || (!!cost[i] && !kind) || (fails && !c.bad[c.status[tree.parent[i]]])) && (!labels || (k === "tool" && labels[c.label[i]])) && (kind !== "requests" || k === "chat") && (!within.length || !!within[i])
        && (!slower || c.took[i] >= slower) && cost[i] >= dearer && (!fails || c.bad[c.status[i]]);
    };
    const rows = new Int32Array(n), place = new Int32Array(n).fill(-1);
    let k = 0;
    for (let i = 0; i < n; i = !flat && folded.has(i) ? end[i] : i + 1) if (passes(i)) rows[k++] = i;
    const shown = rows.subarray(0, k);
    if (sort) shown.sort(sort === "cost" ? (a, b) => cost[b] - cost[a] || a - b : (a, b) => c.took[b] - c.took[a] || a - b);
    for (let i = 0; i < k; i++) place[shown[i]] = i;
    return { rows: shown, place, flat, passes };
  }, [tree, folded, zoom, key]);
}

// showAll removes what hides rows.
export const showAll = () => put({ ...noFilter, zoom: "" });

export function RowFilters({ query }: { query: URLSearchParams }) {
  return (
    <div class="row-filters" role="group" aria-label="Rows">
      <button class="toggle" aria-pressed={query.has("fails")} onClick={() => put({ fails: query.has("fails") ? "" : "1" }, true)}>Failed</button>
      {selects.map(([name, label, values]) => (
        <select key={name} aria-label={label} class={query.get(name) ? "set" : ""} value={query.get(name) ?? ""} onChange={(e) => put({ [name]: e.currentTarget.value }, true)}>
          <option value="">{label}</option>
          {values.map(([v, shown]) => <option key={v} value={v}>{shown}</option>)}
        </select>
      ))}
      {Object.keys(noFilter).some((n) => query.get(n)) && <button class="plain" onClick={() => put(noFilter, true)}>Clear</button>}
    </div>
  );
}

const bins = 300;

// Overview is the whole task in a strip: how many calls and requests there were, where some
// failed, and what the waterfall shows of it. A drag selects a part or moves it, the wheel zooms.
export function Overview({ tree, zoom, setZoom }: { tree: Tree; zoom?: Range; setZoom: (z?: Range) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const drag = useRef<{ from: number; part?: Range } | undefined>(undefined);
  const [moving, setMoving] = useState<Range>();
  const paths = useMemo(() => {
    const { c, n } = tree, of = { tool: new Float64Array(bins), chat: new Float64Array(bins), bad: new Float64Array(bins), warn: new Float64Array(bins) };
    for (let i = 0; i < n; i++) {
      const k = c.kinds[c.kind[i]], status = c.statuses[c.status[i]];
      if (k !== "tool" && k !== "chat") continue;
      const b = Math.max(0, Math.min(bins - 1, Math.floor(tree.scale.of(c.at[i]) * bins)));
      of[k][b]++;
      if (c.bad[c.status[i]]) of[status === "failed" ? "bad" : "warn"][b]++;
    }
    let most = 1;
    for (let b = 0; b < bins; b++) most = Math.max(most, of.tool[b] + of.chat[b]);
    const height = (v: number) => 30 * Math.sqrt(v / most);
    const part = (b: number, n: number) => n && Math.max(3, (height(of.tool[b] + of.chat[b]) * n) / (of.tool[b] + of.chat[b]));
    const draw = (f: (b: number) => [number, number]) => { let d = ""; for (let b = 0; b < bins; b++) { const [from, to] = f(b); if (to > from) d += `M${b} ${(32 - from).toFixed(1)}h1V${(32 - to).toFixed(1)}h-1z`; } return d; };
    return [
      <path key="tool" class="tool" d={draw((b) => [0, height(of.tool[b])])} />, <path key="chat" class="chat" d={draw((b) => [height(of.tool[b]), height(of.tool[b] + of.chat[b])])} />,
      // What failed, was denied or never ended is as high as its share.
      <path key="bad" class="bad" d={draw((b) => [0, part(b, of.bad[b])])} />, <path key="warn" class="warn" d={draw((b) => [part(b, of.bad[b]), part(b, of.bad[b]) + part(b, of.warn[b])])} />,
    ];
  }, [tree]);
  const whole = (): Range => [0, tree.scale.at(1)];
  const place = (e: MouseEvent) => { const r = box.current!.getBoundingClientRect(); return Math.max(0, Math.min(1, (e.clientX - r.left) / r.width)); };
  const part = (a: number, b: number): Range | undefined => (Math.abs(b - a) < 0.004 ? undefined : [tree.scale.at(Math.max(0, Math.min(a, b))), tree.scale.at(Math.min(1, Math.max(a, b)))]);
  const now = moving ?? zoom;
  const [x0, x1] = now ? now.map(tree.scale.of) : [0, 1];
  const wheel = (e: WheelEvent) => {
    e.preventDefault();
    const [a, b] = (zoom ?? whole()).map(tree.scale.of), at = place(e);
    const by = Math.abs(e.deltaX) > Math.abs(e.deltaY) ? 1 : Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300)));
    const shift = by === 1 ? (e.deltaX / 800) * (b - a) : 0;
    const from = at - (at - a) * by + shift, to = at + (b - at) * by + shift;
    setZoom(to - from >= 1 ? undefined : part(from, to) ?? zoom);
  };
  const latest = useRef(wheel);
  latest.current = wheel;
  useEffect(() => {
    const el = box.current!, f = (e: WheelEvent) => latest.current(e);
    el.addEventListener("wheel", f, { passive: false });
    return () => el.removeEventListener("wheel", f);
  }, []);
  return (
    <div class="overview-strip" ref={box} aria-hidden="true" title="Drag to see a part, turn the wheel to zoom"
      onPointerDown={(e) => {
        const at = place(e);
        drag.current = { from: at, part: zoom && at > x0 && at < x1 ? [x0, x1] : undefined };
        e.currentTarget.setPointerCapture(e.pointerId);
      }}
      onPointerMove={(e) => {
        const d = drag.current;
        if (!d) return;
        const by = d.part ? Math.max(-d.part[0], Math.min(1 - d.part[1], place(e) - d.from)) : 0;
        setMoving(d.part ? part(d.part[0] + by, d.part[1] + by) : part(d.from, place(e)));
      }}
      onPointerUp={() => { if (drag.current && (moving || !drag.current.part)) setZoom(moving); drag.current = undefined; setMoving(undefined); }}
      onPointerCancel={() => { drag.current = undefined; setMoving(undefined); }}
      onDblClick={() => setZoom()}>
      <svg viewBox={`0 0 ${bins} 32`} preserveAspectRatio="none">{paths}</svg>
      {now && <><i style={{ left: 0, width: x0 * 100 + "%" }} /><i style={{ left: x1 * 100 + "%", right: 0 }} /><b style={{ left: x0 * 100 + "%", width: (x1 - x0) * 100 + "%" }} /></>}
    </div>
  );
}
