import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "./api";
import { dollars, duration, plural } from "./format";
import { labelOf } from "./parts";
import { Overview, type Chosen } from "./rows";
import type { Columns, Kind, Line, Problem, Status } from "./types";

// Rows are the rows of a trace, a list for each property. Times are microseconds from
// the trace's start; took is -1 where the end is unknown.
export interface Rows {
  labels: string[]; kinds: Kind[]; statuses: Status[]; bad: boolean[]; depth: Uint16Array; label: Uint32Array; kind: Uint8Array; status: Uint8Array;
  at: Float64Array; took: Float64Array; cost: Record<string, number>; waits: Record<string, [number, number]>;
}

// Tree is what the waterfall derives from the rows. A row is a number in one version of
// them; its id, the span's and for an event also its number, stays.
export interface Tree {
  c: Rows; n: number; version: number; parent: Int32Array; end: Int32Array; cost: Float64Array; scale: Scale;
  idOf(row: number): string; rowOf(id: string): number;
}

// idsOf returns the functions that name rows. What they need is made when it is first used.
function idsOf(text: string, n: number, parent: Int32Array, isEvent: (row: number) => boolean) {
  let bytes: DataView | undefined, first: Map<number, number> | undefined;
  const words = () => (bytes ??= new DataView(bytesOf(text)));
  const span = (row: number) => [0, 4].map((at) => words().getUint32(8 * row + at).toString(16).padStart(8, "0")).join("");
  const events = (row: number, until: number) => {
    let count = 0, i = row + 1;
    for (; i < n && parent[i] >= row; i++) if (parent[i] === row && isEvent(i) && (++count === until || i === -until)) break;
    return { count, at: i };
  };
  return {
    idOf: (row: number) => (isEvent(row) ? span(row) + "." + events(parent[row], -row).count : span(row)),
    rowOf(id: string) {
      const m = /^([0-9a-f]{8})([0-9a-f]{8})(?:\.([1-9]\d*))?$/.exec(id);
      if (!m) return -1;
      if (!first) {
        first = new Map();
        for (let i = n - 1; i >= 0; i--) if (!isEvent(i)) first.set(words().getUint32(8 * i) * 0x200000 + (words().getUint32(8 * i + 4) & 0x1fffff), i);
      }
      const row = first.get(parseInt(m[1], 16) * 0x200000 + (parseInt(m[2], 16) & 0x1fffff)) ?? -1;
      if (row < 0 || span(row) !== m[1] + m[2]) return -1;
      if (!m[3]) return row;
      const { count, at } = events(row, Number(m[3]));
      return count === Number(m[3]) ? at : -1;
    },
  };
}

// bytesOf decodes base64.
function bytesOf(text: string): ArrayBuffer {
  const s = atob(text), out = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) out[i] = s.charCodeAt(i);
  return out.buffer;
}

function rowsOf(c: Columns): Rows {
  const times = (text: string) => {
    const units = new Uint32Array(bytesOf(text)), out = new Float64Array(units.length);
    for (let i = 0; i < units.length; i++) out[i] = units[i] === 0xffffffff ? -1 : units[i] * c.unit;
    return out;
  };
  return {
    labels: c.labels, kinds: c.kinds, statuses: c.statuses, bad: c.bad, cost: c.cost, depth: new Uint16Array(bytesOf(c.depth)), label: new Uint32Array(bytesOf(c.label)),
    kind: new Uint8Array(bytesOf(c.kind)), status: new Uint8Array(bytesOf(c.status)), at: times(c.at), took: times(c.took),
    waits: Object.fromEntries(Object.entries(c.waits).map(([row, [from, to]]) => [row, [from * c.unit, to * c.unit]])),
  };
}

// Scale maps microseconds to a place from 0 to 1; idle time is folded.
export interface Scale { total: number; gaps: { at: number; to: number; x: number; w: number }[]; of(t: number): number; at(x: number): number }

const idleLeast = 5e6;

// byTime returns the rows in the order of their start. Most are in it already.
function byTime(at: Float64Array, rows: Uint32Array): Uint32Array {
  let sorted = true;
  for (let i = 1; i < rows.length && sorted; i++) sorted = at[rows[i - 1]] <= at[rows[i]];
  return sorted ? rows : rows.sort((a, b) => at[a] - at[b]);
}

function scaleOf(c: Rows, n: number, end: Int32Array): Scale {
  const busy = new Uint32Array(n);
  let count = 0, last = 0;
  const ended = (i: number) => c.at[i] + Math.max(0, c.took[i]);
  for (let i = 0; i < n; i++) {
    const kind = c.kinds[c.kind[i]];
    last = Math.max(last, ended(i));
    if (kind === "run" || kind === "no root" || (kind === "agent" && end[i] > i + 1)) continue;
    busy[count++] = i;
  }
  const gaps: Scale["gaps"] = [];
  let until = 0, idle = 0;
  const from = (t: number) => {
    if (t - until > Math.max(idleLeast, last * 0.12)) { gaps.push({ at: until, to: t, x: 0, w: 0 }); idle += t - until; }
  };
  for (const i of byTime(c.at, busy.subarray(0, count))) {
    from(c.at[i]);
    until = Math.max(until, ended(i));
  }
  from(last);
  const width = Math.max(1, (last - idle) * 0.05);
  const total = Math.max(1, last - idle + gaps.length * width);
  let before = 0;
  for (const g of gaps) {
    g.x = (g.at - before) / total;
    g.w = width / total;
    before += g.to - g.at - width;
  }
  return {
    total, gaps,
    of(t) {
      let less = 0;
      for (const g of gaps) {
        if (t <= g.at) break;
        const inside = Math.min(t, g.to) - g.at;
        less += inside - (inside / (g.to - g.at)) * width;
      }
      return (t - less) / total;
    },
    // at is the time at a place: the inverse of of.
    at(x) {
      let t = x * total;
      for (const g of gaps) {
        if (x <= g.x) break;
        t += x < g.x + g.w ? ((x - g.x) / g.w) * (g.to - g.at - width) : g.to - g.at - width;
      }
      return t;
    },
  };
}

export function treeOf(columns: Columns): Tree {
  const c = rowsOf(columns), n = c.kind.length;
  const parent = new Int32Array(n), end = new Int32Array(n), cost = new Float64Array(n);
  const path: number[] = [];
  for (let i = 0; i < n; i++) {
    const d = c.depth[i];
    for (let k = d; k < path.length; k++) end[path[k]] = i;
    path.length = d;
    parent[i] = d > 0 ? path[d - 1] : -1;
    path[d] = i;
  }
  for (const i of path) end[i] = n;
  for (const [i, usd] of Object.entries(c.cost)) cost[Number(i)] = usd;
  for (let i = n - 1; i >= 0; i--) if (parent[i] >= 0) cost[parent[i]] += cost[i];
  const event = c.kinds.indexOf("event");
  return { c, n, version: columns.version, parent, end, cost, scale: scaleOf(c, n, end), ...idsOf(columns.id, n, parent, (i) => c.kind[i] === event && parent[i] >= 0) };
}

const rowHeight = 28;
const pageLines = 200;

interface Props {
  trace: string; tree: Tree; chosen: Chosen; lines: { get(page: number): Line[] | undefined }; fresh: Map<number, Line[]>; loadLines: (page: number) => void; selected: number; select: (row: number, open?: boolean) => void;
  folded: Set<number>; fold: (row: number, on: boolean) => void; zoom?: [number, number]; setZoom: (z?: [number, number]) => void; problems: Problem[]; matches: Set<number>;
}

export function Waterfall({ tree, chosen, lines, fresh, loadLines, selected, select, folded, fold, zoom, setZoom, problems, matches }: Props) {
  const { c, n, end } = tree;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [width, setWidth] = useState(500);
  const axis = useRef<HTMLDivElement>(null);
  const { rows: shown, place, flat } = chosen;

  // What is known of failures before their texts are there.
  const known = useMemo(() => new Map(problems.map((p) => [p.row, p])), [problems]);

  useLayoutEffect(() => {
    const el = box.current!;
    const measure = () => { setHeight(el.clientHeight); setWidth(axis.current!.clientWidth); };
    const seen = new ResizeObserver(measure);
    seen.observe(el);
    measure();
    return () => seen.disconnect();
  }, []);
  const before = useRef(-1);
  useLayoutEffect(() => {
    const el = box.current!, k = selected >= 0 ? place[selected] : -1;
    if (k < 0) return;
    const y = k * rowHeight;
    const room = el.clientHeight;
    if (y < el.scrollTop || y + rowHeight > el.scrollTop + room) {
      const near = Math.abs(y - before.current) < rowHeight * 2;
      el.scrollTop = near ? (y < el.scrollTop ? y : y + rowHeight - room) : Math.max(0, y - room * 0.4);
      setTop(el.scrollTop);
    }
    before.current = y;
  }, [selected, place]);

  const first = Math.max(0, Math.floor(top / rowHeight) - 6);
  const last = Math.min(shown.length, first + Math.min(96, Math.ceil(height / rowHeight) + 14));
  const rows = [...shown.subarray(first, last)];
  const wanted = [...new Set(rows.map((i) => Math.floor(i / pageLines)))].filter((p) => !fresh.has(p)).join();
  useLayoutEffect(() => { if (wanted) wanted.split(",").forEach((p) => loadLines(Number(p))); }, [wanted, tree]);

  const [z0, z1] = zoom ? [tree.scale.of(zoom[0]), Math.max(tree.scale.of(zoom[0]) + 1e-9, tree.scale.of(zoom[1]))] : [0, 1];
  const x = (t: number) => (tree.scale.of(t) - z0) / (z1 - z0);
  const marks = useMemo(() => (flat ? [] : marksOf(tree, shown)), [tree, shown]);
  const ticks = useTicks(tree, z0, z1, width, zoom);
  const gaps = tree.scale.gaps.map((g) => ({ ...g, x: (g.x - z0) / (z1 - z0), w: g.w / (z1 - z0) })).filter((g) => g.x + g.w > 0 && g.x < 1);

  return (
    <div class="waterfall">
      <Overview tree={tree} zoom={zoom} setZoom={setZoom} />
      <div class="axis" aria-hidden="true">
        <span class="axis-tree">{shown.length < n && (flat || zoom) ? shown.length.toLocaleString("en") + " of " : ""}{plural(n, "row")}{zoom && <button class="plain" tabIndex={-1} onClick={() => setZoom()}>zoom out</button>}</span>
        <span class="axis-cost">cost</span>
        <div class="track" ref={axis}>
          {ticks.map((t) => <span class="tick" key={t.x} style={{ left: t.x * 100 + "%" }}>{t.text}</span>)}
          {gaps.map((g) => <span class="idle" key={g.at} style={{ left: g.x * 100 + "%", width: g.w * 100 + "%" }} title={duration((g.to - g.at) * 1000) + " idle"}><b>{duration((g.to - g.at) * 1000).replace(/(m|h)\d+.$/, "$1")}</b></span>)}
        </div>
      </div>
      <div class="rows-box">
        <div class="rows" ref={box} role="tree" aria-label="Steps" tabIndex={0} aria-activedescendant={selected >= 0 ? "row" + selected : undefined}
          onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
          <div role="presentation" class="spacer" style={{ height: shown.length * rowHeight + "px" }}>
            <div role="presentation" class="grid-lines" style={{ height: rows.length * rowHeight + "px", transform: `translateY(${first * rowHeight}px)` }}>
              <i class="track" role="presentation">
                {ticks.map((t) => <i class="line" key={t.x} style={{ left: t.x * 100 + "%" }} />)}
                {gaps.map((g) => <i class="idle" key={g.at} style={{ left: g.x * 100 + "%", width: g.w * 100 + "%" }} />)}
              </i>
            </div>
            {rows.map((i, k) => {
              const kind = c.kinds[c.kind[i]], status = c.statuses[c.status[i]];
              const failure = known.get(i);
              const old = lines.get(Math.floor(i / pageLines))?.[i % pageLines];
              // A line of the rows before may be another row's.
              const line = (old && (kind === "event" || old.id === tree.idOf(i)) ? old : undefined) ?? (failure && { text: failure.detail, note: failure.message || failure.kind });
              const open = !flat && end[i] > i + 1 ? !folded.has(i) : undefined;
              const depth = flat ? 0 : Math.min(c.depth[i], 12);
              const took = c.took[i], from = x(c.at[i]), to = took >= 0 ? x(c.at[i] + took) : kind === "event" ? from : 1;
              const wait = c.waits[i];
              // The time is behind the bar, before it where there is no room, else in it.
              const time = took >= 0 ? duration(took * 1000) : "", room = (time.length * 6.6 + 14) / Math.max(1, width);
              const inside = to + room > 1, ahead = from > room;
              return (
                <div key={i} id={"row" + i} role="treeitem" aria-level={flat ? 1 : c.depth[i] + 1} aria-selected={i === selected} aria-expanded={open}
                  class={`row k-${kind.replace(" ", "")} ${status} ${i === selected ? "selected" : ""} ${matches.has(i) ? "match" : ""}`}
                  style={{ transform: `translateY(${(first + k) * rowHeight}px)` }} onClick={() => select(i, true)}>
                  <span class="what" style={{ paddingLeft: 8 + depth * 15 + "px" }}>
                    {Array.from({ length: depth }, (_, d) => <i class="guide" key={d} style={{ left: 15 + d * 15 + "px" }} />)}
                    <span class={"fold" + (open === undefined ? "" : open ? " open" : " shut")} onClick={(e) => {
                      if (open === undefined) return;
                      e.stopPropagation();
                      fold(i, open);
                    }} />
                    <span class="dot" />
                    <span class="label">{labelOf(c.labels[c.label[i]])}</span>
                    {open === false && <span class="count">{(end[i] - i - 1).toLocaleString("en")}</span>}
                    {line?.note ? <span class="note">{line.note}</span> : null}
                    <span class="text">{line?.text ?? ""}</span>
                  </span>
                  <span class="cost">{tree.cost[i] ? dollars(tree.cost[i]) : ""}</span>
                  <span class="track">
                    {from <= 1 && to >= 0 && <i class="bar" style={{ left: kind === "event" ? `clamp(4px, ${from * 100}%, 100% - 6px)` : Math.max(0, from) * 100 + "%", width: Math.max(0, Math.min(1, to) - Math.max(0, from)) * 100 + "%" }} />}
                    {wait && <i class="waiting" style={{ left: Math.max(0, x(wait[0])) * 100 + "%", width: Math.max(0, Math.min(1, x(wait[1])) - Math.max(0, x(wait[0]))) * 100 + "%" }} />}
                    {took >= 0 && kind !== "event" && from <= 1 && to >= 0 && (
                      <span class={"took" + (inside ? (ahead ? " left" : " in") : "")} style={inside ? (ahead ? { right: (1 - from) * 100 + "%" } : { right: Math.max(0, 1 - to) * 100 + "%" }) : { left: Math.max(0, to) * 100 + "%" }}>{time}</span>
                    )}
                  </span>
                </div>
              );
            })}
          </div>
        </div>
        <div class="ruler" aria-hidden="true">
          {marks.map((m) => <i key={m.y} class={m.failed ? "failed" : ""} style={{ top: m.y * 100 + "%", opacity: m.share }} onClick={() => select(m.row)} />)}
        </div>
      </div>
    </div>
  );
}

// marksOf places what failed beside the scroll bar, in at most 200 places: the more of a place failed, the stronger is its mark.
function marksOf(tree: Tree, shown: Int32Array) {
  const by = new Map<number, { y: number; row: number; failed: boolean; n: number; share: number }>(), places = Math.min(200, shown.length);
  shown.forEach((i, k) => {
    const status = tree.c.statuses[tree.c.status[i]], kind = tree.c.kinds[tree.c.kind[i]];
    if (!tree.c.bad[tree.c.status[i]] || kind === "run") return;
    const at = Math.floor((places * k) / shown.length), m = by.get(at) ?? { y: at / places, row: i, failed: false, n: 0, share: 0 };
    if (status === "failed" && !m.failed) Object.assign(m, { row: i, failed: true });
    m.n++;
    by.set(at, m);
  });
  const rows = Math.max(1, shown.length / places);
  return [...by.values()].map((m) => ({ ...m, share: 0.3 + 0.7 * Math.min(1, m.n / rows) }));
}

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * 1e3).concat([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((n) => n * 1e6));

function useTicks(tree: Tree, z0: number, z1: number, width: number, zoom?: [number, number]) {
  return useMemo(() => {
    const span = (z1 - z0) * tree.scale.total;
    const few = Math.max(3, Math.min(6, Math.floor(width / 60)));
    const step = steps.find((s) => span / s <= few) ?? 86400e6 * Math.ceil(span / 86400e6 / few);
    const out: { x: number; text: string }[] = [];
    const most = zoom ? zoom[1] : tree.scale.total + tree.scale.gaps.reduce((n, g) => n + g.to - g.at, 0);
    let free = -1; // where the label before ends
    for (let t = Math.ceil((zoom?.[0] ?? 0) / step) * step; t <= most && out.length < 40; t += step) {
      const gap = tree.scale.gaps.find((g) => t > g.at && t < g.to);
      if (gap) { t = Math.max(t, Math.ceil(gap.to / step) * step - step); continue; }
      const x = (tree.scale.of(t) - z0) / (z1 - z0);
      const text = t === 0 ? "0" : duration(t * 1000).replace(/m00s$/, "m").replace(/h00m$/, "h").replace(/\.0s$/, "s");
      const end = x + (text.length * 6.6 + 8) / Math.max(1, width);
      const folded = tree.scale.gaps.some((g) => (g.x - z0) / (z1 - z0) < end && (g.x + g.w - z0) / (z1 - z0) > x);
      if (x < 0 || end > 1 || x < free || folded) continue;
      free = end;
      out.push({ x, text });
    }
    return out;
  }, [tree, z0, z1, width, zoom]);
}

// useLines keeps the texts of the rows that were shown.
export function useLines(trace: string, version: number | undefined) {
  type Pages = Map<number, Line[]>;
  // fresh are those of the current rows, old those shown until these are there.
  const [state, set] = useState<{ version?: number; fresh: Pages; old: Pages }>({ fresh: new Map(), old: new Map() });
  const asked = useRef(new Map<string, Promise<Line[]>>());
  const fresh: Pages = state.version === version ? state.fresh : new Map();
  const lines = { get: (page: number) => fresh.get(page) ?? state.fresh.get(page) ?? state.old.get(page) };
  const load = (page: number): Promise<Line[]> => {
    const key = version + " " + page;
    let answer = asked.current.get(key);
    if (!answer) {
      answer = get<Line[]>(`traces/${trace}/lines?from=${page * pageLines}`);
      asked.current.set(key, answer);
      answer.then(
        (got) => set((was) => (was.version === version ? { ...was, fresh: new Map(was.fresh).set(page, got) } : { version, fresh: new Map([[page, got]]), old: was.fresh })),
        () => asked.current.delete(key),
      );
    }
    return answer;
  };
  return { lines, fresh, load };
}
