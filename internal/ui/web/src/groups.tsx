import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { clock, dollarsIn, duration, tenths, tokens } from "./format";
import { cached, Meter, share } from "./parts";
import { put } from "./route";
import type { Group, Totals } from "./types";

export const money = (g: Totals) => g.usage?.costUsd ?? 0;
export const amount = (g: Totals) => (g.usage ? g.usage.inputTokens + g.usage.outputTokens : 0);
export const dearest = (groups: Group[]) => [...groups].sort((a, b) => money(b) - money(a) || amount(b) - amount(a));
export const most = (groups: Group[]) => [...groups].sort((a, b) => b.toolCalls - a.toolCalls);

// Column is a column of sums: its name, its class and what it shows. written writes a
// cost as the whole table does.
export type Column = [string, string, (g: Group, written: (usd: number) => string) => ComponentChildren];

export const columns: Record<string, Column> = {
  tasks: ["tasks", "least", (g) => g.tasks || ""],
  calls: ["calls", "", (g) => g.toolCalls.toLocaleString("en")],
  failed: ["failed", "less bad", (g) => g.toolFailures || ""],
  added: ["added", "less", (g) => (g.addedTokens === undefined ? "-" : tokens(g.addedTokens))],
  tokens: ["tokens", "", (g) => (g.usage ? tokens(amount(g)) : "")],
  cost: ["cost", "strong", (g, written) => (g.usage?.costUsd !== undefined ? written(g.usage.costUsd) : g.unpricedModels?.length ? <span class="warn">no price</span> : "")],
};
export const spent: Column[] = [columns.tasks, columns.tokens, ["cached", "less", (g) => (g.usage?.inputTokens ? cached(g.usage) + " %" : "")], columns.cost];
export const timed: Column[] = [
  columns.calls, ["failed", "bad", (g) => g.toolFailures || ""], ["denied", "warn", (g) => g.toolDenials || ""],
  ["half within", "less", (g) => duration(g.p50Ns)], ["95 % within", "less", (g) => duration(g.p95Ns)], ["in all", "strong", (g) => duration(g.tookNs)],
];
// ofDearest is the share that the dearest task has of the cost, in percent.
export const ofDearest = (g: Group) => (g.dearestCostUsd !== undefined && money(g) > 0 ? Math.round(100 * Math.min(1, g.dearestCostUsd / money(g))) : undefined);
// A task of a model, so that models that did different amounts of work can be compared.
export const forATask: Column[] = [
  ["mean cost", "strong", (g, written) => (g.usage?.costUsd !== undefined && g.tasks ? written(g.usage.costUsd / g.tasks) : "")], ["median", "strong", (g, written) => (g.medianCostUsd !== undefined ? written(g.medianCostUsd) : "")],
  ["dearest task", "less", (g) => { const n = ofDearest(g); return n === undefined ? "" : n + " %"; }], ["time", "", (g) => (g.tasks ? duration(g.tookNs / g.tasks) : "")],
  ["failed calls", "less", (g) => (g.tasks ? tenths(g.toolFailures / g.tasks) : "")], ["edits denied, in all", "less warn", (g) => g.editsDenied || ""],
];

// picks names a group by a button that filters by it; before is put before its name.
export const picks = (filter: string, shown: (key: string) => string, before = "") => (g: Group) => <button class="plain name" disabled={!g.key} title={g.key} onClick={() => put({ [filter]: before + g.value }, true)}>{shown(g.key)}</button>;

// windowOf names a window of a subscription's limit, and says how long the last one lasts.
export function windowOf(g: Group): ComponentChildren {
  const end = new Date(g.until ?? g.key).getTime();
  return <span class="name" title={g.key}>{new Date(g.key).toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" })}, {clock(g.key)} to {clock(g.until)}{end > Date.now() && <b class="good">, {duration((end - Date.now()) * 1e6)} left</b>}</span>;
}

export const ofPlan = (g: Group) => (g.usedPercent === undefined ? "-" : Math.round(g.usedPercent) + " %");

// Plan draws the last windows of a subscription's limit, and as a line how much of the plan's was used at their ends, where the agent said.
export function Plan({ blocks }: { blocks: Group[] }) {
  const shown = blocks.slice(-90), known = shown.filter((g) => g.usedPercent !== undefined);
  if (!known.length) return null;
  const w = 1000 / shown.length, top = Math.max(...shown.map(money), 1e-9);
  const line = shown.map((g, i) => (g.usedPercent === undefined ? "" : `${i && shown[i - 1].usedPercent !== undefined ? "L" : "M"}${((i + 0.2) * w).toFixed(1)},${(100 - 0.96 * Math.min(100, g.usedPercent)).toFixed(1)}h${(0.6 * w).toFixed(1)}`)).join("");
  return (
    <figure class="context plan">
      <figcaption><b>Plan</b> {ofPlan(known[known.length - 1])} used, {windowOf(known[known.length - 1])}</figcaption>
      <div class="chart" style={{ gridTemplateColumns: `minmax(0, ${shown.length * 60}px) auto` }}>
        <svg width="100%" viewBox="0 0 1000 104" preserveAspectRatio="none" aria-hidden="true">
          {shown.map((g, i) => { const h = 100 * share(money(g), top); return <rect key={i} class="bar" x={(i + 0.1) * w} width={0.8 * w} y={104 - h} height={h} />; })}
          <path class="spent" d={line} vector-effect="non-scaling-stroke" />
        </svg>
        <div class="scale right" aria-hidden="true"><span style={{ bottom: "96%" }}>100 %</span></div>
      </div>
      <p class="legend"><i class="chat" /> cost <i class="spent" /> used at the end</p>
    </figure>
  );
}

// Groups is a table of sums; meter shows beside each what part of the dearest it cost.
export function Groups({ title, one, groups, columns, name, meter, note, children, first = 40 }: { title: string; note?: string; children?: ComponentChildren; one: string; groups: Group[]; columns: Column[]; name: (g: Group) => ComponentChildren; meter?: boolean; first?: number }) {
  const [all, set] = useState(false);
  if (!groups.length) return null;
  const top = Math.max(...groups.map(money), 1e-9), written = dollarsIn(groups.map((g) => g.usage?.costUsd));
  return (
    <section class="sums">
      <h2>{title}</h2>
      {note && <p class="note">{note}</p>}
      {children}
      <div class="scroller" tabIndex={0} role="region" aria-label={title}>
        <table>
          <thead><tr><th scope="col">{one}</th>{columns.map(([n, kind]) => <th key={n} scope="col" class={"num " + kind}>{n}</th>)}</tr></thead>
          <tbody>
            {(all ? groups : groups.slice(0, first)).map((g) => <tr key={g.key + (g.repository ?? "")}><th scope="row">{name(g)}{meter && <Meter part={share(money(g), top)} />}</th>{columns.map(([n, kind, cell]) => <td key={n} class={"num " + kind}>{cell(g, written)}</td>)}</tr>)}
          </tbody>
        </table>
      </div>
      {!all && groups.length > first && <button class="more" onClick={() => set(true)}>Show all {groups.length}</button>}
    </section>
  );
}
