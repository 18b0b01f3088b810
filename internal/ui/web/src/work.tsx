import { useEffect, useState } from "preact/hooks";
import { useData, useShown } from "./api";
import { clock, dayName, dollarsIn, duration, place, plural, seen } from "./format";
import { columns, Groups, most as oftenest, type Column } from "./groups";
import { Alert, Diff, Facts, Link, Mark, Problem, Wait } from "./parts";
import { put, useRoute } from "./route";
import { filterQuery, Filters, filtersOf, isFiltered, More, Nothing, Search } from "./sessions";
import type { Call, CostItem, Group, Row, Totals } from "./types";
import { setTitle } from "./title";

const slower: [string, string][] = [["1", "1 s or slower"], ["10", "10 s or slower"], ["60", "1 min or slower"], ["300", "5 min or slower"]];
const mostCalls = 5000, mostChanges = 800; // which are long
const repeated: Column[] = [columns.tasks, ["times", "strong", (g) => g.toolCalls.toLocaleString("en")]];
const lastOf = (g: Group) => <Link to={"/t/" + g.lastTraceId} class="name" title={"The last task: " + g.key}>{g.key}</Link>;

// Found is the answer: the first rows have come before the sums are there.
interface Found { calls: Call[]; totals?: Totals; groups?: Record<"failure" | "denial", Group[]> }

// CallsView lists the calls of all tasks; with edits those that change files, with what they change.
export function CallsView({ edits }: { edits?: boolean }) {
  const query = filtersOf(useRoute().query);
  const own = ["command", "file", "slower"].filter((n) => query.get(n) && (n !== "slower" || slower.some(([v]) => v === query.get(n))));
  const most = edits ? mostChanges : mostCalls, limit = Math.min(most, Number(query.get("limit")) || (edits ? 50 : 200));
  const more = Object.fromEntries([...own.map((n) => [n, query.get(n)!]), ["limit", String(limit)], ...(edits ? [["edits", ""]] : [])]) as Record<string, string>;
  const asked = "calls?" + filterQuery(query, more), whole = useShown<Found>(asked), { error } = whole;
  const first = useData<Found>(whole.stale ? asked + "&first" : null).data;
  const data = first ?? whole.data, stale = whole.stale && !first;
  const name = edits ? "Changes" : "Calls";
  useEffect(() => { setTitle(name + " · hookspan"); });
  if (error && !data) return <Problem error={error} />;
  if (!data) return <Wait />;
  const t = data.totals;
  if (!data.calls.length && !isFiltered(query)) return <Nothing title={`No ${name.toLowerCase()} yet`} />;
  const costs = dollarsIn(data.calls.map((c) => c.costUsd)), { failure = [], denial = [] } = data.groups ?? {};
  let day = "";
  return (
    <div class={"page tasks" + (stale ? " stale" : "")} aria-busy={whole.stale}>
      <h1 class="hidden">{name}</h1>
      <p class="sum">{!t ? "Counting…" : <><b>{t.toolCalls.toLocaleString("en")}</b> {edits ? (t.toolCalls === 1 ? "change" : "changes") : t.toolCalls === 1 ? "tool call" : "tool calls"}{t.toolCalls > 0 && <> took <b>{duration(t.tookNs)}</b></>}{t.toolFailures ? <>, <b class="bad">{t.toolFailures.toLocaleString("en")}</b> failed</> : ""}{t.toolDenials ? <>, <b class="warn">{t.toolDenials.toLocaleString("en")}</b> {t.toolDenials === 1 ? "was" : "were"} denied</> : ""}{t.waitedNs ? <>, <b>{duration(t.waitedNs)}</b> of it waiting for you</> : ""}.</>}</p>
      <Filters query={query} texts={<>
        <Search value={query.get("file") ?? ""} onChange={(v) => put({ file: v })} label="File or folder/" />
        {!edits && <Search value={query.get("command") ?? ""} onChange={(v) => put({ command: v })} label="Command" />}
      </>}>
        <select aria-label="Any duration" class={own.includes("slower") ? "set" : ""} value={query.get("slower") ?? ""} onChange={(e) => put({ slower: e.currentTarget.value }, true)}>
          <option value="">Any duration</option>{slower.map(([v, shown]) => <option key={v} value={v}>{shown}</option>)}
        </select>
      </Filters>
      <Alert error={error} />
      {failure.length + denial.length > 0 && (
        <details class="kinds">
          <summary>{failure.length > 0 && <>{plural(failure.length, "kind")} of failure, most often <span class="bad">{oftenest(failure)[0].key}</span> ({oftenest(failure)[0].toolCalls.toLocaleString("en")}×)</>}{failure.length > 0 && denial.length > 0 && ". "}{denial.length > 0 && <>Denied by {oftenest(denial).map((g) => `${g.key} (${g.toolCalls.toLocaleString("en")}×)`).join("; ")}</>}</summary>
          <div class="halves">
            <Groups title="Failures" one="tool and failure" groups={oftenest(failure)} columns={repeated} name={lastOf} first={10} />
            <Groups title="Denied" one="by" groups={oftenest(denial)} columns={repeated} name={lastOf} first={10} />
          </div>
        </details>
      )}
      {data.calls.length > 0 && <div class="heads calls" aria-hidden="true">{["took", "cost", "at"].map((x) => <span key={x}>{x}</span>)}</div>}
      {data.calls.length === 0 && <div class="empty"><h2>No {edits ? "change" : "call"} matches</h2><p>{edits ? "What commands changed is not recorded." : "Fewer filters show more."}</p></div>}
      <div class="call-list">
        {data.calls.map((c) => {
          const now = dayName(c.started), heading = now !== day && now;
          day = now;
          return (
            <section key={c.traceId + c.spanId}>
              {heading && <h2 class="day">{heading}</h2>}
              <Link class={"call " + c.status} to={`/t/${c.traceId}?span=${c.spanId}${edits ? "&tab=changes" : ""}`}>
                <Mark status={c.status} /><span class="what"><b>{c.tool}</b> <code>{c.what}</code>{c.reason && <span class={"why" + (c.status === "denied" ? " warn" : " bad")}>{c.reason}</span>}</span>
                <span class="under"><Facts items={[place(c.workingDirectory), c.subagent, !!c.waitedNs && <span class="warn">waited {duration(c.waitedNs)}</span>]} /></span>
                <span class="num">{duration(c.tookNs)}</span><span class="num cost">{c.costUsd !== undefined ? costs(c.costUsd) : ""}</span><span class="num clock">{clock(c.started)}</span>
              </Link>
              {c.edits && <Edits call={c} />}
            </section>
          );
        })}
      </div>
      {t && data.calls.length < t.toolCalls && <p class="note">{data.calls.length.toLocaleString("en")} of {t.toolCalls.toLocaleString("en")}. <More limit={limit} most={most} /></p>}
    </div>
  );
}

const none = "The agent's files have no more of it.";

// Edits is what a call changes; one of which the beginning is stored becomes whole when it is asked for.
function Edits({ call: c }: { call: Call }) {
  const [asked, ask] = useState(false);
  const { data, error } = useData<Row>(asked ? `traces/${c.traceId}/row/${c.spanId}?whole` : null);
  const whole = data?.parts.filter((p) => p.lang === "diff");
  if (whole?.length) return <div class="change">{whole.map((p, i) => <Lines key={i} lines={p.text.split("\n")} />)}<p class="dim source">{data!.source || none}</p></div>;
  return (
    <>
      {c.edits!.map((e, i) => <div class="change" key={i}>{!(c.edits!.length === 1 && e.Path.endsWith(c.what)) && <p class="path">{e.Path}</p>}<Lines lines={e.Lines} /></div>)}
      {c.cut && !asked && <button class="more" onClick={() => ask(true)}>Only the beginning is stored: show the whole change</button>}
      {data && <p class="dim source">{data.source || none}</p>}
      {error && <p class="note bad">{error.message}</p>}
    </>
  );
}

// Lines shows the beginning of a diff, and all of it when asked.
export function Lines({ lines, first = 80 }: { lines: string[]; first?: number }) {
  const [all, set] = useState(false);
  return <><Diff numbers lines={all ? lines : lines.slice(0, first)} />{lines.length > first && !all && <button class="more" onClick={() => set(true)}>Show all {lines.length} lines</button>}</>;
}

// within are the filters that show the rows of a sum.
const within: Record<string, string> = { requests: "requests", subagent: "subagent" };

// Money says what was found in a task and where its money went, with links to the rows.
export function Money({ base, version, rows, pick }: { base: string; version: number; rows?: number; pick: (id: string) => void }) {
  // In a large task all requests and calls are read only when they are asked for.
  const [asked, ask] = useState(false);
  const { data } = useData<{ sentence: string; before?: string; usage?: { costUsd?: number }; items: CostItem[] | null; pullRequests?: string[]; findings?: { what: string; do: string; spanIds: string[] }[] }>(asked || rows! < 20_000 ? base + "/cost" : null, version);
  if (rows! >= 20_000 && !asked) return <p class="money"><button class="plain" onClick={() => ask(true)}>Where the money went</button></p>;
  if (!data) return null;
  const more = <>{data.findings?.map((f) => <p class="money"><button class="plain" onClick={() => pick(f.spanIds[0])}>{f.what}. {f.do}</button></p>)}{data.pullRequests?.map((url) => <p class="money"><Link to={"/?pr=" + encodeURIComponent(url)}>{seen(url)}</Link></p>)}</>;
  if (!data.items?.length || !data.usage?.costUsd) return more;
  const parts = data.items.map((i, n) => ({ key: String(n), item: i, usage: { inputTokens: i.tokens, outputTokens: 0, costUsd: i.costUsd } }) as Group & { item: CostItem });
  return (
    <>{more}<details class="money">
      <summary>{data.sentence}</summary>
      {data.before && <p>{data.before}</p>}
      <Groups title="Where the money went" one="what" groups={parts} columns={[columns.tokens, columns.cost]} meter name={(g) => {
        const { what, kind, spanId } = (g as (typeof parts)[number]).item;
        return spanId || within[kind] ? <button class="plain name" title={what} onClick={() => (spanId ? pick(spanId) : put({ kind: within[kind], sort: "cost", tab: "" }, true))}>{what}</button> : <span class="name" title={what}>{what}</span>;
      }} />
    </details></>
  );
}
