import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useData, useShown } from "./api";
import { ago, clock, duration, place, plural } from "./format";
import { type Change, ChangeDialog } from "./hookedit";
import { useKeys } from "./keys";
import { agentNames, Command, Facts, Link, Mark, Problem, Wait } from "./parts";
import { put, useRoute } from "./route";
import type { Status } from "./types";
import { setTitle } from "./title";

// The configured hooks, as the API lists them.
export interface HookProblem { text: string; line?: number }
export interface HookRun { traceId: string; spanId: string; event?: string; tool?: string; command?: string; status?: string; decision?: string; reason?: string; started?: string; tookNs: number }
export interface Fields { matcher?: string; command?: string; args?: string[]; url?: string; if?: string; timeout?: number; async?: boolean }
export interface Hook {
  index: number; line: number; event: string; matcher: string; type: string; text: string; traits?: string[]; fields: Fields; records?: boolean;
  never?: string; partly?: string; hint?: string; problems?: HookProblem[]; fits?: boolean; why?: string;
  runs: { count: number; failed?: number; denied?: number; p50Ns?: number; p95Ns?: number; last?: HookRun };
}
export interface Off { id: string; event: string; matcher: string; text: string; since: string }
export interface HookFile {
  id: string; path: string; agent: string; scope: string; project?: string; plugin?: string; exists: boolean; sha256: string; needsTrust?: boolean; trusted?: boolean;
  editable?: boolean; off?: string; error?: string; hooks: Hook[]; problems?: HookProblem[]; switchedOff?: Off[];
}
interface Folder { path: string; readers: string; project?: string; hooks: { event: string; path: string; state: string; reason?: string; chained?: string }[] }
export interface Hooks {
  files: HookFile[]; folders: Folder[]; notes: { agent: string; text: string; hint?: string }[]; events: Record<string, string[]>;
  runs: HookRun[]; ends: Status[]; edit: boolean; asked?: { tool: string; input?: string; whole: boolean }; unknownTool?: boolean; tests?: Record<string, string[]>;
}
export interface Recorded { traceId: string; spanId: string; tool: string; detail?: string; started?: string }

export const agent = (host: string) => agentNames[host] ?? host;

export function HooksView() {
  const { query } = useRoute();
  const wanted = { tool: query.get("tool") ?? "", input: query.get("input") ?? "", call: /^[0-9a-f]{32}(-[0-9a-f]{8})?\.[0-9a-f]{16}$/.test(query.get("call") ?? "") ? query.get("call")! : "" }, mode = ["never", "fits"].includes(query.get("show") ?? "") ? query.get("show")! : "";
  const { data, error } = useShown<Hooks>("hooks" + (wanted.tool || wanted.call ? "?" + new URLSearchParams(wanted) : ""));
  const last = useRef<Hooks | undefined>(undefined);
  const [change, setChange] = useState<Change>();
  useEffect(() => { setTitle("Hooks · hookspan"); });
  if (data) last.current = data;
  const { data: plain } = useData<Hooks>(error?.status === 400 && !last.current ? "hooks" : null);
  const shown = data ?? (error?.status === 400 ? last.current ?? plain : undefined);
  if (error && error.status !== 400 && !shown) return <Problem error={error} />;
  if (!shown) return <Wait />;
  const tool = wanted.tool || (wanted.call && shown.asked?.tool) || "", input = wanted.call ? shown.asked?.input ?? "" : wanted.input;
  const files = shown.files.filter((f) => f.exists || f.error || shown.edit);
  const every = files.flatMap((f) => f.hooks), hooks = every.filter((h) => !h.records);
  const { runs, ends } = shown;
  const never = hooks.filter((h) => h.never).length;
  const fitting = hooks.filter((h) => h.fits), starting = fitting.filter((h) => !h.never).length;
  const failed = ends.filter((e) => e === "failed").length, denied = ends.filter((e) => e === "denied").length;
  const keep = (h: Hook) => (mode === "never" ? !!h.never : mode === "fits" ? !!h.fits : true);
  return (
    <div class="page">
      <HookKeys />
      <h1>Hooks</h1>
      <p class="sum">{hooks.length === 0 ? <>No hook of yours is configured. This makes one: <Command text="hookspan hooks add --event PreToolUse --matcher Bash -- ~/guard.sh" /></> : <><b>{hooks.length}</b> configured in {plural(files.filter((f) => f.hooks.some((h) => !h.records)).length, "file")}{never > 0 && <>, <b class="warn">{never}</b> of which never {never === 1 ? "runs" : "run"}</>}; {runs.length ? <><b>{runs.length < 100 ? runs.length : "100 and more"}</b> {runs.length === 1 ? "run" : "runs"}</> : "no run of them"} in the last day{failed > 0 && <>, <b class="bad">{failed}</b> failed</>}{denied > 0 && <>, <b class="warn">{denied}</b> denied</>}.</>}{every.length > hooks.length && <> {plural(every.length - hooks.length, "hook")} more {every.length - hooks.length === 1 ? "records" : "record"} for hookspan.</>}</p>
      {shown.notes.map((n) => <Warning key={n.text} label={n.agent && agent(n.agent)}>{n.text}{n.hint && <>: <code>{n.hint}</code></>}</Warning>)}
      <Which tool={tool} input={input} error={error?.status === 400 ? error.message : ""} />
      {tool && !error && <p class="note" role="status">{shown.unknownTool && <>No tool {tool} is known, of Cline's or Claude Code's; upper and lower case count. </>}{shown.asked && !shown.asked.whole && <>Of this call's arguments only the beginning is left, so “only if” was not tried. </>}A call of {tool} starts <b>{starting ? plural(starting, "hook") : "no hook"}</b>{fitting.length > starting && <>; {fitting.length - starting}{starting > 0 && " more"} would be for it but never {fitting.length - starting === 1 ? "runs" : "run"}</>}.</p>}
      <div class="filters" role="group" aria-label="Which hooks to show">
        {every.length > 0 && [["", "All"], ["never", "Never run"], ...(tool ? [["fits", "Started by this call"]] : [])].map(([v, name]) => <button key={v} class="toggle" aria-pressed={mode === v} onClick={() => put({ show: v }, true)}>{name}</button>)}
        {shown.edit && <button class="toggle" onClick={() => setChange({ kind: "test", tool, input })}>Test a call</button>}
      </div>
      {files.map((f) => <FileSection key={f.id} file={f} keep={keep} asked={!!tool && !error} edit={shown.edit} change={setChange} filtered={mode !== ""} />)}
      <Folders folders={mode ? [] : shown.folders} />
      {runs.length > 0 && !mode && (
        <section class="sums">
          <h2>Runs in the last day</h2>
          <div class="list runs">
            {runs.map((r, i) => <Link key={i} class="hit" to={`/t/${r.traceId}?span=${r.spanId}`}><Mark status={ends[i]} /><b>{r.event}{r.tool ? " · " + r.tool : ""}</b> <code>{r.command}</code> <span>{[r.decision, r.reason].filter(Boolean).join(": ")}</span><span class="took">{duration(r.tookNs)} · {clock(r.started)}</span></Link>)}
          </div>
        </section>
      )}
      {change && <ChangeDialog change={change} hooks={shown} close={() => setChange(undefined)} next={setChange} />}
    </div>
  );
}

// HookKeys are the keys of the view, which answer before those of the whole page.
function HookKeys() {
  useKeys({
    j: () => step(".hook", 1), k: () => step(".hook", -1), e: () => step(".hook.never", 1), E: () => step(".hook.never", -1),
    "/": () => document.querySelector<HTMLInputElement>(".which input")?.focus(),
    Enter: () => press(".hook", "Edit"), x: () => press(".hook", "Switch off", "Switch on"), v: () => press(".hook", "Test"), a: () => press(".hook-file", "Add a hook"),
  });
  return null;
}

// step moves the focus to the next hook of a kind, or to the one before.
function step(kind: string, by: 1 | -1) {
  const all = [...document.querySelectorAll<HTMLElement>(kind)], from = document.activeElement?.closest(".hook");
  const after = (e: Element) => !from || !!(from.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING);
  const next = by > 0 ? all.find((e) => e !== from && after(e)) : all.reverse().find((e) => e !== from && from && !after(e));
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

// press presses a button of the hook or file that has the focus.
function press(part: string, ...names: string[]) {
  const at = document.activeElement?.closest(part) ?? (part === ".hook" ? null : document.querySelector(part));
  [...(at?.querySelectorAll("button") ?? [])].find((b) => names.includes(b.textContent ?? ""))?.click();
}

export function Warning({ label, children }: { label?: string; children: ComponentChildren }) {
  return <p class="warning"><Mark status="denied" word="warning" /> <span>{label && <b>{label}: </b>}{children}</span></p>;
}

// Hint is a command and what to know of it.
function Hint({ text }: { text?: string }) {
  if (!text) return null;
  return <>: <code>{text}</code>{text.includes("--pre-tool-use") && <> (<code>--help</code> says what that costs)</>}</>;
}

// Which asks for a call, typed or recorded.
function Which({ tool, input, error }: { tool: string; input: string; error: string }) {
  const [name, setName] = useState(tool), [args, setArgs] = useState(input);
  useEffect(() => { setName(tool); setArgs(input); }, [tool, input]);
  const ask = (t = name, i = args) => put({ tool: t.trim(), input: t.trim() ? i.trim() : "", call: "", ...(t.trim() ? {} : { show: "" }) }, true);
  const enter = (e: KeyboardEvent) => { if (e.key === "Enter") ask(); };
  return (
    <section class="which" aria-label="Which hooks does a call start?">
      <h2>Which hooks does a call start?</h2>
      <div class="fields">
        <label>Tool <input type="text" value={name} placeholder="Bash, execute_command, mcp__github__.*" onInput={(e) => setName(e.currentTarget.value)} onKeyDown={enter} spellcheck={false} /></label>
        <label class="wide">Arguments <input type="text" value={args} maxLength={6000} placeholder='{"command": "git push"}, or nothing' onInput={(e) => setArgs(e.currentTarget.value)} onKeyDown={enter} spellcheck={false} aria-invalid={!!error} /></label>
        <RecordedCall label="Recorded call" take={(c) => put({ tool: "", input: "", call: c.traceId + "." + c.spanId }, true)} />
        <button class="button" onClick={() => ask()}>Ask</button>
        {tool && <button class="plain clear" onClick={() => ask("", "")}>Clear</button>}
      </div>
      {error && <p class="bad" role="alert">{error}</p>}
    </section>
  );
}

// RecordedCall offers the latest calls of the store.
export function RecordedCall({ label, host = "", take }: { label: string; host?: string; take: (c: Recorded) => void }) {
  const { data } = useData<Recorded[]>("hooks/calls?" + new URLSearchParams({ agent: host }));
  if (!data?.length) return null;
  return (
    <label>{label} <select value="" onChange={(e) => { const c = data.find((x) => x.spanId === e.currentTarget.value); if (c) take(c); e.currentTarget.value = ""; }}>
      <option value="">choose</option>
      {data.map((c) => <option key={c.spanId} value={c.spanId}>{c.tool}{c.detail ? ": " + c.detail.slice(0, 60) : ""}, {clock(c.started)}</option>)}
    </select></label>
  );
}

const scopes: Record<string, string> = { user: "yours, in every project", local: "yours, in this project", managed: "your organisation's", plugin: "a plugin's" };

function scopeOf(f: HookFile): string {
  if (f.scope === "plugin") return "the plugin " + f.plugin;
  if (f.scope === "project") return "of the project " + place(f.project);
  return f.project ? "yours, in the project " + place(f.project) : scopes[f.scope] ?? f.scope;
}

function FileSection({ file: f, keep, asked, edit, change, filtered }: { file: HookFile; keep: (h: Hook) => boolean; asked: boolean; edit: boolean; change: (c: Change) => void; filtered: boolean }) {
  const hooks = f.hooks.filter(keep), mine = hooks.filter((h) => !h.records), records = hooks.filter((h) => h.records);
  if (filtered && !hooks.length) return null;
  const can = edit && f.editable && !f.error;
  const row = (h: Hook) => <Row key={h.index} hook={h} file={f} asked={asked} can={!!can} change={change} />;
  return (
    <section class="sums hook-file" data-path={f.path}>
      <h2><span class="badge">{agent(f.agent)}</span> <code>{f.path}</code></h2>
      <p class="facts"><span><Facts items={[scopeOf(f), f.needsTrust && f.exists && !f.error && (f.trusted ? "trusted" : <span class="warn">not trusted</span>), !f.exists && !f.error && "not there yet", !f.editable && "read only"]} /></span>
        {can && <span class="acts"><button class="plain" onClick={() => change({ kind: "add", file: f })}>Add a hook</button>{f.needsTrust && f.exists && <button class="plain" onClick={() => change({ kind: f.trusted ? "untrust" : "trust", file: f })}>{f.trusted ? "Stop trusting" : "Trust"}</button>}</span>}</p>
      {f.error && <p class="callout failed"><Mark status="failed" /> It cannot be read, so none of its hooks runs: {f.error}</p>}
      {f.off && f.hooks.length > 0 && <Warning><b>None of these runs:</b> {f.off}.{f.needsTrust && !f.trusted && <> Read what it runs, then <code>hookspan hooks trust</code></>}</Warning>}
      {(f.problems ?? []).map((p, i) => <Warning key={i}>{p.line ? `Line ${p.line}: ` : ""}{p.text}</Warning>)}
      <ul class="hooks">{mine.map(row)}</ul>
      {records.length > 0 && <details open={filtered || asked}><summary class="note">{plural(records.length, "hook")} {records.length === 1 ? "records" : "record"} for hookspan</summary><ul class="hooks">{records.map(row)}</ul></details>}
      {!filtered && (f.switchedOff ?? []).map((h) => (
        <div class="hook off" tabIndex={-1} key={h.id}>
          <div class="hook-head"><b>{h.event}</b> <span class="matcher">{h.matcher || "every call"}</span> <code>{h.text}</code></div>
          <p class="facts"><span><Facts items={["switched off " + ago(h.since)]} /></span>{can && <span class="acts"><button class="plain" onClick={() => change({ kind: "on", file: f, off: h })}>Switch on</button></span>}</p>
        </div>
      ))}
      {!hooks.length && !f.switchedOff?.length && !f.error && f.exists && <p class="note">No hook.</p>}
    </section>
  );
}

const eventsWithoutMatcher = ["UserPromptSubmit", "Stop", "PostToolBatch", "TeammateIdle", "TaskCreated", "TaskCompleted", "WorktreeCreate", "WorktreeRemove", "MessageDisplay", "CwdChanged"];

function Row({ hook: h, file: f, asked, can, change }: { hook: Hook; file: HookFile; asked: boolean; can: boolean; change: (c: Change) => void }) {
  const r = h.runs, last = r.last;
  return (
    <li tabIndex={-1} class={"hook" + (asked && !h.fits ? " unfit" : "") + (h.never ? " never" : "")}>
      <div class="hook-head">
        {asked && <Mark status={!h.fits ? "" : h.never ? "unfinished" : "ok"} word={!h.fits ? "" : h.never ? "would start" : "starts"} />}
        <b>{h.event}</b> <span class="matcher">{eventsWithoutMatcher.includes(h.event) ? "" : h.matcher && h.matcher !== "*" ? h.matcher : "every call"}</span> <code>{h.text}</code>
      </div>
      <p class="facts"><span><Facts items={[
        "line " + h.line, h.type !== "command" && h.type, ...(h.traits ?? []), h.records && "records for hookspan",
        h.records ? "" : r.count ? plural(r.count, "run") + " in the last day" : "no run in the last day", !!r.failed && <span class="bad">{r.failed} failed</span>, !!r.denied && <span class="warn">{r.denied} denied</span>,
        r.p50Ns !== undefined && `half within ${duration(r.p50Ns)}, 95 % within ${duration(r.p95Ns ?? 0)}`,
        last && <>last <Link class="plain" to={`/t/${last.traceId}?span=${last.spanId}`}>{last.decision || last.status || "run"}</Link>{last.reason && <>: {last.reason.slice(0, 120)}</>}</>,
      ]} /></span>
        {can && <span class="acts"><button class="plain" onClick={() => change({ kind: "change", file: f, hook: h })}>Edit</button><button class="plain" onClick={() => change({ kind: "off", file: f, hook: h })}>Switch off</button><button class="plain" onClick={() => change({ kind: "test", file: f, hook: h })}>Test</button></span>}</p>
      {asked && h.why && <p class="why-fits">{!h.fits ? "Does not start: " : h.never ? "Would start: " : "Starts: "}{h.why}</p>}
      {h.never && h.never !== f.off && <Warning><b>Never runs.</b> {h.never}<Hint text={h.hint} /></Warning>}
      {h.partly && <Warning><b>Runs {h.partly.split(":")[0]}:</b>{h.partly.slice(h.partly.indexOf(":") + 1)}<Hint text={h.hint} /></Warning>}
      {(h.problems ?? []).map((p, i) => <Warning key={i}>{p.text}</Warning>)}
    </li>
  );
}

// Folders are those in which Cline looks for its own hook files.
function Folders({ folders }: { folders: Folder[] }) {
  if (!folders.length) return null;
  return (
    <section class="sums">
      <h2>Cline's own hook files</h2>
      {folders.map((d) => (
        <div class="hook-folder" key={d.path}>
          <p class="facts"><code>{d.path}</code> <Facts items={[d.readers]} /></p>
          <ul class="plain-list">{d.hooks.map((h) => <li key={h.event}><Mark status={h.state === "installed" ? "ok" : h.state === "missing" || h.state === "outdated" ? "failed" : "unknown"} word={h.state} /> {h.event} <span class="dim">{h.state === "not hookspan's" ? "yours" : h.state === "installed" ? "hookspan's" : h.state}{h.reason ? ", " + h.reason : ""}</span></li>)}</ul>
        </div>
      ))}
    </section>
  );
}
