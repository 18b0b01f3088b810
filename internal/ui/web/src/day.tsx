import { clock, duration } from "./format";
import { outcome } from "./parts";
import { go } from "./route";
import type { Listed } from "./types";

const hour = 36e5;

// Day draws the tasks of one day by time, a lane a session, and says of how many. Of the time that a task took, the part that it waited for the user is hatched at its end.
export function Day({ sessions, tasks }: { sessions: { key: string; traces: Listed[] }[]; tasks: number }) {
  const begin = (t: Listed) => new Date(t.summary.started!).getTime(), end = (t: Listed) => begin(t) + Math.max(1000, t.summary.durationMs);
  const lanes = sessions.map((s) => ({ ...s, traces: s.traces.filter((t) => t.summary.started) })).filter((s) => s.traces.length).slice(0, 40).reverse();
  const all = lanes.flatMap((s) => s.traces);
  if (all.length < 2) return null;
  const from = Math.floor(Math.min(...all.map(begin)) / hour) * hour, to = Math.ceil(Math.max(...all.map(end)) / hour) * hour;
  const at = (t: number) => ((t - from) / (to - from)) * 100 + "%";
  const step = Math.max(1, Math.ceil((to - from) / hour / 8)) * hour;
  const hours: number[] = [];
  for (let t = from; t < to - (to - from) / 16; t += step) hours.push(t); // the last has no room
  return (
    <figure class="day-lanes" aria-label="The day's sessions in time">
      <div class="lane hours" aria-hidden="true"><span /><div>{hours.map((t) => <span key={t} style={{ left: at(t) }}>{clock(new Date(t).toISOString())}</span>)}</div></div>
      {lanes.map((s) => (
        <div class="lane" key={s.key}><span aria-hidden="true">{s.traces[s.traces.length - 1].summary.title || "untitled"}</span><div>{s.traces.map((t) => {
          const x = t.summary, words = `${x.title || "untitled"}: ${outcome(x)}, ${duration(x.durationMs * 1e6)}${x.waitedNs ? ", waited " + duration(x.waitedNs) : ""}`;
          return (
            <button key={x.traceId} class={t.status} aria-label={words} title={words} style={{ left: at(begin(t)), width: ((end(t) - begin(t)) / (to - from)) * 100 + "%" }} onClick={() => go("/t/" + x.traceId)}>
              {!!x.waitedNs && <i style={{ width: Math.min(100, x.waitedNs / 1e4 / Math.max(1, x.durationMs)) + "%" }} />}
            </button>
          );
        })}</div></div>
      ))}
      <p class="legend"><i /> worked <i class="waited" /> waited for you <i class="failed" /> failed <i class="denied" /> did not end by itself{all.length < tasks && <>; the newest {all.length} of {tasks.toLocaleString("en")} tasks</>}</p>
    </figure>
  );
}
