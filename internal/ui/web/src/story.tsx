import { useEffect, useRef, useState } from "preact/hooks";
import { get, useData } from "./api";
import { duration, plural } from "./format";
import { Diff, labelOf, Mark, Problem, Texts, Wait } from "./parts";
import type { Change, Said } from "./types";

interface Props { base: string; selected: number; select: (row: number, open?: boolean) => void }

const shown = (selected: number) => {
  const at = document.querySelector(`[data-row="${selected}"]`);
  const box = at?.closest(".story");
  if (!at || !box) return;
  const a = at.getBoundingClientRect(), b = box.getBoundingClientRect();
  if (a.top < b.top || a.bottom > b.bottom) at.scrollIntoView({ block: a.height > b.height ? "start" : "center" });
};

export function Conversation({ base, selected, select }: Props) {
  const { data, error } = useData<{ steps: Said[]; next: number }>(base + "/conversation");
  const [more, setMore] = useState<{ of: unknown; steps: Said[]; next: number }>({ of: undefined, steps: [], next: 0 });
  const steps = [...(data?.steps ?? []), ...(more.of === data ? more.steps : [])];
  const next = more.of === data ? more.next : data?.next ?? 0;
  const ready = !!data;
  useEffect(() => shown(selected), [selected, ready]);
  if (error) return <Problem error={error} />;
  if (!data) return <Wait />;
  return (
    <div class="story" tabIndex={0} role="region" aria-label="Conversation">
      {steps.length === 0 && <div class="empty"><h2>Nothing was said</h2><p>The agent's messages are not recorded with HOOKSPAN_CAPTURE=none.</p></div>}
      {steps.map((s) => <Step key={s.who + s.id + s.row} step={s} selected={s.row === selected && s.row > 0} select={select} />)}
      {next > 0 && <button class="more" onClick={async () => {
        const got = await get<{ steps: Said[]; next: number }>(`${base}/conversation?from=${next}`);
        setMore({ of: data, steps: [...(more.of === data ? more.steps : []), ...got.steps], next: got.next });
      }}>Show more</button>}
    </div>
  );
}

function Step({ step: s, selected, select }: { step: Said; selected: boolean; select: Props["select"] }) {
  const bad = s.status === "failed" || s.status === "denied" || s.status === "unfinished";
  const [open, setOpen] = useState(bad);
  const isOpen = open || selected;
  const inside = s.depth > 1 ? " nested" : "";
  const mine = useRef<HTMLDivElement>(null);
  if (s.who === "user" || s.who === "agent") {
    return (
      <div ref={mine} class={`said ${s.who}${inside}${selected ? " selected" : ""}`} data-row={s.row || undefined} onClick={() => s.row > 0 && !getSelection()?.toString() && select(s.row)}>
        <span class="who">{s.who === "user" ? "You" : s.depth > 1 ? "Subagent" : "Agent"}</span>
        <div class="prose">{s.parts.filter((p) => p.prose || p.name === "text").map((p) => p.text).join("\n\n")}</div>
      </div>
    );
  }
  return (
    <div ref={mine} class={`did ${s.who} ${s.status ?? ""}${inside}${selected ? " selected" : ""}`} data-row={s.row}>
      <button class="line" aria-expanded={isOpen} onClick={() => { setOpen(!isOpen); select(s.row); }}>
        <Mark status={s.status ?? ""} /><b>{labelOf(s.label ?? "")}</b> <code>{s.detail}</code>{s.tookNs ? <span class="took">{duration(s.tookNs)}</span> : null}
      </button>
      {isOpen && s.parts.length > 0 && <div class="texts"><Texts parts={s.parts.filter((p) => !(p.short && (s.detail ?? "").includes(p.text)))} limit={14} /></div>}
    </div>
  );
}

export function Changes({ base, selected, select }: Props) {
  const { data, error } = useData<Change[]>(base + "/changes");
  const ready = !!data;
  useEffect(() => shown(selected), [selected, ready]);
  if (error) return <Problem error={error} />;
  if (!data) return <Wait />;
  const files = new Map<string, Change[]>();
  for (const c of data) files.set(c.path || "(no path)", [...(files.get(c.path || "(no path)") ?? []), c]);
  const sum = (list: Change[], side: "plus" | "minus") => list.filter((c) => c.status === "ok" || c.status === "unknown").reduce((n, c) => n + c[side], 0);
  return (
    <div class="story" tabIndex={0} role="region" aria-label="Changes">
      {data.length === 0 && <div class="empty"><h2>No file was changed by a tool</h2><p>What commands changed is not recorded.</p></div>}
      {data.length > 0 && <p class="sum">{plural(files.size, "file")}, <span class="plus">+{sum(data, "plus")}</span> <span class="minus">−{sum(data, "minus")}</span></p>}
      {[...files].map(([path, list]) => (
        <section class="file" key={path}>
          <h2><span class="path">{path}</span><span class="plus">+{sum(list, "plus")}</span><span class="minus">−{sum(list, "minus")}</span></h2>
          {list.map((c) => (
            <div key={c.row} class={"change " + c.status + (c.row === selected ? " selected" : "")} data-row={c.row}>
              <button class="line" onClick={() => select(c.row, true)}><Mark status={c.status} /><b>{c.tool}</b>{c.status !== "ok" && <span class="warn"> {c.status}, so not in the sums</span>}{c.cut && <span class="dim"> beginning only</span>}</button>
              {c.lines?.length ? <Lines lines={c.lines} /> : null}
            </div>
          ))}
        </section>
      ))}
    </div>
  );
}

function Lines({ lines }: { lines: string[] }) {
  const [all, set] = useState(false);
  return <><Diff lines={all ? lines : lines.slice(0, 80)} />{lines.length > 80 && !all && <button class="more" onClick={() => set(true)}>Show all {lines.length} lines</button>}</>;
}
