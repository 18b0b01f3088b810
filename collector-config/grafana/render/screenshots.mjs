// Draws the dashboard over made-up history: promtool writes that into a
// Prometheus' data, a Prometheus answers the panels' queries, and Chromium takes
// the picture of page.tsx. Everything runs on loopback and ends with this.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';
import { chromium } from 'playwright-core';
import { history } from './history.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..', '..', '..');
const images = join(root, 'docs', 'images');

// program finds one on the PATH, or of Prometheus where tests/setup.sh puts it.
function program(name) {
  const unpacked = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'hookspan-tests', 'prometheus', 'usr', 'bin');
  const found = [...process.env.PATH.split(':'), unpacked].map((dir) => join(dir, name)).find(existsSync);
  if (!found) throw new Error(`no ${name} on this machine: Debian has it in the package ${name === 'promtool' ? 'prometheus' : name}`);
  return found;
}

function run(name, args) {
  const { status, stdout, stderr } = spawnSync(program(name), args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`${name} ${args.join(' ')}: ${stderr}`);
  return stdout;
}

const listen = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));

async function freePort() {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function answers(url) {
  for (let i = 0; i < 600; i++) {
    if (await fetch(url).then((r) => r.ok, () => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${url} does not answer`);
}

const work = mkdtempSync(join(tmpdir(), 'hookspan-dashboard-'));
const ends = [() => rmSync(work, { recursive: true, force: true })];
try {
  const now = Math.floor(Date.now() / 1000);
  const data = join(work, 'data');
  writeFileSync(join(work, 'history.txt'), history(run('go', ['run', './internal/testkit/recorded/print']), now));
  mkdirSync(data);
  run('promtool', ['tsdb', 'create-blocks-from', 'openmetrics', '--max-block-duration=384h', '-q', join(work, 'history.txt'), data]);

  writeFileSync(join(work, 'prometheus.yml'), 'scrape_configs: []\n');
  const base = `http://127.0.0.1:${await freePort()}`;
  const prometheus = spawn(program('prometheus'), [
    `--config.file=${join(work, 'prometheus.yml')}`, `--storage.tsdb.path=${data}`, '--storage.tsdb.retention.time=90d',
    `--web.listen-address=${base.slice('http://'.length)}`, '--log.level=error',
  ], { stdio: 'inherit' });
  ends.unshift(() => new Promise((resolve) => prometheus.once('exit', resolve).kill()));
  await answers(`${base}/-/ready`);

  await esbuild.build({
    entryPoints: [join(here, 'page.tsx')], outfile: join(work, 'page.js'), bundle: true, format: 'iife', jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"', global: 'window' }, logLevel: 'error',
    loader: { '.svg': 'dataurl', '.png': 'dataurl', '.woff2': 'dataurl', '.woff': 'dataurl', '.ttf': 'dataurl' },
  });
  const files = {
    '/': ['text/html; charset=utf-8', '<!doctype html><meta charset=utf-8><link rel=stylesheet href=page.css><body><div id=root></div><script src=page.js></script>'],
    '/page.js': ['text/javascript', readFileSync(join(work, 'page.js'))],
    '/page.css': ['text/css', readFileSync(join(work, 'page.css'))],
    '/board.json': ['application/json', JSON.stringify({ base, now, dashboard: JSON.parse(readFileSync(join(here, '..', 'hookspan.json'))) })],
  };
  const server = createServer((req, res) => {
    const [type, body] = files[new URL(req.url, base).pathname] ?? [];
    res.writeHead(type ? 200 : 404, type ? { 'content-type': type } : {}).end(body);
  });
  const port = await listen(server);
  ends.unshift(() => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }));

  const browser = await chromium.launch({
    executablePath: program('chromium'),
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  ends.unshift(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1600, height: 1200 }, timezoneId: 'UTC', locale: 'en-US' });
  const faults = [];
  page.on('pageerror', (e) => faults.push(String(e)));
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.waitForFunction(() => window.drawn, undefined, { timeout: 120_000 });
  const said = await page.evaluate(() => window.faults);
  if (faults.length + said.length > 0) throw new Error([...faults, ...said].join('\n'));
  mkdirSync(images, { recursive: true });
  const size = await page.evaluate(() => ({ height: document.getElementById('board').scrollHeight, half: window.half }));
  await page.setViewportSize({ width: 1600, height: Math.ceil(size.height) });
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(images, 'dashboard-tools.png'), clip: { x: 0, y: 0, width: 1600, height: size.half } });
  await page.screenshot({ path: join(images, 'dashboard-models.png'), clip: { x: 0, y: size.half, width: 1600, height: size.height - size.half } });
  console.log(`${images}: dashboard-tools.png, dashboard-models.png`);
} finally {
  for (const end of ends) await end();
}
