// The dashboard of board.json as Grafana lays it out, each panel drawn by
// Grafana's own component from the panel's own options. What Grafana does between
// a query's answer and that component, as far as this dashboard asks for it, is
// done here.
import '@grafana/react-data-grid/lib/styles.css';
import 'uplot/dist/uPlot.min.css';
import {
  applyFieldOverrides, cacheFieldDisplayNames, createTheme, type DataFrame, dateTime, EventBusSrv, type Field, FieldType, getDisplayProcessor, rangeUtil,
  standardTransformers, standardTransformersRegistry, ThemeContext, toDataFrame, transformDataFrame, type TimeRange,
} from '@grafana/data';
import { BigValue, GlobalStyles, PanelChrome, PanelContextProvider, TimeSeries } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { firstValueFrom } from 'rxjs';

const WIDTH = 1600;
const MARGIN = 16;
// Grafana's grid: 24 columns, lines of 30 pixels, 8 between panels.
const COLUMN = (WIDTH - 2 * MARGIN + 8) / 24;
const LINE = 38;

const theme = createTheme({ colors: { mode: 'light' } });
standardTransformersRegistry.setInit(() =>
  // Some stand there under two names.
  [...new Map(Object.values(standardTransformers).map((t) => [t.id, { id: t.id, name: t.name, transformation: async () => t, editor: () => null } as any])).values()]
);

interface Board { base: string; now: number; dashboard: any }

function timeRange(from: number, to: number): TimeRange {
  return { from: dateTime(from * 1000), to: dateTime(to * 1000), raw: { from: dateTime(from * 1000), to: dateTime(to * 1000) } };
}

// shown is a panel's time: the dashboard's, or its own.
function shown(board: Board, panel: any): TimeRange {
  const from = rangeUtil.describeInterval(panel.timeFrom ?? board.dashboard.time.from.replace('now-', ''));
  return timeRange(board.now - from.sec * from.count, board.now);
}

async function ask(board: Board, path: string, form: Record<string, string>) {
  const answer = await (await fetch(`${board.base}/api/v1/${path}`, { method: 'POST', body: new URLSearchParams(form) })).json();
  if (answer.status !== 'success') throw new Error(answer.error);
  return answer.data.result;
}

const number = (text: string) => (Number.isFinite(Number(text)) ? Number(text) : null);
const named = (format: string, labels: Record<string, string>) => format.replace(/\{\{(\w+)\}\}/g, (_, l) => labels[l] ?? '');

async function query(board: Board, panel: any, range: TimeRange, width: number): Promise<DataFrame[]> {
  const { interval, intervalMs } = rangeUtil.calculateInterval(range, panel.maxDataPoints ?? width, panel.interval ?? '1m');
  const seconds = range.to.diff(range.from, 'second');
  const fill = (expr: string) =>
    expr.replaceAll('$__range', `${seconds}s`).replaceAll('$__interval', interval).replace(/\$(source|agent|model|tool|team|repository)/g, '.*');
  const frames: DataFrame[] = [];
  for (const target of panel.targets) {
    if (target.instant) {
      const result = await ask(board, 'query', { query: fill(target.expr), time: String(board.now) });
      if (target.format === 'table') frames.push(tableFrame(target.refId, panel.targets.length, result));
      else for (const s of result) frames.push(toDataFrame({ refId: target.refId, fields: [{ name: 'Value', type: FieldType.number, values: [number(s.value[1])] }] }));
      continue;
    }
    const step = intervalMs / 1000;
    const [start, end] = [range.from.unix(), range.to.unix()].map((t) => Math.floor(t / step) * step);
    const result = await ask(board, 'query_range', { query: fill(target.expr), start: String(start), end: String(end), step: String(step) });
    for (const s of result) {
      const at = new Map<number, string>(s.values);
      const times: number[] = [];
      for (let t = start; t <= end; t += step) times.push(t);
      const name = named(target.legendFormat, s.metric);
      frames.push(toDataFrame({
        refId: target.refId, name,
        fields: [
          { name: 'Time', type: FieldType.time, values: times.map((t) => t * 1000), config: { interval: intervalMs } },
          { name: 'Value', type: FieldType.number, labels: s.metric, values: times.map((t) => number(at.get(t) ?? 'NaN')), config: { displayNameFromDS: name } },
        ],
      }));
    }
  }
  return frames;
}

function tableFrame(refId: string, queries: number, result: any[]): DataFrame {
  const labels = [...new Set(result.flatMap((s) => Object.keys(s.metric)))];
  return toDataFrame({
    refId,
    fields: [
      { name: 'Time', type: FieldType.time, values: result.map((s) => s.value[0] * 1000) },
      ...labels.map((l) => ({ name: l, type: FieldType.string, values: result.map((s) => s.metric[l]) })),
      { name: queries > 1 ? `Value #${refId}` : 'Value', type: FieldType.number, values: result.map((s) => number(s.value[1])) },
    ],
  });
}

// configured gives each field the panel's settings and its display.
function configured(panel: any, frames: DataFrame[]): DataFrame[] {
  const { defaults, overrides } = panel.fieldConfig;
  for (const field of frames.flatMap((f) => f.fields)) {
    const own = structuredClone(field.type === FieldType.number ? defaults : { custom: defaults.custom });
    for (const o of overrides.filter((o: any) => o.matcher.id === 'byName' && o.matcher.options === (field.config.displayName ?? field.name))) {
      for (const { id, value } of o.properties) {
        if (id.startsWith('custom.')) own.custom[id.slice('custom.'.length)] = value;
        else own[id] = value;
      }
    }
    field.config = { ...own, ...field.config };
  }
  const out = applyFieldOverrides({ data: frames, fieldConfig: { defaults: {}, overrides: [] }, replaceVariables: (v) => v, theme, timeZone: 'utc' });
  cacheFieldDisplayNames(out);
  return out;
}

function Stat({ panel, frames, width, height }: any) {
  const field: Field = frames[0].fields[0];
  const value = getDisplayProcessor({ field, theme })(field.values[field.values.length - 1]);
  const { colorMode, graphMode, justifyMode, textMode } = panel.options;
  return <BigValue {...{ theme, width, height, value, colorMode, graphMode, justifyMode, textMode }} />;
}

function Chart({ panel, frames, range, width, height }: any) {
  return (
    <PanelContextProvider value={{ eventBus: new EventBusSrv(), eventsScope: '' } as any}>
      <TimeSeries {...{ frames, width, height }} timeRange={range} timeZone="utc" legend={panel.options.legend} />
    </PanelContextProvider>
  );
}

function Table({ panel, frames, width, height }: any) {
  const { showHeader, cellHeight, sortBy } = panel.options;
  return <TableNG data={frames[0]} noHeader={!showHeader} sortBy={sortBy} fieldConfig={panel.fieldConfig} {...{ width, height, cellHeight }} />;
}

const kinds: Record<string, any> = { stat: Stat, timeseries: Chart, table: Table };

function Panel({ board, panel, done }: { board: Board; panel: any; done: (fault?: string) => void }) {
  const [frames, setFrames] = useState<DataFrame[]>();
  const { x, y, w, h } = panel.gridPos;
  const [width, height] = [w * COLUMN - 8, h * LINE - 8];
  const range = shown(board, panel);
  useEffect(() => {
    query(board, panel, range, width)
      .then((data) => (panel.transformations ? firstValueFrom(transformDataFrame(panel.transformations, data)) : data))
      .then((data) => {
        setFrames(configured(panel, data));
        done(data.length > 0 ? undefined : `${panel.title}: no data`);
      })
      .catch((e) => done(`${panel.title}: ${e}`));
  }, []);
  const Kind = kinds[panel.type];
  return (
    <div style={{ position: 'absolute', left: x * COLUMN, top: y * LINE, width, height }}>
      <PanelChrome title={panel.title} description={panel.description} width={width} height={height}
        titleItems={panel.timeFrom ? [<span key="t" style={{ fontSize: 12, opacity: 0.7, whiteSpace: 'nowrap' }}>Last {panel.timeFrom}</span>] : undefined}>
        {(innerWidth, innerHeight) => frames && frames.length > 0 && <Kind {...{ panel, frames, range }} width={innerWidth} height={innerHeight} />}
      </PanelChrome>
    </div>
  );
}

function Dashboard({ board }: { board: Board }) {
  const { panels, title, templating } = board.dashboard;
  const charts = panels.filter((p: any) => p.type !== 'row');
  let waiting = charts.length;
  const done = (fault?: string) => {
    if (fault) (window as any).faults.push(fault);
    if (--waiting === 0) setTimeout(() => ((window as any).drawn = true), 1500);
  };
  const lines = Math.max(...panels.map((p: any) => p.gridPos.y + p.gridPos.h));
  const head = 56;
  // The picture is cut above the row of models.
  (window as any).half = head + MARGIN / 2 + panels.find((p: any) => p.title === 'Models' && p.type === 'row').gridPos.y * LINE;
  return (
    <div id="board" style={{ width: WIDTH, background: theme.colors.background.canvas, padding: MARGIN, height: lines * LINE + head + 2 * MARGIN }}>
      <div style={{ height: head - MARGIN / 2, display: 'flex', gap: 16, alignItems: 'center' }}>
        <b style={{ fontSize: 20, marginRight: 16 }}>{title}</b>
        {templating.list.map((v: any) => (
          <span key={v.name}>{v.label} <span style={{ border: `1px solid ${theme.colors.border.medium}`, padding: '4px 10px', background: theme.colors.background.primary }}>
            {v.type === 'datasource' ? 'Prometheus' : 'All'}</span></span>
        ))}
        <span style={{ marginLeft: 'auto' }}>Last 24 hours</span>
      </div>
      <div style={{ position: 'relative' }}>
        {panels.map((p: any) =>
          p.type === 'row' ? (
            <div key={p.id} style={{ position: 'absolute', top: p.gridPos.y * LINE + 8, fontSize: 16, fontWeight: 500 }}>{p.title}</div>
          ) : (
            <Panel key={p.id} board={board} panel={p} done={done} />
          )
        )}
      </div>
    </div>
  );
}

(window as any).faults = [];
fetch('board.json').then((r) => r.json()).then((board) =>
  createRoot(document.getElementById('root')!).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <Dashboard board={board} />
    </ThemeContext.Provider>
  )
);
