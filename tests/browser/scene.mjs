// One scene, a shop, with jobs in every state and behind every gate: for the browser tests and for the pictures of the docs.
// A real `ordo work` runs it, on SQLite or on a Redis server of its own.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const PATIENCE_MS = 300_000;
const ordo = process.env.ORDO_BIN ?? 'build/release/ordo';

/// Waits for what `is` answers; a slow machine only waits longer.
export async function until(what, is) {
  const end = Date.now() + PATIENCE_MS;
  let last;
  for (;;) {
    try {
      const found = await is();
      if (found) return found;
    } catch (error) { if (error.isFinal) throw error; last = error; }
    if (Date.now() > end) throw new Error(`not in ${PATIENCE_MS / 1000} s: ${what}${last ? `; ${last.message}` : ''}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

const worker = `
import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    results = {}
    for job in request["jobs"]:
        do = job["payloads"][-1] if job["payloads"] and isinstance(job["payloads"][-1], dict) else {}
        time.sleep(do.get("seconds", 0))
        answer = {"ok": True}
        if "error" in do:
            answer = {"error": do["error"]}
        if "await" in do and "response" not in job:
            answer = {"wait": do["await"], "timeout": do.get("timeout", 1800)}
        results[job["id"]] = answer
    print(json.dumps({"results": results}), flush=True)
`;

const hoursFromNow = (hours) => { const at = new Date(Date.now() + hours * 3_600_000); return `${String(at.getUTCHours()).padStart(2, '0')}:00`; };

export const config = (store, listen) => `store = "${store}"
[node]
threads = 12
listen = "${listen}"
lease = "5s"
${['orders', 'calls', 'search-index', 'emails', 'invoices', 'webhooks', 'crm-sync', 'refunds'].map((name) => `[queue.${name}]
command = ["python3", "-u", "worker.py"]
threads = 4
shards = 2
keep = "24h"
${({
    orders: 'lock = "/account"\nlock_span = "response"\nresponse_ttl = "1h"\nretry = { strategy = "fixed", delay = "8m" }',
    calls: `limit = 3\nwindows = [{ start = "${hoursFromNow(3)}", end = "${hoursFromNow(6)}", tz = "UTC" }]\nresponse_ttl = "1h"`,
    emails: 'rate = { limit = 5, per = "10s", burst = 5 }',
    invoices: 'max_retries = 0',
    webhooks: 'partition = "/host"\npartition_limit = 2\nretry = { strategy = "fixed", delay = "5m" }',
    'crm-sync': 'limits = ["crm"]',
  })[name] ?? ''}
`).join('')}
[queue.plain]
[queue.thumbnails]
shards = 1
threads = 1
[queue.thumbnails.kind.png]
command = ["python3", "-u", "worker.py"]
[limit.crm]
limit = 3
[periodic.monthly-invoices]
queue = "invoices"
cron = "0 6 1 * *"
tz = "Europe/Berlin"
[periodic.crm-refresh]
queue = "crm-sync"
every = "15m"
[periodic.call-list]  # its first job waits for the window, so later ticks are skipped
queue = "calls"
every = "2s"
`;

/// Every page, of the shop.
export const pages = ['', 'queues', 'queues/orders', 'jobs', 'jobs?queue=orders', 'queues/orders/jobs/order-90817', 'queues/orders/jobs/order-90790', 'queues/invoices/jobs/inv-2026-11-48149',
  'queues/orders/keys/customer%3A4711', 'dead', 'dead?by=queue', 'dead?by=list', 'why?queue=orders&gate=lock', 'limits', 'windows', 'responses', 'responses?key=bank%3Atx-88120&queue=orders',
  'periodic', 'sources', 'nodes', 'audit', 'more'];

/// Jobs of each queue; those that hold come first.
export function shopJobs() {
  const range = (n, make) => Array.from({ length: n }, (_, i) => make(i));
  return {
    orders: [
      { id: 'order-90790', key: 'customer:2093', payload: { account: 'acc_20931', await: 'bank:tx-88120', total: '64.90' } },
      { id: 'order-90871', key: 'customer:8830', payload: { account: 'acc_11820', await: 'bank:tx-88148', total: '12.00' } },
      { id: 'order-90930', key: 'customer:118', payload: { account: 'acc_30777', await: 'bank:tx-88163', total: '230.10' } },
    ],
    behind: [
      { id: 'order-90817', key: 'customer:4711', payload: { account: 'acc_20931', total: '189.00', voucher: 'NOV60' } },
      ...range(22, (i) => ({ id: `order-${90821 + i * 3}`, key: 'customer:4711', payload: { account: `acc_4711_${i}`, total: '12.50' } })),
      ...range(9, (i) => ({ id: `order-${91300 + i}`, key: 'customer:8830', payload: { account: `acc_8830_${i}` } })),
      ...range(6, (i) => ({ id: `order-${91400 + i}`, key: `customer:${3000 + i}`, payload: { account: ['acc_11820', 'acc_30777'][i % 2] } })),
      ...range(14, (i) => ({ id: `order-${91120 + i}`, key: `customer:${6000 + i}`, run_at: `+${i + 2}h`, payload: { account: `acc_later_${i}` } })),
      ...range(3, (i) => ({ id: `order-${91500 + i}`, key: `customer:${7000 + i}`, payload: { account: `acc_retry_${i}`, error: 'PSP: 503 Service Unavailable\n  POST /v2/charges (20.8s, request 7f31c0)\n  retry-after: absent' } })),
    ],
    calls: range(64, (i) => ({ id: `call-${55100 + i}`, payload: { number: `+49 30 ${1000 + i}` } })),
    'search-index': range(2500, (i) => ({ id: `doc-${i}`, payload: { seconds: 0.25 } })),
    emails: range(80, (i) => ({ id: `mail-${i}`, payload: { to: `customer${i}@example.org`, template: 'shipped' } })),
    invoices: [
      ...range(38, (i) => ({ id: `inv-2026-11-${48149 + i}`, key: `customer:${10884 + i * 7}`, payload: { customer: 10884 + i * 7, month: '2026-10', template: 'invoice-v7', error: 'TemplateNotFound: invoice-v7\n  render.py:88 load()' } })),
      ...range(3, (i) => ({ id: `inv-2026-10-${100 + i}`, key: `customer:${i}`, payload: { customer: i, error: 'customer has no tax id' } })),
      ...range(12, (i) => ({ id: `inv-2026-12-${i}`, run_at: '+12h', payload: { customer: i } })),
    ],
    webhooks: [
      ...range(40, (i) => ({ id: `hook-${i}`, payload: { host: 'hooks.parcelo.example', seconds: 25 } })),
      ...range(8, (i) => ({ id: `hook-err-${i}`, payload: { host: `api${i}.lumen.example`, error: 'HTTP 410 Gone' } })),
    ],
    'crm-sync': range(60, (i) => ({ id: `contact:${88213 + i}`, payload: { seconds: 20 } })),
    thumbnails: range(120, (i) => ({ id: `img-${i}`, kind: 'webp', payload: { path: `/img/${i}.webp` } })),
    refunds: range(58, (i) => ({ id: `refund-${i}`, payload: { order: 90000 + i } })),
  };
}

export class Scene {
  static async start({ store = 'sqlite', config: make = config, read = () => {} } = {}) {
    const scene = new Scene();
    scene.folder = mkdtempSync(join(tmpdir(), 'ordo-scene-'));
    scene.children = [];
    let url = `sqlite:${join(scene.folder, 'ordo.db')}`;
    if (store === 'redis') url = await scene.redis();
    writeFileSync(join(scene.folder, 'worker.py'), worker);
    writeFileSync(join(scene.folder, 'ordo.toml'), make(url, 'auto'));
    await scene.work();
    await read(scene);
    return scene;
  }

  async redis() {
    const port = await freePort();
    this.child('redis-server', ['--port', String(port), '--save', '', '--appendonly', 'yes', '--dir', this.folder, '--bind', '127.0.0.1'], 'redis.log');
    return `redis://127.0.0.1:${port}`;
  }

  child(program, words, log) {
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...words], { cwd: this.folder, stdio: ['ignore', 'pipe', 'pipe'] });
    this.logs ??= {};
    this.logs[log] ??= '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => { this.logs[log] = (this.logs[log] + text).slice(-200_000); });
    this.children.push(child);
    return child;
  }

  async work() {
    this.logs = { ...this.logs, 'node.log': '' };
    this.node = this.child(ordoPath(), ['work'], 'node.log');
    const found = await until('the node listens', () => {
      if (this.node.exitCode !== null) throw Object.assign(new Error(`ordo work ended: ${this.logs['node.log'].slice(-2000)}`), { isFinal: true });
      return /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(this.logs['node.log']);
    });
    this.url = found[1];
  }

  async call(method, path, body) {
    const answer = await fetch(`${this.url}/api/v1/${path}`, { method, headers: body === undefined ? {} : { 'Content-Type': 'application/json' }, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 500)}`);
    return JSON.parse(text);
  }
  push(queue, jobs) { return this.call('POST', `queues/${queue}/jobs`, jobs); }
  async counts(queue) { return (await this.call('GET', 'stats')).by_queue[queue]; }

  /// The shop, with jobs in every state.
  async fill() {
    const jobs = shopJobs();
    await this.call('POST', 'queues/refunds/pause');
    await this.push('orders', jobs.orders);
    await until('three orders await', async () => (await this.counts('orders')).awaiting === 3);
    await this.push('orders', jobs.behind);
    for (const [queue, list] of Object.entries(jobs)) if (!['orders', 'behind'].includes(queue)) await this.push(queue, list);
    await until('invoices died', async () => (await this.counts('invoices')).dead === 41);
    await until('the gates hold', async () => { const c = await this.counts('orders'); return c.blocked_by_key >= 20 && c.blocked_by_lock >= 1 && c.retrying >= 3; });
    await until('code is missed', async () => (await this.counts('thumbnails')).without_code === 120);
    await until('the window is closed', async () => (await this.counts('calls')).blocked_by_window >= 64);
    await until('a schedule is held back', async () => (await this.call('GET', 'periodic')).items.some((each) => each.held_by && each.skipped_ticks > 0));
  }

  async stop() {
    for (const child of this.children) if (child.exitCode === null) child.kill('SIGKILL');
    await Promise.all(this.children.map((child) => child.exitCode !== null || child.signalCode !== null ? null : new Promise((done) => child.on('exit', done))));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const ordoPath = () => (ordo.startsWith('/') ? ordo : join(process.cwd(), ordo));
export const readText = (path) => readFileSync(path, 'utf8');

function freePort() {
  return new Promise((done, fail) => {
    const server = createServer();
    server.on('error', fail);
    server.listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => done(port)); });
  });
}

// node tests/browser/scene.mjs [redis]: runs the shop until it is ended, with a steady flow of jobs.
if (process.argv[1] === new URL(import.meta.url).pathname) {
  const scene = await Scene.start({ store: process.argv[2] });
  console.log(scene.url, scene.folder);
  await scene.fill();
  console.log('filled');
  let n = 0;
  setInterval(() => { n++; void scene.push('search-index', Array.from({ length: 14 + (n % 5) }, (_, i) => ({ id: `live-${n}-${i}`, payload: { seconds: 0.2 } }))).catch((error) => console.error(error.message)); }, 1000);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => { void scene.stop().then(() => process.exit(0)); });
}
