import { useEffect, useRef, useState } from "preact/hooks";
import { useShown } from "./api";
import { duration, plural } from "./format";
import { Prose } from "./markdown";
import { Copy, labelOf, Mark, Problem, Texts, Wait } from "./parts";
import type { Change, Said } from "./types";
import { Lines } from "./work";

// Props have the id that is selected, and its row.
interface Props { base: string; version: number; picked: string; row: number; select: (id: string, open?: boolean) => void }

const shown = (picked: string) => {
  const at = document.querySelector(`[data-id="${CSS.escape(picked)}"]`);
  const box = at?.closest(".story");
  if (!at || !box) return;
  const a = at.getBoundingClientRect(), b = box.getBoundingClientRect();
  if (a.top < b.top || a.bottom > b.bottom) at.scrollIntoView({ block: a.height > b.height ? "start" : "center" });
};

// useMore returns the part of a long answer that has the selected row, and what the user asked for after it.
function useMore<T, K extends string>(path: string, version: number, name: K, selected: number) {
  const [{ start, pages }, set] = useState({ start: 0, pages: 1 });
  const { data, error } = useShown<Record<K, T[]> & { next: number }>(`${path}?from=${start}&pages=${pages}`, version);
  const found = useRef(-1);
  useEffect(() => {
    if (!data || selected < 0 || selected === found.current) return;
    found.current = selected;
    if (selected < start || (data.next > 0 && selected >= data.next)) set({ start: Math.max(0, selected - 40), pages: 1 });
  }, [selected, data]);
  const before = start > 0 && <button class="more" onClick={() => set({ start: Math.max(0, start - 300), pages: pages + 1 })}>Show earlier</button>;
  const after = !!data?.next && <button class="more" onClick={() => set({ start, pages: pages + 1 })}>Show more</button>;
  return { list: data?.[name], error, before, after };
}

export function Conversation({ base, version, picked, row, select }: Props) {
  const { list: steps, error, before, after } = useMore<Said, "steps">(base + "/conversation", version, "steps", row);
  useEffect(() => shown(picked), [picked, steps?.[0]?.id]);
  if (error && !steps) return <Problem error={error} />;
  if (!steps) return <Wait />;
  return (
    <div class="story" tabIndex={0} role="region" aria-label="Conversation">
      {before}
      {steps.length === 0 && <div class="empty"><h2>Nothing was said</h2><p>The agent's messages are not recorded with HOOKSPAN_CAPTURE=none.</p></div>}
      {steps.map((s) => <Step key={s.who + s.id + (s.row > 0)} step={s} selected={s.id === picked && s.row > 0} select={select} />)}
      {after}
    </div>
  );
}

function Step({ step: s, selected, select }: { step: Said; selected: boolean; select: Props["select"] }) {
  const [open, setOpen] = useState(!!s.bad);
  const isOpen = open || selected;
  const inside = s.depth > 1 ? " nested" : "";
  const mine = useRef<HTMLDivElement>(null);
  if (s.who === "user" || s.who === "agent") {
    const texts = s.parts.filter((p) => p.prose);
    return (
      <div ref={mine} class={`said ${s.who}${inside}${selected ? " selected" : ""}`} data-id={s.row ? s.id : undefined} onClick={() => s.row > 0 && !getSelection()?.toString() && select(s.id)}>
        <p class="who">{s.who === "user" ? "You" : s.depth > 1 ? "Subagent" : "Agent"}<Copy text={texts.map((p) => p.text).join("\n\n")} /></p>
        {texts.map((p, i) => <Prose key={i} {...p} />)}
      </div>
    );
  }
  return (
    <div ref={mine} class={`did ${s.who} ${s.status ?? ""}${inside}${selected ? " selected" : ""}`} data-id={s.id}>
      <button class="line" aria-expanded={isOpen} onClick={() => { setOpen(!isOpen); select(s.id); }}>
        <Mark status={s.status ?? ""} /><b>{labelOf(s.label ?? "")}</b> <code>{s.detail}</code>{s.tookNs ? <span class="took">{duration(s.tookNs)}</span> : null}
      </button>
      {isOpen && s.parts.length > 0 && <div class="texts"><Texts parts={s.parts.filter((p) => !(p.short && (s.detail ?? "").includes(p.text)))} limit={14} /></div>}
    </div>
  );
}

export function Changes({ base, version, picked, row, select }: Props) {
  const { list: data, error, before, after } = useMore<Change, "changes">(base + "/changes", version, "changes", row);
  useEffect(() => shown(picked), [picked, data?.[0]?.id]);
  if (error && !data) return <Problem error={error} />;
  if (!data) return <Wait />;
  const files = new Map<string, Change[]>();
  for (const c of data) files.set(c.path || "(no path)", [...(files.get(c.path || "(no path)") ?? []), c]);
  const done = (list: Change[]) => list.filter((c) => c.done);
  const sum = (list: Change[], side: "plus" | "minus") => done(list).reduce((n, c) => n + c[side], 0);
  return (
    <div class="story" tabIndex={0} role="region" aria-label="Changes">
      {before}
      {data.length === 0 && <div class="empty"><h2>No file was changed by a tool</h2><p>What commands changed is not recorded.</p></div>}
      {data.length > 0 && <p class="sum">{done(data).some((c) => c.cut) && "at least "}{plural([...files.values()].filter((list) => done(list).length).length, "file")}, <span class="plus">+{sum(data, "plus")}</span> <span class="minus">−{sum(data, "minus")}</span>{(before || after) && <span class="dim"> in this part</span>}</p>}
      {files.size > 1 && <ul class="file-list">{[...files].map(([path, list], i) => <li key={path}><button class="plain" onClick={() => document.getElementById("file" + i)?.scrollIntoView()}>{path}</button> <span class="plus">+{sum(list, "plus")}</span> <span class="minus">−{sum(list, "minus")}</span></li>)}</ul>}
      {[...files].map(([path, list], i) => (
        <section class="file" key={path} id={"file" + i}>
          <h2><span class="path">{path}</span><span class="plus">+{sum(list, "plus")}</span><span class="minus">−{sum(list, "minus")}</span></h2>
          {list.map((c, i) => (
            <div key={c.id + " " + i} class={"change " + c.status + (c.id === picked ? " selected" : "")} data-id={c.id}>
              <button class="line" onClick={() => select(c.id, true)}><Mark status={c.status} /><b>{c.tool}</b>{!c.done && <span class="warn"> {c.status}, so not in the sums</span>}{c.cut && <span class="dim"> beginning only</span>}</button>
              {c.lines?.length ? <Lines lines={c.lines} /> : null}
            </div>
          ))}
        </section>
      ))}
      {after}
    </div>
  );
}
