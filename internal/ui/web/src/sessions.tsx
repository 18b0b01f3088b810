import { useEffect, useRef, useState } from "preact/hooks";
import { useData, useShown } from "./api";
import { clock, dayName, dollars, duration, place, plural, tokens } from "./format";
import { useKeys } from "./keys";
import { agentNames, Commands, Facts, Link, Mark, outcome, Problem, say, sentence, Sum, Wait } from "./parts";
import { go, put, useRoute } from "./route";
import type { Facets, Listed, Sessions } from "./types";

const periods: [string, string][] = [["today", "Today"], ["24h", "24 hours"], ["7d", "7 days"], ["30d", "30 days"], ["dates", "Dates…"]];
const costs: [string, string][] = [["0.01", "1 cent or more"], ["0.1", "10 cents or more"], ["1", "$1 or more"], ["10", "$10 or more"]];
const outcomes = ["completed", "failed", "cancelled", "interrupted", "abandoned"];
export const isFiltered = (q: URLSearchParams) => filterNames.some((n) => q.get(n));
export const filterNames = ["project", "agent", "model", "tool", "outcome", "cost", "when", "from", "to", "text", "failed", "denied"];

// dayOf returns the beginning of a day such as 2026-01-31.
function dayOf(text: string | null): Date | undefined {
  const t = /^\d{4}-\d\d-\d\d$/.test(text ?? "") ? new Date(text + "T00:00:00") : undefined;
  return t && !Number.isNaN(t.getTime()) ? t : undefined;
}

// filterQuery turns the filters of the address into those of the API.
export function filterQuery(q: URLSearchParams, more: Record<string, string> = {}): string {
  const out = new URLSearchParams(more);
  for (const name of ["project", "agent", "model", "tool", "outcome", "text"]) {
    const v = q.get(name);
    if (v) out.set(name, v);
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
  if (to) { to.setDate(to.getDate() + 1); out.set("until", to.toISOString()); } // the whole day
  return out.toString();
}

export function Filters({ query, text = true }: { query: URLSearchParams; text?: boolean }) {
  const { data } = useData<Facets>("facets");
  const used = filterNames.filter((n) => query.get(n) && (text || n !== "text"));
  const count = used.filter((n) => n !== "text").length;
  const [open, setOpen] = useState(false); // on a small screen
  const from = query.get("from") ?? "", to = query.get("to") ?? "";
  const dates = !!(from || to || query.get("when") === "dates");
  const pick = (name: string, label: string, values: [string, string][]) => {
    const v = query.get(name) ?? "";
    if (values.length < 2 && !v) return null;
    return (
      <select aria-label={label} class={v ? "set" : ""} value={v} onChange={(e) => put({ [name]: e.currentTarget.value }, true)}>
        <option value="">{label}</option>
        {v && !values.some(([x]) => x === v) && <option value={v}>{v}</option>}
        {values.map(([x, shown]) => <option value={x} key={x}>{shown}</option>)}
      </select>
    );
  };
  const flag = (name: string, label: string) => (
    <button class="toggle" aria-pressed={query.has(name)} onClick={() => put({ [name]: query.has(name) ? "" : "1" }, true)}>{label}</button>
  );
  const named = (list: string[] | undefined, f = (x: string) => x): [string, string][] => (list ?? []).map((x) => [x, f(x)]);
  return (
    <div class={"filters" + (open ? " open" : "")} role="group" aria-label="Filters">
      {text && <Search value={query.get("text") ?? ""} onChange={(v) => put({ text: v })} label="Filter by text" />}
      <button class="toggle fewer" aria-expanded={open} onClick={() => setOpen(!open)}>Filters{count > 0 && ` (${count})`}</button>
      {pick("project", "Project", named(data?.project, (x) => place(x)))}
      {pick("agent", "Agent", named(data?.agent, (x) => agentNames[x] ?? x))}
      {pick("model", "Model", named(data?.model))}
      {pick("tool", "Tool", named(data?.tool))}
      {pick("outcome", "Outcome", outcomes.map((x) => [x, x]))}
      {pick("cost", "Any cost", costs)}
      <select aria-label="Any time" class={dates || query.get("when") ? "set" : ""} value={dates ? "dates" : query.get("when") ?? ""} onChange={(e) => put({ when: e.currentTarget.value, from: "", to: "" }, true)}>
        <option value="">Any time</option>
        {periods.map(([x, shown]) => <option value={x} key={x}>{shown}</option>)}
      </select>
      {dates && (
        <span class="dates">
          <input type="date" aria-label="From" value={from} max={to || undefined} onChange={(e) => put({ when: "dates", from: e.currentTarget.value })} /> to <input type="date" aria-label="To" value={to} min={from || undefined} onChange={(e) => put({ when: "dates", to: e.currentTarget.value })} />
          {from && to && from > to && <span class="bad" role="alert">The first day is after the last.</span>}
        </span>
      )}
      {flag("failed", "Failed")}
      {flag("denied", "Denied")}
      {used.length > 0 && <button class="plain" onClick={() => put(Object.fromEntries(used.map((n) => [n, ""])), true)}>Clear</button>}
    </div>
  );
}

export function Search({ value, onChange, label, auto }: { value: string; onChange: (v: string) => void; label: string; auto?: boolean }) {
  const [text, set] = useState(value);
  const ref = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  useEffect(() => { if (document.activeElement !== ref.current) set(value); }, [value]);
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
      timer.current = window.setTimeout(() => onChange(v), 180);
    }} />
  );
}

interface Thread { session: string; traces: Listed[] }

// threads puts the turns of a session together, the newest session first, running ones
// before all others.
function threads(list: Listed[]): Thread[] {
  const by = new Map<string, Thread>();
  for (const t of list) {
    const key = t.summary.session || t.summary.traceId;
    if (!by.has(key)) by.set(key, { session: t.summary.session ?? "", traces: [] });
    by.get(key)!.traces.push(t);
  }
  const all = [...by.values()];
  const runs = (t: Thread) => t.traces.some((x) => x.status === "running");
  return [...all.filter(runs), ...all.filter((t) => !runs(t))];
}

export function SessionsView() {
  const { query } = useRoute();
  const limit = Number(query.get("limit")) || 100;
  const { data, error } = useShown<Sessions>("sessions?" + filterQuery(query, { limit: String(limit) }));
  const [at, setAt] = useState(-1);
  const list = [...(data?.running ?? []), ...(data?.traces ?? [])];
  const groups = threads(list);
  const flat = groups.flatMap((g) => g.traces);
  const move = (n: number) => () => setAt((old) => {
    const next = Math.max(0, Math.min(flat.length - 1, old + n));
    requestAnimationFrame(() => document.querySelector(".task.at")?.scrollIntoView({ block: "nearest" }));
    return next;
  });
  const errors = (n: number) => () => setAt((old) => {
    for (let i = old + n; i >= 0 && i < flat.length; i += n) if (flat[i].status === "failed" || flat[i].summary.toolFailures || flat[i].summary.toolDenials) return i;
    return old;
  });
  useKeys({
    j: move(1), k: move(-1), e: errors(1), E: errors(-1),
    Enter: () => flat[at] && go("/t/" + flat[at].summary.traceId),
    c: () => flat[at] && compareWith(flat[at].summary.traceId),
  });
  if (error && !data) return <Problem error={error} />;
  if (!data) return <Wait />;
  if (list.length === 0 && !isFiltered(query)) return <Nothing />;
  let day = "";
  let n = -1;
  return (
    <div class="page">
      <h1 class="hidden">Sessions</h1>
      <Sum totals={data.totals} sessions={data.totals.traces === data.traces.length ? threads(data.traces).length : undefined} />
      <Filters query={query} />
      {error && <p class="note bad" role="alert">{error.message}. {error.hint}</p>}
      {list.length === 0 && <NoMatch />}
      {list.length > 0 && <Heads />}
      <div class="list">
        {groups.map((g) => {
          const first = dayName(g.traces[0].summary.started);
          const now = g.traces.some((t) => t.status === "running") ? "Running now" : first;
          const heading = now !== day ? (day = now) : "";
          return (
            <section key={g.session || g.traces[0].summary.traceId}>
              {heading && <h2 class="day">{heading}</h2>}
              <div class={"thread" + (g.traces.length > 1 ? " many" : "")}>
                {g.traces.map((t, i) => {
                  n++;
                  return <Task key={t.summary.traceId} task={t} at={n === at} turn={i === 0 && g.traces.length > 1 ? g : undefined} />;
                })}
              </div>
            </section>
          );
        })}
      </div>
      {data.traces.length < data.totals.traces && (
        <p class="note">{data.traces.length} of {data.totals.traces.toLocaleString("en")} tasks. <button class="plain" onClick={() => put({ limit: String(Math.min(5000, limit * 4)) })}>Show more</button></p>
      )}
    </div>
  );
}

// Heads names the columns of tasks.
export const Heads = () => <div class="heads" aria-hidden="true">{["took", "tool calls", "tokens", "cost", "at"].map((x) => <span key={x}>{x}</span>)}</div>;

export function Task({ task: { summary: s, status, reason }, at, turn }: { task: Listed; at?: boolean; turn?: Thread }) {
  return (
    <div class={"task " + status + (at ? " at" : "")}>
      <Mark status={status} word={outcome(s)} />
      <Link to={"/t/" + s.traceId} class="title" current={at}>{s.title || "untitled"}</Link>
      <span class="num time" title="how long it took">{duration(s.durationMs * 1e6)}</span>
      <span class="num tools" title="tool calls"><span class="n">{s.tools || ""}</span>{s.toolFailures ? <span class="bad" title="failed"> {s.toolFailures}✗</span> : ""}{s.toolDenials ? <span class="warn" title="denied"> {s.toolDenials}⊘</span> : ""}</span>
      <span class="num tokens" title="tokens">{s.usage ? tokens(s.usage.inputTokens + s.usage.outputTokens) : ""}</span>
      <span class="num cost" title="cost">{s.usage?.costUsd !== undefined ? dollars(s.usage.costUsd) : ""}</span>
      <span class="num clock">{clock(s.started)}</span>
      <div class="under">
        <span><Facts items={[
          place(s.workingDirectory), s.host && (agentNames[s.host] ?? s.host), s.model, status !== "ok" && s.outcome !== "failed" && outcome(s),
          turn && turn.session && <Link to={"/s/" + encodeURIComponent(turn.session)}>{plural(turn.traces.length, "turn")} in this session</Link>,
        ]} /></span>
        {reason && <span class={"why" + (status === "failed" ? " bad" : "")}>{reason}</span>}
      </div>
    </div>
  );
}

// compareWith remembers a trace; with the second one the comparison opens.
export function compareWith(id: string) {
  const other = sessionStorage.getItem("compare");
  if (other && other !== id) {
    sessionStorage.removeItem("compare");
    go(`/compare?a=${other}&b=${id}`);
    return;
  }
  sessionStorage.setItem("compare", id);
  say("Press c on another task to compare");
}

export const NoMatch = () => <div class="empty"><h2>No task matches</h2><p>Fewer filters show more.</p></div>;

// Nothing is shown over an empty store.
export function Nothing({ title = "No traces yet" }: { title?: string }) {
  const { data } = useData<{ noTraces: string }>("about");
  return (
    <div class="empty">
      <h1>{title}</h1>
      <p>This page shows what your coding agents did as soon as one has worked with hookspan's hooks.</p>
      {data && <p class="dim"><Commands text={sentence(data.noTraces)} /></p>}
    </div>
  );
}
