import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get, post, Refused } from "./api";
import { agent, type Hook, type HookFile, type Hooks, type Off, RecordedCall, Warning } from "./hooks";
import { useKeys } from "./keys";
import { Diff, Mark, sentence } from "./parts";

// A change of hooks that is being made.
export interface Change { kind: "add" | "change" | "off" | "on" | "trust" | "untrust" | "undo" | "test"; file?: HookFile; hook?: Hook; off?: Off; tool?: string; input?: string }

interface Match { path: string; line: number; text: string; runs: boolean; why: string }
interface Preview { id: string; what: string; path?: string; sha256: string; diff?: string; notes?: string[]; code: boolean; call?: string[]; matches?: Match[] }
interface Result { runs: { where: string; text: string; ending: string; stdout?: string; stderr?: string; verdict: string[] }[]; answer?: string; effect: string; notes?: string[] }
interface Done { text: string; hint?: string; backup?: string; undo?: string; sha256?: string; result?: Result }

const titles = { add: "Add a hook", change: "Edit a hook", off: "Switch a hook off", on: "Switch a hook on", trust: "Trust a file", untrust: "Stop trusting a file", undo: "Undo", test: "Test hooks with a call" };
const needsForm = (c: Change) => c.kind === "add" || c.kind === "change" || c.kind === "test";

const same = (a: Hook, b: Hook) => a.event === b.event && a.matcher === b.matcher && a.text === b.text;

// ChangeDialog shows what a change would do, asks for the code if it needs one, and has
// it made. Without a form, the difference is shown at once.
export function ChangeDialog({ change, hooks, close, next }: { change: Change; hooks: Hooks; close: () => void; next: (c: Change) => void }) {
  const ref = useRef<HTMLDialogElement>(null);
  const [preview, setPreview] = useState<Preview>();
  const [done, setDone] = useState<Done>();
  const [error, setError] = useState<Refused>();
  const [busy, setBusy] = useState(false);
  const [code, setCode] = useState("");
  const asked = useRef<Record<string, unknown>>({});
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const dialog = ref.current!;
    dialog.addEventListener("close", close);
    dialog.showModal();
    return () => {
      // The event comes later, when another dialog may be open.
      dialog.removeEventListener("close", close);
      dialog.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  useEffect(() => {
    setPreview(undefined); setDone(undefined); setError(undefined); setCode("");
    if (!needsForm(change)) look({});
  }, [change]);
  useKeys({ Escape: close });
  const run = async (f: () => Promise<void>) => {
    setBusy(true); setError(undefined);
    try { await f(); } catch (e) { setError(e as Refused); } finally { setBusy(false); }
  };
  const look = (fields: Record<string, unknown>) => run(async () => {
    asked.current = fields;
    setCode("");
    // The list may have changed since the dialog was opened.
    const f = (change.kind !== "undo" && hooks.files.find((x) => x.id === change.file?.id)) || change.file, h = change.hook;
    const at = h && f && change.kind !== "test" ? f.hooks.find((x) => x.index === h.index && same(x, h)) ?? f.hooks.find((x) => same(x, h)) : h;
    if (h && !at) throw new Refused(409, "this hook is not in the file any more: nothing was done", "close this and look at the list");
    setPreview(await post<Preview>("hooks/preview", { kind: change.kind, file: f?.id ?? "", sha256: f?.sha256 ?? "", hook: at?.index ?? 0, off: change.off?.id ?? "", ...fields }));
  });
  const apply = () => run(async () => { setDone(await post<Done>("hooks/apply", { id: preview!.id, sha256: preview!.sha256, code })); });
  const test = change.kind === "test";
  const back = needsForm(change) ? () => { setPreview(undefined); setError(undefined); } : undefined;
  return (
    <dialog ref={ref} class="edit" aria-label={titles[change.kind]}>
      <div>
        <h2>{titles[change.kind]}</h2>
        {change.file && <p class="facts"><span class="badge">{agent(change.file.agent)}</span> <code>{change.file.path}</code></p>}
        <div hidden={!!preview || !needsForm(change)}>
          {test ? <TestForm key={String(change.hook?.index) + change.file?.id} change={change} hooks={hooks} busy={busy} look={look} /> : needsForm(change) && <HookForm change={change} hooks={hooks} busy={busy} look={look} />}
        </div>
        {preview && !done && (
          <div class="preview">
            <p>{preview.what}</p>
            {preview.diff && <Diff lines={preview.diff.replace(/\n$/, "").split("\n")} />}
            {(preview.call ?? []).map((c, i) => <p key={i}><code>{c}</code></p>)}
            {preview.matches && <Matches list={preview.matches} />}
            {(preview.notes ?? []).map((n, i) => <Warning key={i}>{n}</Warning>)}
            {preview.code && <label class="code">Code from the terminal in which hookspan ui runs <input type="text" value={code} autocomplete="off" spellcheck={false} autofocus onInput={(e) => setCode(e.currentTarget.value)} onKeyDown={(e) => { if (e.key === "Enter" && code) apply(); }} /></label>}
            <p class="acts">
              {!(test && !preview.code) && <button class="button" disabled={busy || (preview.code && !code.trim())} onClick={apply}>{busy ? "Wait…" : test ? "Run them" : change.kind === "trust" ? "Trust" : change.kind === "untrust" ? "Stop trusting" : "Write"}</button>}
              {back && <button class="plain" onClick={back}>Back</button>}
            </p>
          </div>
        )}
        {done && (
          <div class="done" role="status">
            {done.result ? <TestResult result={done.result} /> : <p><Mark status="ok" /> {done.text}</p>}
            {done.hint && <Warning>{done.hint}</Warning>}
            {done.backup && <p class="facts">The file as it was: <code>{done.backup}</code></p>}
            <p class="acts">
              <button class="button" onClick={close}>Close</button>
              {done.undo && <button class="plain" onClick={() => next({ kind: "undo", file: { ...change.file!, sha256: done.sha256! } })}>Undo</button>}
              {test && <button class="plain" onClick={() => { setDone(undefined); setPreview(undefined); }}>Another call</button>}
            </p>
          </div>
        )}
        {error && <div class="callout failed" role="alert"><Mark status="failed" /> <span>{sentence(error.message)} {error.hint && sentence(error.hint)}</span>{error.status === 409 && preview && <button class="plain" onClick={() => look(asked.current)}>Look again</button>}</div>}
        <button class="close" aria-label="Close" onClick={close}>×</button>
      </div>
    </dialog>
  );
}

function Matches({ list }: { list: Match[] }) {
  if (!list.length) return <p>No hook is configured for this event.</p>;
  return <ul class="matches">{list.map((m, i) => <li key={i}><Mark status={m.runs ? "ok" : ""} word={m.runs ? "runs" : ""} /> <div><b>{m.runs ? "runs" : "does not run"}</b> <code>{m.text}</code><p class="dim">{m.why}</p><p class="dim">{m.path}:{m.line}</p></div></li>)}</ul>;
}

function TestResult({ result: r }: { result: Result }) {
  return (
    <>
      <p><b>{r.effect}</b></p>
      {r.answer && <p class="facts">answer <code>{r.answer}</code></p>}
      {r.runs.map((x, i) => (
        <section class="test-run" key={i}>
          <p><code>{x.text}</code> <b>{x.ending}</b></p>
          <p class="dim">{x.where}</p>
          {x.verdict.map((v, k) => <p key={k}><span class="cap">verdict</span> {v}</p>)}
          {x.stdout && <><div class="cap">stdout</div><pre tabIndex={0}>{x.stdout}</pre></>}
          {x.stderr && <><div class="cap">stderr</div><pre tabIndex={0}>{x.stderr}</pre></>}
        </section>
      ))}
      {!r.runs.length && <p>No hook was started.</p>}
      {(r.notes ?? []).map((n, i) => <Warning key={i}>{n}</Warning>)}
    </>
  );
}

const Field = ({ label, note, children }: { label: string; note?: string; children: ComponentChildren }) => <label class="field"><span>{label}</span>{children}{note && <small>{note}</small>}</label>;

function HookForm({ change, hooks, busy, look }: { change: Change; hooks: Hooks; busy: boolean; look: (f: Record<string, unknown>) => void }) {
  const h = change.hook, old = h?.fields ?? {};
  const events = hooks.events[change.file!.agent] ?? [];
  const start = { event: h?.event ?? "PreToolUse", matcher: old.matcher ?? "", command: old.command ?? "", args: (old.args ?? []).join("\n"), url: old.url ?? "", if: old.if ?? "", timeout: old.timeout ? String(old.timeout) : "", async: !!old.async };
  const [v, set] = useState(start);
  const [http, setHTTP] = useState(h?.type === "http");
  const put = (x: Partial<typeof start>) => set({ ...v, ...x });
  const text = (key: "matcher" | "command" | "url" | "if" | "timeout") => ({ value: v[key], spellcheck: false, onInput: (e: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) => put({ [key]: e.currentTarget.value }) });
  const submit = () => {
    const out: Record<string, unknown> = {};
    // A change has what was changed.
    for (const key of ["event", "matcher", http ? "url" : "command", "if"] as const) if (!h || v[key] !== start[key]) out[key] = v[key];
    if (old.args && v.args !== start.args) out.args = v.args === "" ? [] : v.args.split("\n");
    if (v.timeout !== start.timeout) out.timeout = v.timeout.trim() === "" ? 0 : Number(v.timeout.replace(",", "."));
    if (Number.isNaN(out.timeout)) out.timeout = -1;
    if (v.async !== start.async) out.async = v.async;
    look(out);
  };
  const known = h?.type === "command" || h?.type === "http" || !h;
  const lines = old.args && old.args.every((a) => !a.includes("\n"));
  return (
    <div class="hook-form">
      <Field label="Event"><select value={v.event} onChange={(e) => put({ event: e.currentTarget.value })}>{[...new Set([...events, v.event])].map((x) => <option key={x}>{x}</option>)}</select></Field>
      <Field label="Matcher" note="a name, several with |, or an expression; nothing for every call"><input type="text" {...text("matcher")} placeholder="Bash" /></Field>
      {!h && <Field label="Runs"><select value={http ? "http" : "command"} onChange={(e) => setHTTP(e.currentTarget.value === "http")}><option value="command">a command</option><option value="http">a request</option></select></Field>}
      {known && (http ? <Field label="Address"><input type="text" {...text("url")} placeholder="https://" /></Field> : <Field label="Command" note={old.args ? "a program, started without a shell" : "a line for the shell"}><textarea {...text("command")} rows={Math.min(8, v.command.split("\n").length)} placeholder="~/hooks/guard.sh" /></Field>)}
      {lines && <Field label="Arguments" note="one a line"><textarea rows={Math.min(8, old.args!.length + 1)} value={v.args} spellcheck={false} onInput={(e) => put({ args: e.currentTarget.value })} /></Field>}
      <Field label="Only if" note="a permission rule; for tool events"><input type="text" {...text("if")} placeholder="Bash(rm *)" /></Field>
      <Field label="Time limit" note="seconds"><input type="text" {...text("timeout")} placeholder="60" /></Field>
      {!http && <label class="check"><input type="checkbox" checked={v.async} onChange={(e) => put({ async: e.currentTarget.checked })} /> In the background: it can then decide nothing</label>}
      <p class="acts"><button class="button" disabled={busy} onClick={submit}>Show the difference</button></p>
    </div>
  );
}

const texts: Record<string, string> = { PostToolUse: "Result", PostToolUseFailure: "Error", UserPromptSubmit: "Prompt", Notification: "Message", Stop: "Last answer" };

function TestForm({ change, hooks, busy, look }: { change: Change; hooks: Hooks; busy: boolean; look: (f: Record<string, unknown>) => void }) {
  const [host, setHost] = useState(change.file?.agent ?? "cline");
  const events = hooks.tests?.[host] ?? [];
  const [event, setEvent] = useState(change.hook && events.includes(change.hook.event) ? change.hook.event : "PreToolUse");
  const [tool, setTool] = useState(change.tool || (host === "cline" ? "execute_command" : "Bash"));
  const [input, setInput] = useState(change.input || '{"command": "echo hello"}');
  const [said, setSaid] = useState("");
  const [note, setNote] = useState("");
  const ofTool = event.includes("Tool") && event !== "PostToolBatch" || event === "PermissionRequest";
  return (
    <div class="hook-form">
      <p class="dim">The hooks really run, as the agent would start them. Nothing is recorded, and the agent is not needed.</p>
      <Field label="Agent"><select value={host} onChange={(e) => { const h = e.currentTarget.value; setHost(h); if (!hooks.tests?.[h]?.includes(event)) setEvent("PreToolUse"); setTool(h === "cline" ? "execute_command" : "Bash"); }}>{Object.keys(hooks.tests ?? {}).map((x) => <option key={x} value={x}>{agent(x)}</option>)}</select></Field>
      <Field label="Event"><select value={event} onChange={(e) => setEvent(e.currentTarget.value)}>{events.map((x) => <option key={x}>{x}</option>)}</select></Field>
      {ofTool && (
        <>
          <RecordedCall label="Recorded call" host={host} take={async (r) => {
            const c = await get<{ tool: string; input?: string; whole: boolean; result?: string }>(`hooks/call/${r.traceId}/${r.spanId}`);
            setTool(c.tool); setInput(c.input ?? ""); setSaid(c.result ?? "");
            setNote(c.whole ? "" : "Of this call only the beginning of the arguments is left.");
          }} />
          <Field label="Tool"><input type="text" value={tool} spellcheck={false} onInput={(e) => setTool(e.currentTarget.value)} /></Field>
          <Field label="Arguments" note={note}><textarea rows={4} value={input} spellcheck={false} onInput={(e) => setInput(e.currentTarget.value)} /></Field>
        </>
      )}
      {texts[event] && <Field label={texts[event]}><textarea rows={2} value={said} onInput={(e) => setSaid(e.currentTarget.value)} /></Field>}
      <p class="acts"><button class="button" disabled={busy} onClick={() => look({ agent: host, event, tool: ofTool ? tool : "", input: ofTool ? input.trim() : "", text: texts[event] ? said : "" })}>Show what it starts</button></p>
    </div>
  );
}
