import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useData, useShown } from "./api";
import { ago, clock, dayName, dollars, dollarsIn, duration, place, placesOf, plural, seen, stamp, tenths, tokens } from "./format";
import { amount, columns, dearest, forATask, Groups, money, most, ofDearest, ofPlan, picks, Plan, spent, timed, windowOf } from "./groups";
import { agentNames, Alert, cached, Commands, copy, Facts, Link, Mark, Marked, outcome, Problem, Projects, share, Sum, Wait } from "./parts";
import { go, isTrace, put, useRoute } from "./route";
import { filterQuery, Filters, filtersOf, hasWord, Heads, isFiltered, More, needsWord, NoMatch, Nothing, periods, Search, sessionOf, Task } from "./sessions";
import type { Compared, Group, Hit, Listed, Point, Status, Step, Totals } from "./types";
import { setTitle } from "./title";

// Session: the tasks in order, with the context's size and the cost over them.
export function SessionView({ id }: { id: string }) {
  const { query } = useRoute();
  const { data, error } = useData<{ traces: Listed[]; totals: Totals; points: Point[]; resume?: string }>("session/" + encodeURIComponent(id) + "?agent=" + encodeURIComponent(query.get("agent") ?? ""));
  useEffect(() => { setTitle("Session · hookspan"); });
  if (error && !data) return <Problem error={error.status === 404 ? Object.assign(error, { message: "there is no such session" }) : error} />;
  if (!data) return <Wait />;
  const first = data.traces[0].summary, whole = sessionOf({ key: "", traces: [...data.traces].reverse() });
  const before = data.totals.tasks - data.traces.length, costs = dollarsIn(data.traces.map((t) => t.summary.usage?.costUsd));
  return (
    <div class="page">
      <nav class="crumbs" aria-label="Place"><Projects of={data.traces[0]} /></nav>
      <h1>{first.title || "Session"}</h1>
      <p class="facts"><Facts items={[first.host && (agentNames[first.host] ?? first.host), whole.summary.model, stamp(first.started)]} /> <span class="acts">{data.resume && <button class="plain" title={data.resume} onClick={() => copy(data.resume!)}>Copy resume command</button>}<button class="plain" onClick={() => copy(location.href)}>Copy link</button></span></p>
      <Sum totals={data.totals} />
      <Context points={data.points} nth={(id) => before + 1 + data.traces.findIndex((t) => t.summary.traceId === id)} />
      <Heads />
      <h2 class="day">{before > 0 && "The last " + data.traces.length.toLocaleString("en") + " of "}{plural(data.totals.tasks, "task")}</h2>
      <div class="list turns">{data.traces.map((t, i) => <div class="turn" key={t.summary.traceId}><span class="nth">{before + i + 1}</span><Task task={t} inside={whole} money={costs} /></div>)}</div>
      <dl class="ids"><dt>session</dt><dd>{seen(id)}</dd></dl>
    </div>
  );
}

const mostBars = 800;

// fewer puts requests side by side in one task together, so that there are not too many bars: the largest stands for them.
function fewer(points: Point[]): Point[] {
  const out: Point[] = [], each = Math.ceil(points.length / mostBars);
  let n = 0;
  for (const p of points) {
    const last = out[out.length - 1];
    if (n && n < each && !p.compact && !last.compact && last.traceId === p.traceId) {
      out[out.length - 1] = { ...(p.tokens > last.tokens ? p : last), costUsd: last.costUsd + p.costUsd };
      n++;
    } else { out.push(p); n = 1; }
  }
  return out;
}

// Context draws the size of each request's input, one bar a request.
function Context({ points: all, nth }: { points: Point[]; nth: (trace: string) => number }) {
  const [at, setAt] = useState(-1);
  const requests = all.filter((p) => !p.compact), points = useMemo(() => fewer(all), [all]);
  if (requests.length < 2) return null;
  const most = Math.max(...requests.map((p) => p.tokens), 1);
  const width = 1000, w = width / points.length;
  let spent = 0;
  const total = all.reduce((n, p) => n + p.costUsd, 0); // A compaction at the end has what came after it.
  const line = points.map((p, i) => { spent += p.costUsd; return `${i ? "L" : "M"}${((i + 0.5) * w).toFixed(1)},${(100 - 96 * share(spent, total)).toFixed(1)}`; }).join("");
  const p = at >= 0 ? points[at] : undefined;
  const open = () => p && go("/t/" + p.traceId + (p.spanId ? "?span=" + p.spanId : ""));
  // Where tasks begin whose numbers have room.
  const begins: number[] = [];
  points.forEach((x, i) => { if (!i || (points[i - 1].traceId !== x.traceId && i - begins[begins.length - 1] > points.length / 30)) begins.push(i); });
  return (
    <figure class="context">
      <figcaption aria-live="polite"><b>Context</b> {p ? (p.compact ? "was compacted here" : <>{tokens(p.tokens)} tokens, {dollars(p.costUsd)}, {clock(new Date(p.at).toISOString())}</>) : <>up to {tokens(most)} tokens over {plural(requests.length, "request")}{total > 0 && <>; the line is the cost, {dollars(total)} in all</>}</>}</figcaption>
      <div class="chart" style={{ gridTemplateColumns: `auto minmax(0, ${points.length * 60}px) auto` }}>
        <div class="scale" aria-hidden="true">{[1, 0.5, 0].map((y) => <span key={y} style={{ bottom: y * 96 + "%" }}>{tokens(most * y)}</span>)}</div>
        <svg width="100%" viewBox={`0 0 ${width} 104`} preserveAspectRatio="none" role="img" aria-label="Context size" tabIndex={0} onBlur={() => setAt(-1)} onMouseLeave={() => setAt(-1)} onClick={open} onKeyDown={(e) => {
          const n = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
          if (n) setAt(Math.max(0, Math.min(points.length - 1, at + n)));
          if (e.key === "Enter") open();
        }} onMouseMove={(e) => {
          const box = e.currentTarget.getBoundingClientRect();
          setAt(Math.min(points.length - 1, Math.max(0, Math.floor(((e.clientX - box.left) / box.width) * points.length))));
        }}>
          {points.map((x, i) => i > 0 && points[i - 1].traceId !== x.traceId && <line key={"t" + i} class="border" x1={i * w} x2={i * w} y1="0" y2="104" vector-effect="non-scaling-stroke" />)}
          {points.map((x, i) => x.compact
            ? <line key={i} class="compact" x1={(i + 0.5) * w} x2={(i + 0.5) * w} y1={0} y2={104} vector-effect="non-scaling-stroke" />
            : <rect key={i} class={"bar" + (i === at ? " at" : "")} x={i * w + w * 0.1} width={w * 0.8} y={104 - 100 * share(x.tokens, most)} height={100 * share(x.tokens, most)} />)}
          {total > 0 && <path class="spent" d={line} vector-effect="non-scaling-stroke" />}
        </svg>
        <div class="scale right" aria-hidden="true">{total > 0 && [1, 0].map((y) => <span key={y} style={{ bottom: y * 96 + "%" }}>{y ? dollars(total) : "$0"}</span>)}</div>
        <div class="begins" aria-hidden="true">{begins.map((i) => <span key={i} style={{ left: (100 * i) / points.length + "%" }}>{nth(points[i].traceId)}</span>)}</div>
      </div>
      <p class="legend"><i class="chat" /> size of a request's input {total > 0 && <><i class="spent" /> cost so far</>} <i class="border" /> a new task, with its number{points.some((x) => x.compact) && <> <i class="compact" /> compacted</>}</p>
    </figure>
  );
}

export function SearchView() {
  const query = filtersOf(useRoute().query);
  if (query.has("q")) { // as other pages' searches have it
    if (!query.get("text")) query.set("text", query.get("q")!);
    query.delete("q");
  }
  const text = query.get("text") ?? "";
  const limit = Number(query.get("limit")) || 100;
  const { data, error } = useShown<{ hits: Hit[]; totals: Totals }>(hasWord(text) ? "search?" + filterQuery(query, { text, limit: String(limit) }) : null);
  const hits = data?.hits ?? [];
  const failures = hits.filter((h) => h.failed).length;
  useEffect(() => { setTitle((text ? seen(text) + " · " : "") + "search · hookspan"); });
  const { data: about } = useData<{ noTraces: string; stored: { traces: number } }>(data && !hits.length ? "about" : null);
  const groups = new Map<string, Hit[]>();
  for (const h of hits) groups.set(h.traceId, [...(groups.get(h.traceId) ?? []), h]);
  const [all, setAll] = useState(new Set<string>());
  return (
    <div class="page">
      <h1 class="hidden">Search</h1>
      <div class="big-search"><Search auto label="Search prompts, commands, results" value={text} onChange={(v) => put({ text: v, q: "" })} /></div>
      <Filters query={query} text={false} />
      {!text.trim() && <p class="note">All words must be in one step. A word may lack its end; “a phrase” goes in quotes.</p>}
      {text.trim() && !hasWord(text) && <p class="note">{needsWord}</p>}
      {error && <Problem error={error} />}
      {data && !hits.length && about && <div class="empty"><h2>Nothing found</h2>{about.stored.traces ? <p>Texts are stored shortened to their beginnings unless HOOKSPAN_CAPTURE=full.</p> : <p>The store is empty: <Commands text={about.noTraces} />.</p>}</div>}
      {data && hits.length > 0 && <Sum totals={data.totals} />}
      {hits.length > 0 && <p class="note">{hits.length === limit ? "The newest " + plural(limit, "step") : plural(hits.length, "step")} in {plural(groups.size, "task")}{failures > 0 && <>, <span class="bad">{failures} failed</span></>}</p>}
      {[...groups].map(([id, hits]) => (
        <section class="hits" key={id}>
          <h2><Link to={`/t/${id}?find=${encodeURIComponent(hits[0].snippet.slice(...(placesOf(hits[0].snippet, text)[0] ?? [0, 0])) || text)}`}>{hits[0].title || "untitled"}</Link><span class="dim">{hits[0].project && place(hits[0].project) + ", "}{dayName(hits[0].started)}, {clock(hits[0].started)}</span></h2>
          {hits.slice(0, all.has(id) ? undefined : 8).map((h) => (
            <Link key={h.spanId} class="hit" to={`/t/${id}?span=${h.spanId}`}>
              <b class={h.failed ? "bad" : ""}>{h.where}</b> <span><Marked text={h.snippet} find={text} /></span><span class="took">{clock(h.started)}</span>
            </Link>
          ))}
          {hits.length > 8 && !all.has(id) && <button class="more" onClick={() => setAll(new Set(all).add(id))}>{hits.length - 8} more</button>}
        </section>
      ))}
      {hits.length === limit && <p class="note"><More limit={limit} /></p>}
    </div>
  );
}

type Usages = { totals: Totals; budgets?: { text: string }[]; groups: Record<"day" | "model" | "project" | "agent" | "tool" | "hook", Group[]> };

export function CostView() {
  const query = filtersOf(useRoute().query);
  const zone = { zone: Intl.DateTimeFormat().resolvedOptions().timeZone };
  const asked = filterQuery(query, zone);
  const { data, error } = useShown<Usages>("usage?" + asked);
  // The period before: some days earlier, and of today up to the same hour.
  const times = new URLSearchParams(asked), since = times.get("since"), until = times.get("until");
  const before = new URLSearchParams(asked);
  if (since) {
    const from = new Date(since), days = Math.max(1, Math.round((new Date(until ?? Date.now()).getTime() - from.getTime()) / 864e5));
    const to = new Date(until ?? Math.ceil(Date.now() / 36e5) * 36e5);
    to.setDate(to.getDate() - days);
    before.set("until", new Date(Math.min(to.getTime(), from.getTime())).toISOString());
    from.setDate(from.getDate() - days);
    before.set("since", from.toISOString());
  }
  const { data: old } = useShown<Usages>(since ? "usage?" + before : null);
  const { data: work, error: noWork } = useData<Record<"subagent" | "mcp" | "block" | "model" | "repository" | "branch" | "pr" | "skill", Group[]>>("work?" + filterQuery(query));
  useEffect(() => { setTitle("Cost · hookspan"); });
  if (error && !data) return <Problem error={error} />;
  if (!data) return <Wait />;
  if (!data.totals.tasks && !isFiltered(query)) return <Nothing title="No costs yet" />;
  const days = data.groups.day.filter((g) => g.key);
  const change = old?.totals.usage?.costUsd ? money(data.totals) / old.totals.usage.costUsd - 1 : undefined;
  return (
    <div class="page wide">
      <h1 class="hidden">Cost</h1>
      <Sum totals={data.totals} />
      {data.budgets?.map((b) => <p class="note">{b.text}</p>)}
      {old && <p class="note before">{query.get("when") === "today" ? "Yesterday up to this hour" : "The period before"}: {plural(old.totals.tasks, "task")}, {dollars(money(old.totals))}{change !== undefined && <>; now <b>{change > 2 ? `${tenths(change + 1)} times as much` : `${Math.abs(Math.round(change * 100))} % ${change < 0 ? "less" : "more"}`}</b></>}.</p>}
      <Filters query={query} compare />
      <Alert error={error} />
      {days.length > 0 && <Days days={days} old={old?.groups.day.filter((g) => g.key)} oldStart={since ? before.get("since")! : undefined} start={since ?? undefined} until={until ?? undefined} />}
      {!data.totals.tasks && <NoMatch />}
      {data.totals.tasks > 0 && (
        <div class="halves">
          <Groups title="Models" one="model" groups={dearest(data.groups.model)} columns={spent} name={picks("model", (k) => k || "(not known)", "=")} meter />
          <Groups title="Projects" one="project" groups={dearest(data.groups.project)} columns={spent} name={(g) => <>{picks("project", (k) => place(k) || "(not known)")(g)}{g.branches && <small class="name" title={g.branches.join(", ")}>{g.branches.join(", ")}</small>}</>} meter />
          {data.groups.model.length > 0 && <Groups title="For a task" one="model" groups={dearest(data.groups.model).map((g) => ({ ...g, editsDenied: work?.model.find((x) => x.value === g.value)?.editsDenied }))} columns={forATask} name={(g) => <span class="name" title={g.key}>{g.key || "(not known)"}</span>} />}
          {data.groups.agent.length > 1 && <Groups title="Agents" one="agent" groups={dearest(data.groups.agent)} columns={spent} name={picks("agent", (k) => agentNames[k] ?? (k || "(not known)"))} meter />}
          {work && <Groups title="Five-hour windows" one="from" groups={[...work.block].reverse()} columns={work.block.some((g) => g.usedPercent !== undefined) ? [...spent, ["used", "less", ofPlan]] : spent} first={6} name={windowOf}><Plan blocks={work.block} /></Groups>}
          {work?.repository.some((g) => g.key) && <Groups title="Repositories" one="repository" groups={dearest(work.repository)} columns={spent} name={(g) => <span class="name" title={g.key}>{place(g.key) || "(not known)"}</span>} meter />}
          {work?.branch.some((g) => g.key) && <Groups title="Branches" one="branch" groups={dearest(work.branch)} columns={spent} name={(g) => <><span class="name" title={g.key}>{g.key || "(not known)"}</span>{g.repository && <small class="name" title={g.repository}>{place(g.repository)}</small>}</>} meter />}
          {work?.pr.some((g) => g.key) && <Groups title="Pull requests" one="pull request" groups={dearest(work.pr)} columns={spent} name={picks("pr", (k) => k || "(not known)")} meter />}
          {work?.skill.some((g) => g.key) && <Groups title="Skills" one="skill" note="Cost from the load to the task's end, for the skill loaded last. Added: the growth of the next request, where the load was alone." groups={dearest(work.skill)} columns={[columns.tasks, ["loads", "less", (g) => g.toolCalls || ""], columns.added, ...spent.slice(1)]} name={(g) => <span class="name" title={g.key}>{g.key || "(no skill)"}</span>} meter />}
          {work && <Groups title="Subagents" one="subagent" groups={dearest(work.subagent)} columns={[columns.tasks, columns.added, ...spent.slice(1)]} name={(g) => <span class="name" title={g.key}>{g.key || "(not known)"}</span>} meter />}
          {work && <Groups title="MCP servers" one="server" groups={dearest(work.mcp)} columns={[columns.tasks, columns.calls, columns.failed, columns.added, columns.cost]} name={(g) => <Link to={"/calls?tool=" + encodeURIComponent(g.value)} class="name">{g.key}</Link>} meter />}
        </div>
      )}
      {!work && (noWork ? !error && <Alert error={noWork} /> : <Wait />)}
      <Groups title="Tools" one="tool" groups={most(data.groups.tool)} columns={timed} name={(g) => <Link to={"/calls?tool=" + encodeURIComponent("=" + g.value)} class="name">{g.key || "(not known)"}</Link>} />
      <Groups title="Your hooks" one="hook" groups={most(data.groups.hook)} columns={timed} name={(g) => <code class="name" title={g.key}>{g.key}</code>} />
    </div>
  );
}

const dayKey = (t: Date) => `${t.getFullYear()}-${String(t.getMonth() + 1).padStart(2, "0")}-${String(t.getDate()).padStart(2, "0")}`;

// topOf is the round number above a value: 1, 2, 2.5 or 5 with zeros.
function topOf(v: number): number {
  const ten = 10 ** Math.floor(Math.log10(v));
  return ten * ([1, 2, 2.5, 5, 10].find((n) => n * ten >= v * 0.999) ?? 10);
}

// Days draws a column a day, beside it that of the period before, and the cached share as a
// line. The scale is linear, or that of the square root, which shows small days beside a large one.
function Days({ days, old, start, until, oldStart }: { days: Group[]; old?: Group[]; start?: string; until?: string; oldStart?: string }) {
  const priced = days.some((d) => money(d) > 0);
  const value = priced ? money : amount;
  // Days without a task are empty columns.
  const by = new Map(days.map((d) => [d.key, d]));
  const last = start ? dayKey(new Date(until ? new Date(until).getTime() - 1 : Date.now())) : "";
  const end = new Date((last > days[days.length - 1].key ? last : days[days.length - 1].key) + "T12:00:00"), first = new Date((old && start && dayKey(new Date(start)) < days[0].key ? dayKey(new Date(start)) : days[0].key) + "T12:00:00");
  const all: string[] = [];
  for (const t = new Date(Math.max(first.getTime(), end.getTime() - 89 * 864e5)); t <= end; t.setDate(t.getDate() + 1)) all.push(dayKey(t));
  const past = new Map((old ?? []).map((g) => [g.key, g])), shift = start && oldStart ? Math.round((new Date(start).getTime() - new Date(oldStart).getTime()) / 864e5) : 0;
  const pastOf = (k: string) => { const t = new Date(k + "T12:00:00"); t.setDate(t.getDate() - shift); return shift ? past.get(dayKey(t)) : undefined; };
  // Of many days every second Monday has its number or, first in a month, the month's name.
  const names = new Map<string, [string, string]>();
  const named = all.length <= 14 ? all : all.filter((k) => new Date(k + "T12:00:00").getDay() === 1).reverse().filter((_, i) => i % (all.length > 45 ? 2 : 1) === 0).reverse();
  named.forEach((k, i) => names.set(k, [String(Number(k.slice(8))), i > 0 && named[i - 1].slice(0, 7) === k.slice(0, 7) ? "" : new Date(k + "T12:00:00").toLocaleDateString("en-GB", { month: "short" })]));
  const [at, setAt] = useState<string>();
  const g = at ? by.get(at) : undefined;
  const drawn = days.filter((d) => d.key >= all[0]);
  const values = [...drawn, ...all.map(pastOf)].map((d) => (d ? value(d) : 0)).filter((v) => v > 0).sort((a, b) => a - b);
  const top = topOf(values[values.length - 1] ?? 1);
  const root = useRoute().query.get("scale") === "root";
  const part = (v: number) => (root ? Math.sqrt(share(v, top)) : share(v, top));
  const amountOf = (v: number) => (priced ? dollars(v).replace(/(\.\d\d\d*?)0*$/, "$1").replace(/\.00$/, "") : tokens(v));
  const best = drawn.reduce((a, b) => (value(b) > value(a) ? b : a));
  const d = g ?? best, o = at && pastOf(at);
  const hit = (x: Group) => (x.usage?.inputTokens ? x.usage.cacheReadTokens / x.usage.inputTokens : undefined);
  const line = all.map((k, i) => [i, by.get(k) && hit(by.get(k)!)] as const).filter(([, h]) => h !== undefined).map(([i, h], n) => `${n ? "L" : "M"}${i + 0.5},${(100 - 100 * h!).toFixed(1)}`).join("");
  return (
    <figure class="days">
      <figcaption>{drawn.length < days.length && "The last 90 days; from and to show others. "}<b>{g ? dayName(g.key + "T12:00:00") : at ? dayName(at + "T12:00:00") : (all.length > 1 ? "Most on " : "") + dayName(best.key + "T12:00:00")}</b> {at && !g ? "no task" : <>{priced ? dollars(money(d)) + ", " : ""}{tokens(amount(d))} tokens, {plural(d.tasks, "task")}{d.usage?.inputTokens ? `, ${cached(d.usage)} % cached` : ""}{d.waitedNs ? ", waited " + duration(d.waitedNs) + " for you" : ""}</>}{o && <span class="dim">; {shift} days before {priced ? dollars(value(o)) : tokens(value(o))}</span>}</figcaption>
      <div class="chart" style={{ gridTemplateColumns: `auto minmax(0, ${all.length < 7 ? all.length * 100 + "px" : "1fr"}) auto` }}>
        <div class="scale" aria-hidden="true">{[1, 0.5, 0].map((y) => <span key={y} style={{ bottom: y * 100 + "%" }}>{amountOf(top * (root ? y * y : y))}</span>)}</div>
        <div class="columns" onMouseLeave={() => setAt(undefined)}>
          {line && <svg viewBox={`0 0 ${all.length} 100`} preserveAspectRatio="none" aria-hidden="true"><path d={line.includes("L") ? line : line + "h.01"} vector-effect="non-scaling-stroke" /></svg>}
          {all.map((k, i) => {
            const x = by.get(k), p = pastOf(k);
            return (
              <button key={k} class="column" aria-label={k + (x ? `: ${dollars(money(x))}, ${amount(x)} tokens ` : " ") + (names.get(k) ?? []).join("")} tabIndex={k === (at ?? all[all.length - 1]) ? 0 : -1} onMouseEnter={() => setAt(k)} onFocus={() => setAt(k)} onClick={() => put({ when: "dates", from: k, to: k }, true)}
                onKeyDown={(e) => { const n = { ArrowRight: 1, ArrowLeft: -1 }[e.key]; if (n) document.querySelectorAll<HTMLElement>(".column")[i + n]?.focus(); }}>
                <div class="pair-bars">{shift > 0 && <i class="past" style={{ height: part(p ? value(p) : 0) * 100 + "%" }} />}<i style={{ height: Math.max(x ? 1.5 : 0, part(x ? value(x) : 0) * 100) + "%" }} /></div>
                <span>{names.get(k)?.[0]}<small>{names.get(k)?.[1]}</small></span>
              </button>
            );
          })}
        </div>
        <div class="scale right" aria-hidden="true">{[1, 0.5, 0].map((y) => <span key={y} style={{ bottom: y * 100 + "%" }}>{y * 100} %</span>)}</div>
      </div>
      <p class="legend"><i class="full" /> {priced ? "cost" : "tokens"}{root && ", the middle is a quarter"} {shift > 0 && <><i class="past" /> {shift === 1 ? "the day" : `the ${shift} days`} before</>} <i class="cached" /> share of the input that was cached <button class="toggle" aria-pressed={root} onClick={() => put({ scale: root ? "" : "root" })}>Square root</button></p>
    </figure>
  );
}

// versus is a line of a comparison; numbers say how many times as much the second has.
function versus(label: string, values: (string | number | undefined)[], numbers?: (number | undefined)[]) {
  const [x, y] = numbers ?? [];
  const factor = x && y ? y / x : 0;
  return <tr><th scope="row">{label}</th>{values.map((v) => <td>{(v as number)?.toLocaleString("en")}</td>)}<td class="num dim least">{factor && Math.abs(factor - 1) >= 0.005 ? (factor >= 10 ? factor.toFixed(0) : factor.toFixed(2)) + "×" : ""}</td></tr>;
}

// Versus is the table of a comparison; heads are its sides, children its lines.
const Versus = ({ heads, children }: { heads: ComponentChildren[]; children: ComponentChildren }) => (
  <div class="scroller" tabIndex={0} role="region" aria-label="Differences">
    <table class="versus"><thead><tr><td />{heads.map((h, i) => <th scope="col" key={i}>{h}</th>)}<th scope="col" class="num least">second to first</th></tr></thead><tbody>{children}</tbody></table>
  </div>
);

export function CompareView() {
  const { query } = useRoute();
  const a = query.get("a") ?? "", b = query.get("b") ?? "";
  useEffect(() => { setTitle("Compare · hookspan"); });
  if (!a || !b) return <div class="empty"><h1>Compare two tasks or filters</h1><p>Press <kbd>c</kbd> or Compare on a task, then on another. Of filters, Compare is beside them.</p><p><Link to="/" class="plain">All sessions</Link></p></div>;
  return isTrace(a) && isTrace(b) ? <Tasks a={a} b={b} /> : <Sides sides={[a, b]} />;
}

// Sides compares two sets of tasks, as sums and for a task.
function Sides({ sides }: { sides: string[] }) {
  const of = sides.map((side) => filtersOf(new URLSearchParams(isTrace(side) ? { trace: side } : side)));
  const asked = of.map((q) => (q.has("trace") ? q.toString() : filterQuery(q)));
  const { data, error } = useData<Group[]>("sides?" + new URLSearchParams({ a: asked[0], b: asked[1] }));
  if (error && !data) return <Problem error={error} />;
  if (!data) return <Wait />;
  const words = (q: URLSearchParams) => [...q].map(([name, v]) => (name === "failed" || name === "denied" || name === "when" ? (v === "1" ? name : periods.find(([x]) => x === v)?.[1] ?? v) : `${name} ${seen(name === "project" ? place(v) : agentNames[v] ?? v.replace(/^=/, ""))}`)).join(", ") || "all tasks";
  const row = (label: string, value: (g: Group) => number | undefined, shown: (n: number) => string | number = (n) => n) => versus(label, data.map((g) => { const n = value(g); return n === undefined ? "not known" : shown(n); }), data.map(value));
  const perTask = (value: (g: Group) => number | undefined) => (g: Group) => { const n = value(g); return n === undefined || !g.tasks ? undefined : n / g.tasks; };
  const cost = (g: Group) => g.usage?.costUsd, ns = (n: number) => duration(n);
  return (
    <div class="page">
      <h1>Two sets of tasks</h1>
      <Versus heads={of.map((q) => <Link to={q.has("trace") ? "/t/" + q.get("trace") : "/?" + q}>{words(q)}</Link>)}>
        {row("tasks", (g) => g.tasks)}
        {row("cost", cost, dollars)}
        {data.some((g) => g.ofModelUsage && g.ofModelUsage.costUsd !== cost(g)) && row("of it by the model", (g) => g.ofModelUsage?.costUsd, dollars)}
        {row("cost of a task", perTask(cost), dollars)}
        {row("median cost", (g) => g.medianCostUsd, dollars)}
        {row("dearest task", ofDearest, (n) => n + " % of it")}
        {row("time of a task", perTask((g) => g.tookNs), ns)}
        {row("half took at most", (g) => (g.tasks ? g.p50Ns : undefined), ns)}
        {row("95 % took at most", (g) => (g.tasks ? g.p95Ns : undefined), ns)}
        {row("tokens", (g) => g.usage && amount(g), tokens)}
        {row("cached", (g) => (g.usage?.inputTokens ? cached(g.usage) : undefined), (n) => n + " %")}
        {row("tool calls", (g) => g.toolCalls)}
        {row("failed", (g) => g.toolFailures)}
        {row("failed in a task", perTask((g) => g.toolFailures), tenths)}
        {row("denied", (g) => g.toolDenials)}
        {row("edits denied", (g) => g.editsDenied ?? 0)}
      </Versus>
    </div>
  );
}

function Tasks({ a, b }: { a: string; b: string }) {
  const { data, error } = useData<{ a: Compared; b: Compared; steps: [Step | null, Step | null][] }>(`compare?a=${a}&b=${b}`);
  if (error && !data) return <Problem error={error} />;
  if (!data) return <Wait />;
  const sides = [data.a, data.b];
  const onlyIn = (n: 0 | 1) => sides[n].files.filter((f) => !sides[1 - n].files.includes(f));
  const cost = (s: Compared) => s.summary.usage?.costUsd;
  const volume = (s: Compared) => (s.summary.usage ? s.summary.usage.inputTokens + s.summary.usage.outputTokens : undefined);
  return (
    <div class="page">
      <h1>Two tasks</h1>
      <Versus heads={sides.map((s) => <><Mark status={s.status} /> <Link to={"/t/" + s.summary.traceId}>{s.summary.title || "untitled"}</Link></>)}>
        {versus("started", sides.map((s) => stamp(s.summary.started)))}
        {versus("outcome", sides.map((s) => outcome(s.summary)))}
        {versus("model", sides.map((s) => s.summary.model))}
        {versus("time", sides.map((s) => duration(s.summary.durationMs * 1e6)), sides.map((s) => s.summary.durationMs))}
        {versus("cost", sides.map((s) => (cost(s) === undefined ? "not known" : dollars(cost(s)!))), sides.map(cost))}
        {versus("tokens", sides.map((s) => (volume(s) === undefined ? "not known" : tokens(volume(s)!))), sides.map(volume))}
        {versus("tool calls", sides.map((s) => s.summary.tools), sides.map((s) => s.summary.tools))}
        {versus("failed", sides.map((s) => s.summary.toolFailures), sides.map((s) => s.summary.toolFailures))}
        {sides.some((s) => s.summary.toolDenials > 0) && versus("denied", sides.map((s) => s.summary.toolDenials), sides.map((s) => s.summary.toolDenials))}
        {versus("files", sides.map((s) => s.files.length))}
      </Versus>
      {([0, 1] as const).map((n) => onlyIn(n).length > 0 && <p class="note" key={n}>Changed only by the {n ? "second" : "first"}: {onlyIn(n).slice(0, 12).map((f) => <code key={f}>{f} </code>)}{onlyIn(n).length > 12 && `and ${onlyIn(n).length - 12} more`}</p>)}
      <h2 class="day">Tool calls, side by side</h2>
      <div class="aligned">
        {data.steps.map(([x, y], i) => (
          <div class={"pair" + (x && y ? (x.detail === y.detail ? " same" : " near") : " alone")} key={i}>
            {[x, y].map((s, n) => s ? (
              <Link key={n} class={"cell " + s.status} to={`/t/${n ? b : a}?span=${s.id}`}><Mark status={s.status} /><b>{s.label}</b> <code>{s.detail}</code><span class="took">{duration(s.tookNs)}</span></Link>
            ) : <span key={n} class="cell none" />)}
          </div>
        ))}
      </div>
    </div>
  );
}

interface Destination { name: string; level: string; lines: string[]; off?: string; target?: string; behind: number }
interface Installed { scope: string; path: string; installed: number; outdated: number; edited: number; missing: number; error?: string }

export function StatusView() {
  const { data, error } = useData<{
    status?: { recording: string; claude?: Installed[]; sessions: number; spool_bytes: number; last_event?: string; destinations: Destination[] | null; state_dir: string; env_file: string; hooks_healthy: boolean };
    findings?: { level: string; text: string; hint?: string }[]; stored: { traces: number; spans: number }; version: string;
  }>("status");
  useEffect(() => { setTitle("Status · hookspan"); });
  if (error && !data) return <Problem error={error} />;
  if (!data) return <Wait />;
  const s = data.status;
  const order = ["problem", "note", "ok"];
  const findings = [...(data.findings ?? [])].sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
  return (
    <div class="page narrow">
      <h1>Status</h1>
      <p class="sum">Recording is <b class={s?.recording === "on" ? "good" : "warn"}>{s?.recording ?? "not known"}</b>. {s?.last_event ? <>The last event came <b>{ago(s.last_event)}</b>.</> : "No event has come yet."} <b>{data.stored.traces.toLocaleString("en")}</b> tasks with <b>{data.stored.spans.toLocaleString("en")}</b> spans are stored{s?.sessions ? <>; {plural(s.sessions, "session")} in the spool</> : ""}.</p>
      {s?.destinations && (
        <section class="sums">
          <h2>Destinations</h2>
          {s.destinations.map((d) => {
            const state: Status = d.level === "problem" ? "failed" : d.off ? "unknown" : d.behind ? "unfinished" : "ok";
            return (
              <div class="finding" key={d.name}>
                <Mark status={state} word={state === "unknown" ? "off" : undefined} />
                <div><b>{d.name}</b> {d.target && <code>{d.target}</code>}{d.lines.map((l, i) => <p key={i}>{l}</p>)}</div>
              </div>
            );
          })}
        </section>
      )}
      <section class="sums">
        <h2>Doctor</h2>
        {findings.map((f, i) => (
          <div class="finding" key={i}><Mark status={f.level === "problem" ? "failed" : f.level === "ok" ? "ok" : "info"} word={f.level} /><div>{f.text}{f.hint && <p class="dim"><Commands text={f.hint} /></p>}</div></div>
        ))}
        {findings.length === 0 && <p class="note">Nothing to report.</p>}
      </section>
      {s && <dl class="ids"><dt>state</dt><dd>{s.state_dir}</dd><dt>settings</dt><dd>{s.env_file}</dd><dt>version</dt><dd>{data.version}</dd></dl>}
    </div>
  );
}
