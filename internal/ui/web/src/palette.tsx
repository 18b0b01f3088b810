import { useState } from "preact/hooks";
import { useShown } from "./api";
import { dayName, fold, place, seen } from "./format";
import { Sheet } from "./parts";
import { go, sessionPath } from "./route";
import { hasWord } from "./sessions";
import type { Facets, Listed, Sessions } from "./types";

interface Entry { id: string; kind: string; name: string; note?: string; run: () => void }

const taskEntry = ({ summary: s }: Listed): Entry => ({ id: "task " + s.traceId, kind: "task", name: s.title || "untitled", note: place(s.workingDirectory) + ", " + dayName(s.started), run: () => go("/t/" + s.traceId) });

// Palette goes to what is typed: a view or command, a session, a task, a project, a file.
export function Palette({ commands, close }: { commands: [string, string, () => void][]; close: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(""); // an entry's id: what is found later moves the entries, not the choice
  const ask = hasWord(text) ? text.trim() : "";
  const { data: recent } = useShown<Sessions>("sessions?limit=300");
  const { data: found } = useShown<Sessions>(ask.length > 2 ? "sessions?limit=8&text=" + encodeURIComponent(ask) : null);
  const { data: facets } = useShown<Facets>("facets");
  const words = fold(ask).text.split(/\s+/);
  const fits = (name: string | undefined) => { const f = fold(name ?? "").text; return words.every((w) => f.includes(w)); };
  const all = [...(recent?.running ?? []), ...(recent?.traces ?? [])].filter((t) => fits(t.summary.title)).slice(0, 8);
  // What is found later comes last: Enter means the entry that was the first when it was pressed.
  const later = (found?.traces ?? []).filter((t) => !all.some((x) => x.summary.traceId === t.summary.traceId));
  const sessions = new Map(all.filter((t) => t.session).map((t) => [sessionPath(t.session!, t.summary.host), t]));
  const list: Entry[] = [
    ...commands.filter(([, name]) => fits(name)).map(([kind, name, run]) => ({ id: "command " + name, kind, name, run })),
    ...all.map(taskEntry),
    ...(ask ? [...sessions].slice(0, 3).map(([to, t]) => ({ id: "session " + to, kind: "session", name: t.summary.title || "untitled", note: seen(t.session!), run: () => go(to) })) : []),
    ...(ask ? facets?.project ?? [] : []).filter((p) => fits(p.shown)).slice(0, 4).map((p) => ({ id: "project " + p.value, kind: "project", name: place(p.shown), note: p.shown, run: () => go("/?project=" + encodeURIComponent(p.value)) })),
    ...(ask ? [
      { id: "file", kind: "file", name: "Changes in " + ask, run: () => go("/changes?file=" + encodeURIComponent(ask)) }, { id: "calls", kind: "calls", name: "Calls that run " + ask, run: () => go("/calls?command=" + encodeURIComponent(ask)) },
      { id: "text", kind: "text", name: "Search for " + ask, run: () => go("/search?text=" + encodeURIComponent(ask)) },
    ] : []),
    ...later.map(taskEntry),
  ];
  const here = Math.max(list.findIndex((e) => e.id === chosen), Math.min(0, list.length - 1));
  const run = (e?: Entry) => { if (e) { e.run(); close(); } }; // which closes it only if nothing took its place
  return (
    <Sheet class="palette" label="Go to" close={close}>
      <input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={here >= 0 ? "palette-" + here : undefined} aria-label="Go to a session, task, file or view" placeholder="Go to a session, task, file or view" value={text} spellcheck={false} autofocus
        onInput={(e) => { setText(e.currentTarget.value); setChosen(""); }}
        onKeyDown={(e) => {
          const n = { ArrowDown: 1, ArrowUp: -1 }[e.key];
          if (n) { e.preventDefault(); const to = Math.max(0, Math.min(list.length - 1, here + n)); setChosen(list[to]?.id ?? ""); document.getElementById("palette-" + to)?.scrollIntoView({ block: "nearest" }); }
          if (e.key === "Enter") { e.preventDefault(); run(list[here]); }
        }} />
      <ul id="palette-list" role="listbox" aria-label="Results">
        {list.map((e, i) => <li key={e.id} id={"palette-" + i} role="option" aria-selected={i === here} onClick={() => run(e)} onMouseMove={(m) => { if (m.movementX || m.movementY) setChosen(e.id); }}><span class="dim">{e.kind}</span><b>{e.name}</b>{e.note && <span class="dim note">{e.note}</span>}</li>)}
      </ul>
    </Sheet>
  );
}
