import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useData } from "./api";
import { dollars, duration, plural, stamp, tokens } from "./format";
import { useKeys } from "./keys";
import { Prose } from "./markdown";
import { agentNames, cached, Copy, copy, Export, Facts, labelOf, Link, Mark, outcome, Problem, Projects, say, Texts, Took, usageWords, Wait } from "./parts";
import { RowFilters, showAll, useChosen, type Range } from "./rows";
import { go, put, sessionPath, useRoute } from "./route";
import { compareWith, Search } from "./sessions";
import { Changes, Conversation } from "./story";
import type { Columns, Header, Row } from "./types";
import { Money } from "./work";
import { treeOf, useLines, Waterfall, type Tree } from "./waterfall";
import { setTitle } from "./title";

const tabs = ["waterfall", "conversation", "changes"] as const;
type Tab = (typeof tabs)[number];

const small = matchMedia("(max-width: 900px)");

export function TraceView({ id }: { id: string }) {
  const { query } = useRoute();
  const base = "traces/" + encodeURIComponent(id);
  const { data: head, error } = useData<Header>(base);
  // The rows are asked for at once, and again when they have changed.
  const [version, setVersion] = useState(0);
  const { data: rows, error: noRows } = useData<Columns>(base + "/rows", version);
  useEffect(() => { if (head && rows && head.version !== rows.version) setVersion(head.version); }, [head, rows]);
  const tree = useMemo(() => (rows ? treeOf(rows) : undefined), [rows]);
  const { lines, fresh, load } = useLines(id, tree?.version);
  const tab = (tabs.includes(query.get("tab") as Tab) ? query.get("tab") : "waterfall") as Tab;
  const span = query.get("span") ?? "";
  const find = query.get("find") ?? "";
  // What is selected and folded is kept by id: a row's number is another one as soon as a
  // call arrives before it. here is the selection at once: keys may come faster than the page
  // is drawn.
  const [picked, setPicked] = useState("");
  const here = useRef("");
  const at = () => (tree && here.current ? tree.rowOf(here.current) : -1);
  const selected = useMemo(() => (tree && picked ? tree.rowOf(picked) : -1), [tree, picked]);
  const mark = (name: string) => { here.current = name; setPicked(name); };
  const [sheet, setSheet] = useState(!!span);
  const [foldedIds, setFolded] = useState<Set<string>>(() => new Set(JSON.parse(sessionStorage.getItem("folded " + id) ?? "[]") as string[]));
  const folded = useMemo(() => new Set(tree ? [...foldedIds].map(tree.rowOf) : []), [tree, foldedIds]);
  const [following, setFollowing] = useState(false);
  const { data: rowsFound } = useData<number[]>(find && tree ? `${base}/find?text=${encodeURIComponent(find)}&version=${tree.version}` : null, tree?.version ?? 0);
  // Matches are of one version of the rows, and shown in the next one until it is searched.
  const hits = useRef<{ find: string; tree: Tree; rows: number[] } | undefined>(undefined);
  if (rowsFound && tree) hits.current = { find, tree, rows: rowsFound };
  const found = useMemo(() => {
    const h = hits.current;
    return tree && h?.find === find && find ? (h.tree === tree ? h.rows : h.rows.map((r) => tree.rowOf(h.tree.idOf(r))).filter((r) => r >= 0)) : undefined;
  }, [rowsFound, tree, find]);
  const matches = useMemo(() => new Set(found ?? []), [found]);
  const problems = useMemo(() => (head?.problems ?? []).map((p) => (tree ? { ...p, row: tree.rowOf(p.id) } : p)).filter((p) => p.row >= 0), [head, tree]);

  const zoomText = query.get("zoom");
  const settled = useMemo(() => {
    const m = /^(\d{1,15})-(\d{1,15})$/.exec(zoomText ?? "");
    return m && Number(m[1]) < Number(m[2]) ? ([Number(m[1]), Number(m[2])] as Range) : undefined;
  }, [zoomText]);
  // While the wheel turns, the address follows a little later.
  const [turning, setTurning] = useState<{ to?: Range }>();
  const turned = useRef(0);
  const zoom = turning ? turning.to : settled;
  const setZoom = (z?: Range) => {
    setTurning({ to: z && [Math.floor(z[0]), Math.max(Math.floor(z[0]) + 1, Math.ceil(z[1]))] });
    clearTimeout(turned.current);
    turned.current = window.setTimeout(() => { put({ zoom: z ? `${Math.floor(z[0])}-${Math.max(Math.floor(z[0]) + 1, Math.ceil(z[1]))}` : "" }); setTurning(undefined); }, 100);
  };
  useEffect(() => () => clearTimeout(turned.current), []);
  const chosen = useChosen(tree, folded, zoom, query);

  // What the address selects.
  const mine = useRef("");
  useEffect(() => {
    // Meanwhile a key may have changed the address.
    if (!tree || !span || span === mine.current || span !== new URLSearchParams(location.search).get("span") || tree.rowOf(span) < 0) return;
    mine.current = span;
    reveal(span);
  }, [tree, span]);

  const keepFolded = (f: Set<string>) => { setFolded(f); sessionStorage.setItem("folded " + id, JSON.stringify([...f].slice(0, 5000))); };
  const reveal = (name: string) => {
    mark(name);
    if (!tree) return;
    if (chosen && !chosen.passes(tree.rowOf(name))) showAll();
    const f = new Set(foldedIds);
    for (let p = tree.parent[tree.rowOf(name)] ?? -1; p >= 0; p = tree.parent[p]) if (folded.has(p)) f.delete(tree.idOf(p));
    if (f.size < foldedIds.size) keepFolded(f);
  };
  useEffect(() => { if (!span && mine.current) { mine.current = ""; mark(""); setSheet(false); } }, [span]);
  // The address follows a little later: a browser slows pages that change it often.
  const later = useRef(0);
  useEffect(() => () => { clearTimeout(later.current); later.current = 0; }, []);
  const pick = (name: string, open = false) => {
    reveal(name);
    // On a small screen Back closes the details first.
    const opens = open && !sheet && small.matches;
    if (open) setSheet(true);
    clearTimeout(later.current);
    later.current = window.setTimeout(() => { later.current = 0; mine.current = name; put({ span: name }, opens); }, 60);
  };
  const select = (row: number, open = false) => { if (tree && row >= 0 && row < tree.n) pick(tree.idOf(row), open); };
  const fold = (row: number, shut: boolean) => {
    if (!tree) return;
    const f = new Set(foldedIds);
    if (shut) f.add(tree.idOf(row)); else f.delete(tree.idOf(row));
    keepFolded(f);
    if (shut && at() > row && at() < tree.end[row]) select(row);
  };
  const next = (rows: number[], n: number) => () => {
    if (!rows.length) return;
    const sorted = n > 0 ? rows : [...rows].reverse();
    const from = at() < 0 && n < 0 ? Infinity : at();
    const to = sorted.find((r) => (n > 0 ? r > from : r < from)) ?? sorted[0];
    select(to);
  };
  // visible is the row that is shown n after a row.
  const visible = (row: number, n: number) => {
    if (!tree || !chosen?.rows.length) return row;
    let from = row;
    while (from >= 0 && chosen.place[from] < 0) from = tree.parent[from];
    return from < 0 ? chosen.rows[0] : chosen.rows[Math.max(0, Math.min(chosen.rows.length - 1, chosen.place[from] + n))];
  };
  const show = (t: Tab) => put({ tab: t === "waterfall" ? "" : t });
  const errorRows = problems.map((p) => p.row).filter((r) => !chosen || chosen.passes(r));
  const through = (found ?? []).filter((r) => !chosen || chosen.passes(r));
  const matchRows = through.length ? through : found ?? [];
  const searched = useRef("");
  useEffect(() => {
    if (!find) searched.current = "";
    if (!found || searched.current === find) return;
    searched.current = find;
    if (found.length && !matches.has(at()) && !(span && at() < 0)) select(matchRows.find((r) => r >= at()) ?? matchRows[0]);
  }, [found, find]);
  useEffect(() => { if (following && tree) select(tree.n - 1); }, [tree, following]);

  // Once the address has the row.
  const copyLink = () => { if (later.current) setTimeout(copyLink, 20); else copy(location.href); };
  useKeys({
    j: () => select(visible(at(), 1)), k: () => select(visible(at(), -1)),
    h: () => { const row = at(); if (tree && row >= 0) { if (tree.end[row] > row + 1 && !folded.has(row)) fold(row, true); else if (tree.parent[row] >= 0) select(tree.parent[row]); } },
    l: () => { const row = at(); if (tree && row >= 0) { if (folded.has(row)) fold(row, false); else select(visible(row, 1)); } },
    Enter: () => { if (at() >= 0) setSheet(!sheet); else select(0, true); },
    Escape: () => { setSheet(false); mark(""); clearTimeout(later.current); later.current = 0; mine.current = ""; put({ span: "", find: "" }); },
    e: next(errorRows, 1), E: next(errorRows, -1), n: next(matchRows, 1), N: next(matchRows, -1),
    "]": () => head?.after && go("/t/" + head.after), "[": () => head?.before && go("/t/" + head.before),
    "1": () => show("waterfall"), "2": () => show("conversation"), "3": () => show("changes"),
    z: () => { const row = at(); if (tree && row >= 0) setZoom([tree.c.at[row], tree.c.at[row] + Math.max(1000, tree.c.took[row])]); },
    "0": () => setZoom(),
    c: () => compareWith(id),
    y: copyLink,
    f: () => { setFollowing(!following); say(following ? "Stopped following" : "Following the newest row"); },
  });
  useEffect(() => { if (head) setTitle((head.summary.title || "untitled") + " · hookspan"); }, [head]);

  if (error && !head) return <Problem error={error} />;
  if (!head) return <Wait />;
  const s = head.summary;
  const nth = selected < 0 ? -1 : errorRows.indexOf(selected);
  const current = (nth >= 0 ? problems.find((p) => p.row === selected) : undefined) ?? problems.find((p) => p.status === "failed") ?? problems[0];
  return (
    <div class={"trace" + (sheet && selected >= 0 ? " with-sheet" : "")}>
      <header class="head">
        <nav class="crumbs" aria-label="Place">
          <Projects of={head} />
          {head.session && <Link to={sessionPath(head.session, s.host)}>{head.tasks! > 1 ? `task ${head.task} of ${head.tasks}` : "session"}</Link>}
          {head.before && <Link to={"/t/" + head.before} label="Task before">‹</Link>}
          {head.after && <Link to={"/t/" + head.after} label="Task after">›</Link>}
        </nav>
        <Title text={head.prompt || s.title || "untitled"} />
        <p class="facts">
          <Facts items={[
            <span class={"outcome " + head.status}><Mark status={head.status} word="" />{outcome(s)}</span>,
            <b><Took summary={s} /></b>,
            s.usage?.costUsd !== undefined && <b>{dollars(s.usage.costUsd)}</b>,
            s.usage && <>{tokens(s.usage.inputTokens)} in{s.usage.cacheReadTokens ? `, ${cached(s.usage)} % cached` : ""} · {tokens(s.usage.outputTokens)} out</>,
            s.tools > 0 && <>{plural(s.tools, "tool call")}{s.toolFailures ? <span class="bad">, {s.toolFailures} failed</span> : ""}{s.toolDenials ? <span class="warn">, {s.toolDenials} denied</span> : ""}</>,
            s.model, s.host && (agentNames[s.host] ?? s.host), stamp(s.started),
            !!s.waitedNs && <span class="warn">waited {duration(s.waitedNs)}</span>,
            s.evidence === "partial" && <span class="warn" title={s.missing}>partial: {s.missing}</span>,
            s.evidence === "unknown" && <span title={s.missing}>evidence unknown: {s.missing}</span>,
          ]} />
        </p>
        <Money base={base} version={head.version} rows={tree?.n} pick={(id) => pick(id, true)} />
        {current && (
          <div class={"callout " + current.status} role="group" aria-label="Failures">
            <span class="step"><button aria-label="Failure before" onClick={next(errorRows, -1)}>‹</button><span class="nth">{nth >= 0 ? nth + 1 + " of " : ""}{errorRows.length}{problems.length === 1000 ? "+" : ""}{nth < 0 && <span class="wide"> {errorRows.length === 1 ? "problem" : "problems"}</span>}</span><button aria-label="Next failure" onClick={next(errorRows, 1)}>›</button></span>
            <button class="why" onClick={() => pick(current.id, true)}><Mark status={current.status} /><b>{labelOf(current.label)}</b> <code>{current.detail}</code> <span class="message">{current.message || current.kind}</span></button>
          </div>
        )}
        <div class="bar-line">
          <div class="tabs" role="tablist" aria-label="Views of this task">
            {tabs.map((t) => <button key={t} id={"tab-" + t} role="tab" aria-selected={t === tab} aria-controls="panel" tabIndex={t === tab ? 0 : -1} onClick={() => show(t)} onKeyDown={(e) => {
              const n = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
              if (n) { const to = tabs[(tabs.indexOf(tab) + n + 3) % 3]; show(to); document.getElementById("tab-" + to)?.focus(); }
            }}>{t[0].toUpperCase() + t.slice(1)}</button>)}
          </div>
          <div class="acts">
            {head.resume && <button class="plain" title={head.resume} onClick={() => copy(head.resume!)}>Copy resume command</button>}
            <button class="plain" title="c" onClick={() => compareWith(id)}>Compare</button>
            <button class="plain" title="y" onClick={copyLink}>Copy link</button>
            <Export id={s.traceId} runs={head.status === "running"} />
          </div>
          <div class="finder">
            {find && found && <span class="dim">{found.length ? `${found.indexOf(selected) + 1 || "–"} of ${found.length}` : "nothing found"}</span>}
            <Search label="Find in this task" value={find} onChange={(v) => put({ find: v })} />
          </div>
        </div>
      </header>
      <div class="body">
        <div class="panel" id="panel" role="tabpanel" aria-labelledby={"tab-" + tab}>
          {tab === "waterfall" && (tree && chosen ? <><RowFilters query={query} /><Waterfall trace={id} tree={tree} chosen={chosen} lines={lines} fresh={fresh} loadLines={load} selected={selected} select={select} folded={folded} fold={fold} zoom={zoom} setZoom={setZoom} problems={problems} matches={matches} /></> : noRows ? <Problem error={noRows} /> : <Wait />)}
          {tab === "conversation" && <Conversation base={base} version={head.version} picked={picked} row={selected} select={pick} />}
          {tab === "changes" && <Changes base={base} version={head.version} picked={picked} row={selected} select={pick} />}
        </div>
        <aside class="details" aria-label="Details" tabIndex={0}>
          {selected >= 0 && tree ? <Details base={base} id={picked} row={selected} tree={tree} close={() => setSheet(false)} /> : <Overview head={head} />}
        </aside>
      </div>
    </div>
  );
}

function Title({ text }: { text: string }) {
  const [all, set] = useState(false);
  const first = text.split("\n")[0];
  const long = text.length > first.length || first.length > 160;
  return <h1 class={"prompt" + (all ? " all" : "")}>{all ? text : first.slice(0, 1000)}{long && <button class="plain" aria-expanded={all} onClick={() => set(!all)}>{all ? "less" : "more"}</button>}</h1>;
}

// Overview is what the details show while no row is selected: the answer.
function Overview({ head }: { head: Header }) {
  const s = head.summary;
  return (
    <div class="overview">
      {head.answer ? <><h2>Answer<Copy text={head.answer} /></h2><Prose text={head.answer} doc={head.doc} /></> : head.status === "running" ? <><h2>The task still runs</h2><p>New rows appear by themselves. <kbd>f</kbd> follows the newest.</p></> : <><h2>{head.status === "ok" ? "No answer was recorded" : "Why it ended"}</h2><p class="prose">{head.reason || "The task ended as " + outcome(s) + "."}</p></>}
      <dl>
        {s.workingDirectory && <><dt>Folder</dt><dd>{s.workingDirectory}</dd></>}
        {s.session && <><dt>Session</dt><dd>{s.session}</dd></>}
        <dt>Trace</dt><dd>{s.traceId}</dd>
      </dl>
      <p class="dim hint">Select a row for its texts. <kbd>j</kbd> <kbd>k</kbd> move, <kbd>e</kbd> steps through failures, <kbd>?</kbd> shows all keys.</p>
    </div>
  );
}

function Details({ base, id, row, tree, close }: { base: string; id: string; row: number; tree: Tree; close: () => void }) {
  const [whole, setWhole] = useState("");
  const { data, error } = useData<Row>(`${base}/row/${id}${whole === id ? "?whole" : ""}`);
  const last = useRef<Row | undefined>(undefined);
  if (data) last.current = data;
  const r = data ?? last.current;
  if (error) return <p class="note bad">{error.message}</p>;
  if (!r) return <Wait />;
  const total = tree.cost[row];
  // What the row's own requests cost: all but that of subagents and of usage without a request.
  let own = total, agents = false;
  for (let i = row + 1; i < tree.end[row]; i++) {
    const k = tree.c.kinds[tree.c.kind[i]];
    if (k === "agent") { own -= tree.cost[i]; agents ||= tree.cost[i] > 0; i = tree.end[i] - 1; } else if (k === "event") own -= tree.c.cost[i] ?? 0;
  }
  const wait = tree.c.waits[row];
  const kind = { run: "task", agent: "subagent", tool: "tool call", chat: "request to the model", span: "span of another program", event: "event", "no root": "" }[r.kind];
  return (
    <article class="row-details" aria-busy={!data} key={r.id}>
      <header>
        <h2><Mark status={r.status} /> {labelOf(r.label)} {r.number ? <span class="dim">#{r.number}</span> : null}</h2>
        <button class="close" aria-label="Close" onClick={close}>×</button>
        <p class="facts"><Facts items={[kind, r.started && "+" + duration(tree.c.at[row] * 1000), r.ended && r.kind !== "event" && duration(r.tookNs), r.model, r.problem?.by && <span class="warn">denied by {r.problem.by}</span>, wait && wait[1] > wait[0] && <span class="warn">waited {duration((wait[1] - wait[0]) * 1000)} for approval</span>]} /></p>
        {r.usage && <p class="facts"><Facts items={usageWords(r.usage)} /></p>}
        {(r.kind === "agent" || r.kind === "run") && total > 0 && Math.abs(total - own) > 5e-5 && <p class="facts"><Facts items={["own requests " + dollars(Math.max(0, own)), (agents ? "with subagents " : "with usage that has no request ") + dollars(total)]} /></p>}
      </header>
      {r.problem && (r.problem.message || r.problem.kind) && !r.parts.some((p) => p.name === "error") && <div class="part error"><div class="cap">{r.problem.kind || "error"}</div><pre tabIndex={0}>{r.problem.message}</pre></div>}
      {r.kind === "event" && r.parts.length === 0 && r.details?.length ? <ul class="plain-list">{r.details.map((d, i) => <li key={i}>{d}</li>)}</ul> : null}
      <Texts parts={r.parts} />
      {r.source ? <p class="dim source">{r.source}</p> : r.kind === "tool" && <button class="more" onClick={() => setWhole(id)}>Whole texts from the agent's files</button>}
      {r.fields.length > 0 && <dl class="ids">{r.fields.map((f, i) => <><dt key={"t" + i}>{f.Name}</dt><dd key={"d" + i}>{f.Text}</dd></>)}</dl>}
    </article>
  );
}
