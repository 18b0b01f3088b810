// Two weeks of a team's work, made up of the recorded sessions: which run came
// when, and how much longer or larger than the recorded one it was, is drawn by
// lot, always the same. The series are those of gateway.yaml.
const DAY = 86400;
const BOUNDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600, 14400];

// lots is a small generator of numbers below 1 (mulberry32).
function lots(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const plain = (attributes) =>
  Object.fromEntries((attributes ?? []).map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? value.doubleValue)]));

// runs are the recorded traces, each a list of spans, of OTLP JSON with a document a line.
function runs(lines) {
  const out = new Map();
  for (const r of lines.trim().split('\n').flatMap((line) => JSON.parse(line).resourceSpans)) {
    for (const span of r.scopeSpans.flatMap((s) => s.spans)) {
      const list = out.get(span.traceId) ?? [];
      list.push({
        job: plain(r.resource.attributes)['service.name'],
        seconds: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e9,
        a: plain(span.attributes),
      });
      out.set(span.traceId, list);
    }
  }
  // A model that only answers tests would be odd in a picture.
  return [...out.values()].filter((spans) => spans.length > 2 && !spans.some((s) => /mock|unknown/.test(s.a['gen_ai.request.model'] ?? '')));
}

const underscored = (labels) =>
  Object.entries(labels)
    .filter(([, v]) => v !== undefined)
    .map(([k, v]) => `${k.replaceAll('.', '_')}="${v}"`)
    .join(',');

// pick is some of an object's members.
const pick = (o, keys) => Object.fromEntries(keys.map((k) => [k, o[k]]));

// increments are what one span adds, as [series, amount].
function increments(span, gateway, longer, larger) {
  const { a, job } = span;
  const out = [];
  const add = (name, labels, by) => by > 0 && out.push([`${name}{${underscored({ gateway, job, instance: `${gateway}:9464`, ...labels })}}`, by]);
  const dimensions = pick(a, [
    'gen_ai.operation.name', 'gen_ai.agent.name', 'gen_ai.tool.name', 'gen_ai.request.model', 'error.type', 'hookspan.outcome',
  ]);
  add('agent_calls_total', dimensions, 1);
  for (const le of [...BOUNDS, '+Inf']) {
    if (le === '+Inf' || span.seconds * longer <= le) add('agent_duration_seconds_bucket', { ...dimensions, le }, 1);
  }
  const model = pick(a, ['gen_ai.request.model']);
  const tokens = (key) => Math.round((a[key] ?? 0) * larger);
  if (a['gen_ai.operation.name'] === 'chat') {
    add('gen_ai_client_token_usage_sum', { ...model, 'gen_ai.token.type': 'input' }, tokens('gen_ai.usage.input_tokens'));
    add('gen_ai_client_token_usage_sum', { ...model, 'gen_ai.token.type': 'output' }, tokens('gen_ai.usage.output_tokens'));
    add('hookspan_cache_read_tokens_total', model, tokens('gen_ai.usage.cache_read.input_tokens'));
    add('hookspan_cache_creation_tokens_total', model, tokens('gen_ai.usage.cache_creation.input_tokens'));
    add('hookspan_cost_usd_total', model, (a['hookspan.cost.usd'] ?? 0) * larger);
  }
  if (a['hookspan.outcome']) {
    const model = pick(a, ['hookspan.model']);
    for (const type of ['input', 'output']) {
      add('hookspan_run_tokens_total', { ...model, 'gen_ai.token.type': type }, tokens(`hookspan.usage.${type}_tokens`) || tokens(`gen_ai.usage.${type}_tokens`));
    }
    add('hookspan_run_cost_usd_total', model, (a['hookspan.cost.usd'] ?? 0) * larger);
  }
  return out;
}

// history writes the two weeks up to now, in seconds, as OpenMetrics: a sample
// every hour, and on the last day every five minutes.
export function history(lines, now) {
  const lot = lots(20);
  const recorded = runs(lines);
  const events = [];
  for (let day = Math.floor(now / DAY) - 14; day * DAY < now; day++) {
    const weekend = [0, 6].includes(new Date(day * DAY * 1000).getUTCDay());
    const count = weekend ? 6 + lot() * 8 : 45 + lot() * 40;
    for (let i = 0; i < count; i++) {
      // Most between eight and six, some at any time.
      const hour = lot() < 0.8 ? 8 + 10 * ((lot() + lot()) / 2) : 24 * lot();
      const at = day * DAY + hour * 3600;
      const gateway = lot() < 0.5 ? 'gateway-1' : 'gateway-2';
      const longer = 0.4 + 4 * lot() ** 2;
      const larger = 0.5 + 8 * lot() ** 2;
      for (const span of recorded[Math.floor(lot() * recorded.length)]) {
        for (const [series, by] of increments(span, gateway, longer * (0.6 + lot()), larger)) events.push([at, series, by]);
      }
    }
  }
  events.sort((x, y) => x[0] - y[0]);

  const times = [];
  for (let t = Math.floor(now / DAY - 15) * DAY; t < now - 1.1 * DAY; t += 3600) times.push(t);
  for (let t = Math.ceil((now - 1.1 * DAY) / 300) * 300; t <= now; t += 300) times.push(t);
  const samples = new Map();
  const put = (series, value, t) => samples.set(series, `${samples.get(series) ?? ''}${series} ${value} ${t}\n`);
  const totals = new Map();
  let next = 0;
  for (const t of [...times, now]) {
    for (; next < events.length && events[next][0] <= t; next++) {
      const [, series, by] = events[next];
      totals.set(series, (totals.get(series) ?? 0) + by);
    }
    for (const [series, value] of totals) put(series, value, t);
    for (const n of [1, 2]) {
      // One of them was away for a while.
      const away = n === 2 && t > now - 9 * 3600 && t < now - 8.6 * 3600;
      const labels = `{job="hookspan",instance="gateway-${n}:9464"}`;
      put(`up${labels}`, away ? 0 : 1, t);
      put(`scrape_samples_scraped${labels}`, away ? 0 : [...totals.keys()].filter((s) => s.includes(`gateway-${n}`)).length, t);
    }
  }
  return [...samples.keys()].sort().map((s) => samples.get(s)).join('') + '# EOF\n';
}
