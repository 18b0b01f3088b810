import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { download, type Refused } from "./api";
import { dollars, duration, foldersOf, place, placesOf, tokens } from "./format";
import { Prose } from "./markdown";
import { go } from "./route";
import type { Listed, Part, Status, Summary, Totals, Usage } from "./types";

const symbols: Record<Status, string> = { "": "·", info: "i", ok: "✓", failed: "✗", denied: "⊘", unfinished: "…", unknown: "?", running: "●" };
const words: Record<Status, string> = { "": "", info: "note", ok: "succeeded", failed: "failed", denied: "denied", unfinished: "never finished", unknown: "outcome unknown", running: "running" };

// Took is how long a task took, and of one that runs how long it has been running.
export function Took({ summary: s }: { summary: { outcome?: string; started?: string; durationMs: number } }) {
  const runs = s.outcome === "running" && !!s.started;
  const [now, set] = useState(Date.now());
  useEffect(() => {
    if (!runs) return;
    const timer = setInterval(() => set(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [runs]);
  return <>{duration((runs ? Math.max(s.durationMs, now - new Date(s.started!).getTime()) : s.durationMs) * 1e6)}</>;
}

// Sheet lies above the page, which answers nothing meanwhile.
export function Sheet({ label, class: name, close, children }: { label: string; class: string; close: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => { ref.current?.showModal(); }, []);
  return <dialog ref={ref} class={name} aria-label={label} onClose={close} onClick={(e) => { if (e.target === ref.current) close(); }}><div>{children}</div></dialog>;
}

export function Mark({ status, word = words[status] }: { status: Status; word?: string }) {
  return word ? <span class={"mark " + status} role="img" aria-label={word} title={word}>{symbols[status]}</span> : <span class={"mark " + status} aria-hidden="true">{symbols[status]}</span>;
}

// Link leads to another view of the page.
export function Link({ to, class: name, children, label, title, current }: { to: string; class?: string; children: ComponentChildren; label?: string; title?: string; current?: boolean }) {
  return (
    <a href={to} class={name} title={title} aria-label={label} aria-current={current ? "page" : undefined} onClick={(e) => {
      if (e.button || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
      e.preventDefault();
      go(to);
    }}>{children}</a>
  );
}

// Projects are links to the folders of a task's workspace.
export const Projects = ({ of }: { of: Listed }) => <>{foldersOf(of.summary).map((dir, i) => (
  <Link key={i} class={i ? "also" : ""} title={dir} to={"/?project=" + encodeURIComponent([of.project ?? "", ...(of.otherProjects ?? [])][i] ?? "")}>{place(dir) || "all projects"}</Link>
))}</>;

// Alert says above what was shown last that a filter is refused.
export const Alert = ({ error }: { error?: Refused }) => (error ? <p class="note bad" role="alert">{sentence(error.message)} {error.hint && sentence(error.hint)}</p> : null);

export function Problem({ error }: { error: Refused }) {
  return (
    <div class="empty" role="alert">
      <h1>{error.status === 401 ? "This tab has no access" : error.status === 404 ? "Not found" : error.status === 0 ? "No connection" : error.status === 503 ? "Not ready yet" : "That did not work"}</h1>
      <p>{sentence(error.message)}</p>
      {error.hint && <p class="dim"><Commands text={sentence(error.hint)} /></p>}
      {error.status >= 400 && error.status !== 401 && <p><Link to="/" class="plain">All sessions</Link></p>}
    </div>
  );
}

// Commands shows the commands in a text as code.
export const Commands = ({ text }: { text: string }) => (
  <>{text.split(/(\bhookspan (?:hooks [a-z]+|install|uninstall|doctor|status|flush|upgrade|config|import|test|delete|ui)\b(?: --[a-z-]+)*)/).map((t, i) => (i % 2 ? <code key={i}>{t}</code> : t))}</>
);

export const sentence = (s: string) => s.charAt(0).toUpperCase() + s.slice(1) + (/[.!?]$/.test(s) ? "" : ".");

export const Wait = () => {
  const [late, set] = useState(false);
  useEffect(() => { const t = setTimeout(() => set(true), 250); return () => clearTimeout(t); }, []);
  return late ? <p class="wait" role="status">Loading…</p> : null;
};

// cached is the cached share of the input in percent, rounded as in the terminal.
export const cached = (u: Usage) => Math.round(100 * u.cacheReadTokens / u.inputTokens) || 0;

// usageWords describes tokens and cost.
export function usageWords(u: Usage | undefined): string[] {
  if (!u) return [];
  const out = [tokens(u.inputTokens) + " in" + (u.cacheReadTokens ? ` (${cached(u)} % cached)` : ""), tokens(u.outputTokens) + " out"];
  if (u.costUsd !== undefined) out.unshift(dollars(u.costUsd));
  return out;
}

export function outcome(s: Summary): string {
  return s.waiting ? "waits for you" : s.outcome ? s.outcome : "no root span";
}

// agentNames are the agents' names by host; the server knows them.
export const agentNames: Record<string, string> = {};

// labelOf names a row without what the icon says: a run and a subagent by the agent.
export function labelOf(label: string): string {
  const agent = label.startsWith("invoke_agent ") ? label.slice(13) : "";
  if (agent) return agentNames[agent] ?? agent;
  return label.replace(/^chat /, "").replace(/^permission_request$/, "asked for approval").replace(/^turn_failed$/, "a task failed");
}

export const Facts = ({ items }: { items: ComponentChildren[] }) => (
  <span class="fact-list">{items.filter((x) => x !== "" && x !== undefined && x !== false && x !== null).map((x, i) => <span class="fact" key={i}>{x}</span>)}</span>
);

// Texts shows the texts of a row. All are text nodes.
export function Texts({ parts, limit = 60 }: { parts: Part[]; limit?: number }) {
  return <>{parts.map((p, i) => <Text key={i + p.name} part={p} limit={limit} />)}</>;
}

function Text({ part: p, limit }: { part: Part; limit: number }) {
  const [all, set] = useState(false);
  const lines = p.text.split("\n");
  const much = !p.doc && (lines.length > limit || p.text.length > limit * 200);
  const text = much && !all ? lines.slice(0, limit).join("\n").slice(0, limit * 200) : p.text;
  const more = much && !all && <button class="more" onClick={() => set(true)}>Show all {lines.length.toLocaleString("en")} lines</button>;
  if (p.short) return <div class="part short"><div class="cap">{p.name}</div><code>{p.text}</code></div>;
  return (
    <section class={"part " + (p.name === "error" ? "error" : "")}>
      <div class="cap">{p.name}{p.text.endsWith("…") && <span class="dim"> beginning only</span>}<Copy text={p.text} /></div>
      {p.lang === "diff" ? <Diff lines={text.split("\n")} /> : p.prose ? <Prose text={text} doc={p.doc} /> : <pre tabIndex={0}>{text}</pre>}
      {more}
    </section>
  );
}

// wordsOf pairs removed lines with the added ones below them, and returns the words of each, of which every second one differs.
function wordsOf(lines: string[]): Map<number, string[]> {
  const out = new Map<number, string[]>();
  for (let i = 0; i < lines.length; ) {
    if (lines[i][0] !== "-") { i++; continue; }
    let plus = i;
    while (lines[plus]?.[0] === "-") plus++;
    let end = plus;
    while (lines[end]?.[0] === "+") end++;
    for (let k = 0; i + k < plus && plus + k < end; k++) compare(lines[i + k], lines[plus + k])?.forEach((words, side) => out.set(side ? plus + k : i + k, words));
    i = end;
  }
  return out;
}

// compare splits two lines into what both have and what one has alone, by turns, unless they have little in common.
function compare(a: string, b: string): [string[], string[]] | undefined {
  const [x, y] = [a, b].map((l) => l.slice(1).match(/[\p{L}\p{N}_]+|\s+|./gu) ?? []), w = y.length + 1;
  if (x.length * y.length > 40_000) return undefined;
  const best = new Uint32Array((x.length + 1) * w); // the characters that both have from two words on
  for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--) best[i * w + j] = x[i] === y[j] ? best[(i + 1) * w + j + 1] + x[i].length : Math.max(best[(i + 1) * w + j], best[i * w + j + 1]);
  if (best[0] * 3 < Math.min(a.length, b.length)) return undefined;
  const out: [string[], string[]] = [[a[0]], [b[0]]];
  const add = (side: number, common: boolean, word: string) => { const l = out[side]; if ((l.length % 2 === 1) === common) l[l.length - 1] += word; else l.push(word); };
  for (let i = 0, j = 0; i < x.length || j < y.length; ) {
    if (i < x.length && j < y.length && x[i] === y[j]) { add(0, true, x[i++]); add(1, true, y[j++]); }
    else if (j === y.length || (i < x.length && best[(i + 1) * w + j] >= best[i * w + j + 1])) add(0, false, x[i++]);
    else add(1, false, y[j++]);
  }
  return out;
}

export function Diff({ lines, numbers }: { lines: string[]; numbers?: boolean }) {
  const words = useMemo(() => wordsOf(lines), [lines]);
  return (
    <pre class={"diff" + (numbers ? " numbered" : "")} tabIndex={0}>{lines.map((l, i) => (
      <span key={i} class={l[0] === "+" ? "plus" : l[0] === "-" ? "minus" : l[0] === "@" ? "gap" : ""}>{words.get(i)?.map((x, k) => (k % 2 ? <i key={k}>{x}</i> : x)) ?? (l || " ")}{"\n"}</span>
    ))}</pre>
  );
}

export const share = (part: number, whole: number) => (whole > 0 ? Math.max(0, Math.min(1, part / whole)) : 0);

export const Meter = ({ part }: { part: number }) => (
  <svg class="meter" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width={part * 100} height="8" /></svg>
);

export function Sum({ totals: t, sessions }: { totals: Totals; sessions?: number }) {
  const u = t.usage;
  if (!t.tasks) return <p class="sum"><b>0</b> tasks.</p>;
  return (
    <p class="sum">
      <b>{t.tasks.toLocaleString("en")}</b> {t.tasks === 1 ? "task" : "tasks"}{sessions !== undefined && sessions < t.tasks ? <> in <b>{sessions.toLocaleString("en")}</b> {sessions === 1 ? "session" : "sessions"}</> : ""} took <b>{duration(t.tookNs)}</b>
      {u?.costUsd !== undefined ? <> and cost <b>{dollars(u.costUsd)}</b>{t.ofModelUsage?.costUsd !== undefined && t.ofModelUsage.costUsd !== u.costUsd && <>, <b>{dollars(t.ofModelUsage.costUsd)}</b> of it by the model,</>}</> : ""}
      {u ? <> for <b>{tokens(u.inputTokens + u.outputTokens)}</b> tokens{u.cacheReadTokens ? <>, {cached(u)} % of the input cached</> : ""}</> : ""}.
      {t.toolCalls > 0 && <> {t.toolFailures ? <><b class="bad">{t.toolFailures.toLocaleString("en")}</b> of </> : "None of the "}<b>{t.toolCalls.toLocaleString("en")}</b> tool calls failed{t.toolDenials ? <>, <b class="warn">{t.toolDenials.toLocaleString("en")}</b> {t.toolDenials === 1 ? "was" : "were"} denied</> : ""}.</>}
      {t.waitedNs ? <> Agents waited <b>{duration(t.waitedNs)}</b> for you.</> : ""}
      {t.unpricedModels?.length ? <> <span class="warn">No price is known for {t.unpricedModels.join(", ")}.</span></> : ""}
    </p>
  );
}

const formats = [["md", "Markdown", "md"], ["html", "HTML", "html"], ["otlp", "JSON", "json"]];

// Export is a menu of the forms in which hookspan export writes a task. Nothing is downloaded until one is chosen.
export function Export({ id, runs }: { id: string; runs: boolean }) {
  const [first, set] = useState<0 | -1>(), open = first !== undefined; // the item that the menu opens at
  const menu = useRef<HTMLSpanElement>(null);
  const items = () => [...menu.current!.querySelectorAll<HTMLElement>("[role=menuitem]")];
  useLayoutEffect(() => { if (open) items().at(first)!.focus(); }, [open]);
  const close = () => { set(undefined); menu.current!.querySelector("button")!.focus(); };
  const choose = async ([format, , ending]: string[]) => {
    close();
    try { await download(`traces/${id}/export?format=${format}`, `hookspan-${id.slice(0, 8)}.${ending}`); } catch (why) { say((why as Error).message); }
  };
  return (
    <span class="menu" ref={menu} onMouseDown={(e) => open && e.preventDefault() /* Safari takes the focus from a button that is clicked */} onFocusOut={(e) => { if (!menu.current!.contains(e.relatedTarget as Node)) set(undefined); }} onKeyDown={(e) => {
      const arrow = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (!open) { if (arrow) { e.preventDefault(); if (!runs) set(arrow > 0 ? 0 : -1); } return; }
      e.stopPropagation(); // The view behind has keys as well.
      const all = items(), at = all.indexOf(document.activeElement as HTMLElement);
      const to = { Home: 0, End: -1 }[e.key] ?? (arrow && Math.max(-1, at + arrow) % all.length);
      const next = to === undefined ? all.find((x) => x.innerText[0].toLowerCase() === e.key) : all.at(to);
      if (e.key === "Escape") close(); else if (next) next.focus(); else return;
      e.preventDefault();
    }}>
      <button class="plain" aria-haspopup="menu" aria-expanded={open} disabled={runs} title={runs ? "A task is stored when it has ended" : "Without the secrets that hookspan recognizes"} onClick={() => (open ? close() : set(0))}>Export</button>
      {open && <span role="menu" aria-label="Export">{formats.map((f) => <button key={f[0]} role="menuitem" tabIndex={-1} onClick={() => choose(f)}>{f[1]}</button>)}</span>}
    </span>
  );
}

export async function copy(text: string) {
  try { await navigator.clipboard.writeText(text); say("Copied"); } catch { say("The browser does not allow copying"); }
}

export const Copy = ({ text }: { text: string }) => <button class="plain copy" onClick={(e) => { e.stopPropagation(); copy(text); }}>Copy</button>;

// Command is a command with a button that copies it.
export const Command = ({ text }: { text: string }) => <span class="command"><code>{text}</code><Copy text={text} /></span>;

// Marked is a text in which the words of a search are marked. With near it begins not far before the first.
export function Marked({ text, find, near }: { text: string; find: string; near?: boolean }) {
  const out: ComponentChildren[] = [], places = placesOf(text, find);
  let last = near && places[0]?.[0] > 20 ? places[0][0] - 12 : 0;
  if (last) out.push("…");
  for (const [from, to] of places) {
    out.push(text.slice(last, from), <mark key={from}>{text.slice(from, to)}</mark>);
    last = to;
  }
  return <>{out}{text.slice(last)}</>;
}

// say shows a short message for a moment.
export const say = (text: string) => dispatchEvent(new CustomEvent("say", { detail: text }));
