import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useData, useShown } from "./api";
import { Day } from "./day";
import { clock, dayName, dayOnly, dollars, dollarsIn, duration, foldersOf, place, plural, seen, stamp, tokens } from "./format";
import { useKeys } from "./keys";
import { Prose } from "./markdown";
import { agentNames, Alert, Command, Commands, Facts, labelOf, Link, Mark, Marked, outcome, Problem, say, sentence, Sheet, Sum, Took, usageWords, Wait } from "./parts";
import { go, isTrace, put, sessionPath, useMedia, useRoute, useSheet } from "./route";
import type { Facet, Facets, Header, Listed, Sessions } from "./types";

export const periods: [string, string][] = [["today", "Today"], ["24h", "24 hours"], ["7d", "7 days"], ["30d", "30 days"], ["dates", "Dates…"]];
const costs: [string, string][] = [["0.01", "1 cent or more"], ["0.1", "10 cents or more"], ["1", "$1 or more"], ["10", "$10 or more"]];
const outcomes = ["completed", "failed", "cancelled", "interrupted", "abandoned"];
export const isFiltered = (q: URLSearchParams) => filterNames.some((n) => q.get(n));
export const filterNames = ["project", "agent", "model", "tool", "outcome", "pr", "cost", "when", "from", "to", "text", "failed", "denied", "file", "command", "slower"];

// dayOf returns the beginning of a day such as 2026-01-31.
function dayOf(text: string | null): Date | undefined {
  const t = /^[12]\d{3}-\d\d-\d\d$/.test(text ?? "") ? new Date(text + "T00:00:00") : undefined;
  return t && !Number.isNaN(t.getTime()) ? t : undefined;
}

// mostTasks is how many tasks a list has at most.
export const mostTasks = 5000;

export const needsWord = "The text needs a letter or digit.";

// hasWord reports a text that can be searched for.
export const hasWord = (text: string) => /[\p{L}\p{N}]/u.test(text);

// filtersOf is the address's query without what has no meaning: each view takes it from here.
export function filtersOf(q: URLSearchParams): URLSearchParams {
  const out = new URLSearchParams(q);
  const keep = (name: string, valid: (v: string) => boolean) => { if (out.has(name) && !valid(out.get(name)!)) out.delete(name); };
  keep("cost", (v) => /^\d*\.?\d+$/.test(v) && Number(v) > 0);
  keep("when", (v) => periods.some(([x]) => x === v));
  keep("from", (v) => !!dayOf(v));
  keep("to", (v) => !!dayOf(v));
  keep("limit", (v) => /^\d{1,9}$/.test(v) && Number(v) > 0);
  if (Number(out.get("limit")) > mostTasks) out.set("limit", String(mostTasks));
  return out;
}

// filterQuery turns the filters of the address into those of the API.
export function filterQuery(q: URLSearchParams, more: Record<string, string> = {}): string {
  const out = new URLSearchParams(more);
  for (const name of ["project", "agent", "model", "tool", "outcome", "pr", "text"]) {
    const v = q.get(name);
    if (v && (name !== "text" || hasWord(v))) out.set(name, v);
  }
  if (q.get("cost")) out.set("min-cost", q.get("cost")!);
  for (const name of ["failed", "denied"]) if (q.has(name)) out.set(name, "");
  const now = new Date();
  const days = { "24h": 1, "7d": 7, "30d": 30 }[q.get("when") ?? ""];
  let since: Date | undefined;
  if (days) { since = new Date(Math.floor(now.getTime() / 36e5) * 36e5); since.setDate(since.getDate() - days); }
  if (q.get("when") === "today") since = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  const from = dayOf(q.get("from")), to = dayOf(q.get("to"));
  if (from) since = from;
  if (since) out.set("since", since.toISOString());
  if (to) out.set("until", new Date(to.getFullYear(), to.getMonth(), to.getDate() + 1).toISOString()); // the whole day, which may begin after midnight
  return out.toString();
}

// Filters are the filters of tasks; texts are further fields, children further controls. On a
// phone all but the fields are in a sheet.
export function Filters({ query, text = true, compare, texts, children }: { query: URLSearchParams; text?: boolean; compare?: boolean; texts?: ComponentChildren; children?: ComponentChildren }) {
  const { data } = useData<Facets>("facets");
  const used = filterNames.filter((n) => query.get(n) && (text || n !== "text"));
  const count = used.filter((n) => !["text", "file", "command"].includes(n)).length;
  const phone = useMedia("(max-width: 640px)");
  const [open, setOpen] = useSheet("filters");
  const from = query.get("from") ?? "", to = query.get("to") ?? "";
  const dates = !!(from || to || query.get("when") === "dates");
  const pick = (name: string, label: string, values: [string, string][]) => {
    const v = query.get(name) ?? "";
    if (values.length < 2 && !v) return null;
    return (
      <select aria-label={label} class={v ? "set" : ""} value={v} onChange={(e) => put({ [name]: e.currentTarget.value }, true)}>
        <option value="">{label}</option>
        {v && !values.some(([x]) => x === v) && <option value={v}>{seen(v)}</option>}
        {values.map(([x, shown]) => <option value={x} key={x}>{shown}</option>)}
      </select>
    );
  };
  const flag = (name: string, label: string) => (
    <button class="toggle" aria-pressed={query.has(name)} onClick={() => put({ [name]: query.has(name) ? "" : "1" }, true)}>{label}</button>
  );
  const named = (list: Facet[] | undefined, f = (x: string) => x): [string, string][] => (list ?? []).map((x) => [x.value, f(x.shown)]);
  const whole = (list: [string, string][]): [string, string][] => list.map(([v, shown]) => ["=" + v, shown]); // not parts of names
  const controls = (
    <>
      {pick("project", "Project", named(data?.project, (x) => place(x)))}
      {pick("agent", "Agent", named(data?.agent, (x) => agentNames[x] ?? x))}
      {pick("model", "Model", whole(named(data?.model)))}
      {pick("tool", "Tool", whole(named(data?.tool)))}
      {pick("outcome", "Outcome", outcomes.map((x) => [x, x]))}
      {query.get("pr") && pick("pr", "Any pull request", [])}
      {pick("cost", "Any cost", costs)}
      <select aria-label="Any time" class={dates || query.get("when") ? "set" : ""} value={dates ? "dates" : query.get("when") ?? ""} onChange={(e) => put({ when: e.currentTarget.value, from: "", to: "" }, true)}>
        <option value="">Any time</option>
        {periods.map(([x, shown]) => <option value={x} key={x}>{shown}</option>)}
      </select>
      {dates && (
        <span class="dates">
          <input type="date" aria-label="From" value={from} max={to || undefined} onChange={(e) => put({ when: "dates", from: e.currentTarget.value }, phone)} /> to <input type="date" aria-label="To" value={to} min={from || undefined} onChange={(e) => put({ when: "dates", to: e.currentTarget.value }, phone)} />
          {from && to && from > to && <span class="bad" role="alert">The first day is after the last.</span>}
        </span>
      )}
      {flag("failed", "Failed")}
      {flag("denied", "Denied")}
      {children}
    </>
  );
  return (
    <div class="filters" role="group" aria-label="Filters">
      {text && <Search value={query.get("text") ?? ""} onChange={(v) => put({ text: v })} label="Filter by text" />}
      {texts}
      {text && query.get("text")?.trim() && !hasWord(query.get("text")!) && <span class="warn" role="status">{needsWord}</span>}
      {phone ? <button class="toggle" aria-haspopup="dialog" aria-expanded={open} onClick={() => setOpen(true)}>Filters{count > 0 && ` (${count})`}</button> : controls}
      {phone && open && <Sheet class="bottom" label="Filters" close={() => setOpen(false)}><h2>Filters</h2><div class="filters">{controls}</div><button class="button" onClick={() => setOpen(false)}>Done</button></Sheet>}
      {used.length > 0 && <button class="plain" onClick={() => put(Object.fromEntries(used.map((n) => [n, ""])), true)}>Clear</button>}
      {compare && isFiltered(query) && <button class="plain" title="Compare these tasks with others" onClick={() => compareWith(new URLSearchParams(used.map((n) => [n, query.get(n)!])).toString())}>Compare</button>}
    </div>
  );
}

export function Search({ value, onChange, label, auto }: { value: string; onChange: (v: string) => void; label: string; auto?: boolean }) {
  const [text, set] = useState(value);
  const ref = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  // What was typed comes back as the value; any other value is the address's, after Back.
  const sent = useRef(value);
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    clearTimeout(timer.current);
    set(value);
  }, [value]);
  useEffect(() => {
    if (auto) ref.current?.focus();
    return () => clearTimeout(timer.current); // what was typed belongs to the view that is left
  }, []);
  useKeys({ "/": () => ref.current?.select() });
  return (
    <input ref={ref} type="search" placeholder={label} aria-label={label} value={text} spellcheck={false} onInput={(e) => {
      const v = e.currentTarget.value;
      set(v);
      clearTimeout(timer.current);
      timer.current = window.setTimeout(() => { sent.current = v; onChange(v); }, 180);
    }} />
  );
}

// heads are the columns of tasks, each with the order of the store that it stands for, and its name.
const heads: [string, string?, string?][] = [["took", "time", "Slowest first"], ["tool calls", "failures", "Most failures first"], ["tokens"], ["cost", "cost", "Dearest first"], ["at", "", "Newest first"]];

// Thread is the tasks of a session, the newest first; Line is a line of the list: a session of several tasks, or a task.
interface Thread { key: string; traces: Listed[] }
interface Line { id: string; task: Listed; thread?: Thread; inside?: Listed }

// threads puts the tasks of a session together, the newest session first, running ones
// before all others.
function threads(list: Listed[]): Thread[] {
  const by = new Map<string, Thread>();
  for (const t of list) {
    const key = t.session ? t.summary.host + "\n" + t.session : t.summary.traceId;
    if (!by.has(key)) by.set(key, { key, traces: [] });
    by.get(key)!.traces.push(t);
  }
  const all = [...by.values()];
  const runs = (t: Thread) => t.traces.some((x) => x.status === "running");
  return [...all.filter(runs), ...all.filter((t) => !runs(t))];
}

// sessionOf is the line of a session: its first task's title, the newest one's outcome and the sums of all.
export function sessionOf(t: Thread): Listed {
  const newest = t.traces[0], sum = (f: (s: Listed["summary"]) => number) => t.traces.reduce((n, x) => n + f(x.summary), 0);
  const priced = t.traces.some((x) => x.summary.usage?.costUsd !== undefined);
  const models = [...new Set(t.traces.map((x) => x.summary.model).filter(Boolean))];
  const usage = t.traces.some((x) => x.summary.usage) ? {
    inputTokens: sum((s) => s.usage?.inputTokens ?? 0), outputTokens: sum((s) => s.usage?.outputTokens ?? 0), cacheReadTokens: 0, cacheWriteTokens: 0,
    costUsd: priced ? sum((s) => s.usage?.costUsd ?? 0) : undefined,
  } : undefined;
  return {
    ...newest, status: t.traces.find((x) => x.status === "running")?.status ?? newest.status, reason: t.traces.find((x) => x.reason)?.reason, match: t.traces.find((x) => x.match)?.match,
    summary: {
      ...newest.summary, title: t.traces[t.traces.length - 1].summary.title, model: models.length > 1 ? models.length + " models" : models[0], usage,
      tools: sum((s) => s.tools), toolFailures: sum((s) => s.toolFailures), toolDenials: sum((s) => s.toolDenials), durationMs: sum((s) => s.durationMs), waitedNs: sum((s) => s.waitedNs ?? 0), waiting: t.traces.some((x) => x.summary.waiting),
    },
  };
}

export function SessionsView() {
  const route = useRoute();
  const query = filtersOf(route.query);
  const limit = Number(query.get("limit")) || 100, order = heads.find(([, s]) => s && s === query.get("sort"));
  const { data, error } = useShown<Sessions>("sessions?" + filterQuery(query, { limit: String(limit), ...(order && { sort: order[1]! }) }));
  // The line that is selected, by its id: its place is another one when a task arrives.
  const [at, setAt] = useState("");
  const here = useRef("");
  // Sessions that were folded or unfolded, against what the address says of all.
  const all = query.get("open") === "all";
  const [toggled, setToggled] = useState<Set<string>>(() => new Set(JSON.parse(sessionStorage.getItem("unfolded") ?? "[]") as string[]));
  const beside = useMedia("(min-width: 1600px)"); // room for a task beside the list
  const list = useMemo(() => [...(data?.running ?? []), ...(data?.traces ?? [])], [data]);
  const groups = useMemo(() => (order ? list.map((t) => ({ key: t.summary.traceId, traces: [t] })) : threads(list)), [list, order]); // a session has no place among the dearest tasks
  const isOpen = (t: Thread) => toggled.has(t.key) !== all;
  const blocks = useMemo(() => blocksOf(groups, isOpen, order?.[2]), [groups, toggled, all, order]);
  const flat = useMemo(() => blocks.flatMap((b) => b.lines), [blocks]);
  const keep = (t: Set<string>) => { setToggled(t); sessionStorage.setItem("unfolded", JSON.stringify([...t].slice(-1000))); };
  const unfold = (t: Thread, open = !isOpen(t)) => { const next = new Set(toggled); if (open !== all) next.add(t.key); else next.delete(t.key); keep(next); };
  const select = (n: number) => { const l = flat[n]; if (l) { here.current = l.id; setAt(l.id); } };
  const place = () => flat.findIndex((l) => l.id === here.current);
  const move = (n: number) => () => select(Math.max(0, Math.min(flat.length - 1, place() + n)));
  const errors = (n: number) => () => {
    for (let i = place() + n; i >= 0 && i < flat.length; i += n) { const t = flat[i].task; if (t.bad || flat[i].thread?.traces.some((x) => x.bad) || t.summary.toolFailures || t.summary.toolDenials) { select(i); return; } }
  };
  const now = () => flat[place()] as Line | undefined;
  useKeys({
    j: move(1), k: move(-1), e: errors(1), E: errors(-1),
    l: () => { const t = now()?.thread; if (t) unfold(t, true); },
    h: () => { const l = now(), t = l?.thread ?? groups.find((g) => l?.inside && g.traces.includes(l.task)); if (t) { here.current = "session " + t.key; setAt(here.current); unfold(t, false); } },
    Enter: () => { const l = now(); if (l) go(pathOf(l)); },
    c: () => { const l = now(); if (l) compareWith(l.task.summary.traceId); },
  });
  if (error && !data) return <Problem error={error} />;
  if (!data) return <Wait />;
  if (list.length === 0 && !isFiltered(query)) return <Nothing />;
  const many = groups.some((g) => g.traces.length > 1);
  return (
    <div class={"page tasks" + (beside ? " beside" : "")}>
      <h1 class="hidden">Sessions</h1>
      <Sum totals={data.totals} sessions={data.totals.tasks === data.traces.length ? threads(data.traces).length : undefined} />
      <Filters query={query} compare />
      <Alert error={error} />
      {list.length === 0 && <NoMatch />}
      {(query.get("when") === "today" || (query.get("from") && query.get("from") === query.get("to"))) && <Day sessions={order ? threads([...list].sort((a, b) => (a.summary.started! < b.summary.started! ? 1 : -1))) : groups} tasks={data.totals.tasks + data.running.length} />}
      <div class={beside ? "split" : undefined}>
        <div>
          {list.length > 0 && <Heads sort={order?.[1] ?? ""}>{many && <button class="plain" onClick={() => { keep(new Set()); put({ open: all ? "" : "all" }); }}>{all ? "Fold all sessions" : "Unfold all sessions"}</button>}</Heads>}
          <Blocks blocks={blocks} dated={!!order} at={at} isOpen={isOpen} unfold={unfold} over={beside ? (l) => { here.current = l.id; setAt(l.id); } : undefined} />
          {data.traces.length < data.totals.tasks && (
            <p class="note">{data.traces.length.toLocaleString("en")} of {data.totals.tasks.toLocaleString("en")} tasks. <More limit={limit} /></p>
          )}
        </div>
        {beside && flat.length > 0 && <Preview line={flat.find((l) => l.id === at) ?? flat[0]} />}
      </div>
    </div>
  );
}

const pathOf = (l: Line) => (l.thread ? sessionPath(l.task.session ?? "", l.task.summary.host) : "/t/" + l.task.summary.traceId);

// Preview shows the selected task beside the list, or a session's newest one.
function Preview({ line }: { line: Line }) {
  const { data } = useShown<Header>("traces/" + line.task.summary.traceId);
  if (!data) return <aside class="beside-list" aria-label="Preview" />;
  const s = data.summary;
  return (
    <aside class="beside-list" aria-label="Preview" tabIndex={0}>
      {line.thread && <p class="cap">the newest of {plural(line.thread.traces.length, "task")}</p>}
      <h2><Mark status={data.status} word={outcome(s)} /> <Link to={"/t/" + s.traceId}>{s.title || "untitled"}</Link></h2>
      <p class="facts"><Facts items={[outcome(s), duration(s.durationMs * 1e6), ...usageWords(s.usage), s.model, stamp(s.started)]} /></p>
      {data.problems.slice(0, 5).map((p) => <Link key={p.id} class="hit" to={`/t/${s.traceId}?span=${p.id}`}><Mark status={p.status} /><b>{labelOf(p.label)}</b> <span>{p.message || p.kind || p.detail}</span></Link>)}
      {data.problems.length > 5 && <p class="note">and {data.problems.length - 5}{data.problems.length === 1000 ? "+" : ""} more</p>}
      {data.prompt && <><div class="cap">prompt</div><p class="prose">{data.prompt.slice(0, 1500)}</p></>}
      {(data.answer || data.reason) && <><div class="cap">{data.answer ? "answer" : "why it ended"}</div><Prose text={(data.answer || data.reason!).slice(0, 4000)} doc={data.doc} /></>}
    </aside>
  );
}

// Block is some lines of the list, with the day above the first.
interface Block { key: string; heading: string; lines: Line[] }

const blockLines = 20;

function blocksOf(groups: Thread[], isOpen: (t: Thread) => boolean, order?: string): Block[] {
  const out: Block[] = [];
  let day = "";
  for (const g of groups) {
    const now = g.traces.some((t) => t.status === "running") ? "Running now" : order ?? dayName(g.traces[0].summary.started);
    const lines: Line[] = [];
    if (g.traces.length > 1) lines.push({ id: "session " + g.key, task: sessionOf(g), thread: g });
    if (g.traces.length === 1 || isOpen(g)) for (const task of g.traces) lines.push({ id: task.summary.traceId, task, inside: g.traces.length > 1 ? lines[0].task : undefined });
    for (let i = 0; i < lines.length; i += blockLines) {
      let last = out[out.length - 1];
      if (!last || now !== day || last.lines.length >= blockLines) out.push((last = { key: lines[i].id, heading: now !== day ? now : "", lines: [] }));
      last.lines.push(...lines.slice(i, i + blockLines));
      day = now;
    }
  }
  return out;
}

// drawnAll is up to how many lines all are drawn; of more, those around the screen.
const drawnAll = 150;

// Blocks draws the blocks that can be seen, and keeps the others' room: their height when
// they were drawn, or what they are expected to have.
function Blocks({ blocks, dated, at, isOpen, unfold, over }: { blocks: Block[]; dated: boolean; at: string; isOpen: (t: Thread) => boolean; unfold: (t: Thread) => void; over?: (l: Line) => void }) {
  const money = dollarsIn(blocks.flatMap((b) => b.lines.map((l) => l.task.summary.usage?.costUsd)));
  const box = useRef<HTMLDivElement>(null);
  const known = useRef(new Map<string, number>());
  const [view, setView] = useState([0, 1500]);
  const some = blocks.reduce((n, b) => n + b.lines.length, 0) > drawnAll;
  useLayoutEffect(() => {
    if (!some) return;
    const look = () => { const top = box.current?.getBoundingClientRect().top ?? 0; setView((old) => (Math.abs(old[0] + top) < 200 && old[1] === innerHeight ? old : [-top, innerHeight])); };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => { removeEventListener("scroll", look); removeEventListener("resize", look); };
  }, [some]);
  const height = (b: Block) => known.current.get(b.key + b.lines.length) ?? b.lines.length * 29 + (b.heading ? 42 : 0);
  const tops: number[] = [0];
  for (const b of blocks) tops.push(tops[tops.length - 1] + height(b));
  const from = some ? Math.max(0, tops.findIndex((y) => y > view[0] - 600) - 1) : 0;
  let to = some ? tops.findIndex((y) => y > view[0] + view[1] + 600) : -1;
  if (to < 0) to = blocks.length;
  // Of those that are drawn the height is known from now on.
  useLayoutEffect(() => {
    if (some) for (const e of box.current!.querySelectorAll<HTMLElement>("section")) known.current.set(e.dataset.key!, e.offsetHeight);
  });
  useLayoutEffect(() => {
    const i = at && !over ? blocks.findIndex((b) => b.lines.some((l) => l.id === at)) : -1;
    if (i < 0) return;
    if (i < from || i >= to) scrollTo(0, scrollY + box.current!.getBoundingClientRect().top + tops[i] - innerHeight / 2);
    requestAnimationFrame(() => document.querySelector(".task.at")?.scrollIntoView({ block: "nearest" }));
  }, [at]);
  // A pointer that only passes selects nothing.
  const timer = useRef(0);
  return (
    <div class="list" ref={box} style={some ? { paddingTop: tops[from] + "px", paddingBottom: tops[blocks.length] - tops[to] + "px" } : undefined} onMouseLeave={() => clearTimeout(timer.current)}>
      {blocks.slice(from, to).map((b) => (
        <section key={b.key} data-key={b.key + b.lines.length}>
          {b.heading && <h2 class="day">{b.heading}</h2>}
          {b.lines.map((l) => (
            <div key={l.id} onMouseEnter={over && (() => { clearTimeout(timer.current); timer.current = window.setTimeout(() => over(l), 120); })}>
              <Task task={l.task} money={money} dated={dated} at={l.id === at} thread={l.thread} inside={l.inside} open={l.thread && isOpen(l.thread)} unfold={unfold} />
            </div>
          ))}
        </section>
      ))}
    </div>
  );
}

// More asks for more of a list, up to as many as it has at most.
export const More = ({ limit, most = mostTasks }: { limit: number; most?: number }) => <>{limit < most ? <button class="plain" onClick={() => put({ limit: String(Math.min(most, limit * 4)) })}>Show more</button> : "Filters reach the others."}</>;

// Heads names the columns of tasks; with sort each orders the list.
export const Heads = ({ children, sort }: { children?: ComponentChildren; sort?: string }) => (
  <div class="heads" role={sort === undefined ? undefined : "group"} aria-label={sort === undefined ? undefined : "Order"}>
    {heads.map(([column, order, first]) => (sort === undefined || order === undefined ? <span key={column} aria-hidden="true">{column}</span> : <button key={column} title={first} aria-pressed={sort === order} onClick={() => put({ sort: order }, true)}>{column}</button>))}{children}
  </div>
);

// Task is a line of a task, or with thread that of a session; inside is the session's line, of which nothing is repeated; dated has the day of one that is not of today.
export function Task({ task, money = dollars, dated, at, thread, inside, open, unfold }: { task: Listed; money?: (usd: number) => string; dated?: boolean; at?: boolean; thread?: Thread; inside?: Listed; open?: boolean; unfold?: (t: Thread) => void }) {
  const { summary: s, status, reason, match } = task;
  const find = match && new URLSearchParams(location.search).get("text");
  const o = inside?.summary;
  // It is drawn again only if something in it is another: an agent at work changes one of many.
  const when = dated && dayName(s.started) !== "Today" ? dayOnly(s.started) : clock(s.started), failed = thread?.traces.filter((t) => t.status === "failed").length;
  const content = JSON.stringify([task, find, money(0), at, thread?.traces.length, failed, when, open, s.host && agentNames[s.host], o?.workingDirectory, o?.model]);
  return useMemo(() => (
    <div class={`task ${status}${at ? " at" : ""}${thread ? " session" : ""}${inside ? " inside" : ""}`}>
      {thread ? <button class={"fold " + (open ? "open" : "shut")} aria-expanded={!!open} aria-label={(open ? "Fold" : "Unfold") + " the session's tasks"} onClick={() => unfold?.(thread)} /> : <Mark status={status} word={outcome(s)} />}
      <span class="what">{thread && <Mark status={status} word={outcome(s)} />}<Link to={pathOf({ id: "", task, thread })} class="title" current={at}>{s.title || "untitled"}</Link>{thread && <span class="count">{plural(thread.traces.length, "task")}{!!failed && <>, <span class="bad">{failed} failed</span></>}</span>}{find ? <Link class="why match" to={`/t/${match.traceId}?span=${match.spanId}`}><Marked text={match.snippet} find={find} near /></Link> : reason && <span class={"why" + (status === "failed" ? " bad" : "")}>{reason}</span>}</span>
      <span class="under"><Facts items={[
        (s.waiting || (status !== "ok" && s.outcome !== "failed" && !thread)) && <span class={status === "running" && !s.waiting ? "plain" : "warn"}>{outcome(s)}</span>, !!s.waitedNs && <span class="warn">waited {duration(s.waitedNs)}</span>, s.workingDirectory !== o?.workingDirectory && foldersOf(s).map(place).join(", "), !inside && s.host && (agentNames[s.host] ?? s.host), s.model !== o?.model && s.model,
      ]} /></span>
      <span class="num time" title="how long it took"><Took summary={s} /></span>
      <span class="num tools" title="tool calls"><span class="n">{s.tools ? s.tools.toLocaleString("en") : ""}</span>{s.toolFailures ? <span class="bad" title="failed"> {s.toolFailures}✗</span> : ""}{s.toolDenials ? <span class="warn" title="denied"> {s.toolDenials}⊘</span> : ""}</span>
      <span class="num tokens" title="tokens">{s.usage ? tokens(s.usage.inputTokens + s.usage.outputTokens) : ""}</span>
      <span class="num cost" title="cost">{s.usage?.costUsd !== undefined ? money(s.usage.costUsd) : ""}</span>
      <span class="num clock" title={stamp(s.started)}>{when}</span>
    </div>
  ), [content, unfold]);
}

// compareWith remembers a side, a trace or filters; with the second one the comparison opens.
export function compareWith(side: string) {
  const other = sessionStorage.getItem("compare");
  if (other && other !== side) {
    sessionStorage.removeItem("compare");
    go("/compare?" + new URLSearchParams({ a: other, b: side }));
    return;
  }
  sessionStorage.setItem("compare", side);
  say(isTrace(side) ? "Press c on another task to compare" : "Choose other filters, then Compare");
}

export const NoMatch = () => <div class="empty"><h2>No task matches</h2><p>Fewer filters show more.</p></div>;

// Nothing is shown over an empty store.
export function Nothing({ title = "No traces yet" }: { title?: string }) {
  const { data } = useData<{ noTraces: string; past?: string[]; hooked?: string[] }>("about");
  return (
    <div class="empty">
      <h1>{title}</h1>
      <p>This page shows what your coding agents did as soon as one has worked with hookspan's hooks.</p>
      {!!data?.past?.length && <p>An import would find {data.past.join(", ")}. <Command text="hookspan import" /></p>}
      {data?.hooked && <p>{data.hooked.length ? data.hooked.join(", ") + (data.hooked.length > 1 ? " have" : " has") + " the hooks: tasks appear here by themselves." : <>No agent has the hooks yet. <Command text="hookspan install" /></>}</p>}
      {data && !data.hooked && <p class="dim"><Commands text={sentence(data.noTraces)} /></p>}
    </div>
  );
}
