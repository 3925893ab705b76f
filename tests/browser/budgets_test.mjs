// The budgets of the dashboard, printed. What the machine cannot change is asserted: sizes, the number of updates, and that nothing moves.
// Times depend on the machine and on its other work: each is printed with its budget, and fails nothing.      ORDO_BROWSER_STORE=redis: on Redis
import { after, afterEach, before, describe, test } from 'node:test';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { assert, close, closeAll, launch, open, settled, watchShifts } from './browser.mjs';
import { config, pages, Scene, until } from './scene.mjs';

const KiB = 1024;
const waiting = Number(process.env.ORDO_BROWSER_WAITING ?? 1_000_000);
const seconds = Number(process.env.ORDO_BROWSER_SECONDS ?? 20); // that the processor's time is measured for
const updates = 6;
const assets = new URL('../../dashboard/dist/assets/', import.meta.url);

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const say = (text) => console.log(`# ${text}`);
function judge(what, value, most, unit) {
  say(`${what}: ${value.toFixed(value < 10 ? 1 : 0)} ${unit} of ${most} ${unit}${value > most ? ': MISSED on this machine' : ''}`);
}

let scene;
let browser;
before(async () => {
  const queue = (name, more = '') => `[queue.${name}]\ncommand = ["python3", "-u", "worker.py"]\nthreads = 1\n${more}`;
  const withMuch = (store, listen) => config(store, listen) + queue('much') + queue('busy', 'batch_size = 20\n');
  scene = await Scene.start({ store: process.env.ORDO_BROWSER_STORE ?? 'sqlite', config: withMuch });
  browser = await launch();
  await scene.call('POST', 'queues/much/pause');
  const lines = Array.from({ length: waiting }, (_, i) => `{"id":"j${i}"}\n`).join('');
  const answer = await fetch(`${scene.url}/api/v1/queues/much/jobs`, { method: 'POST', headers: { 'Content-Type': 'application/x-ndjson' }, body: lines });
  assert.equal(answer.status, 201, await answer.text());
  await until('they are counted', async () => (await scene.counts('much')).length === waiting);
  await scene.fill();
});
after(async () => { await browser?.close(); await scene?.stop(); });

/// What a page has asked the API for: paths.
const asked = (page) => page.evaluate(() => performance.getEntriesByType('resource').map((each) => each.name.split('/api/v1/')[1]).filter((path) => path && !path.startsWith('events')));

/// How long an answer takes: the best of three, as the browser, the workers and other programs use the same cores.
async function timeOf(path) {
  let best = Infinity;
  for (let i = 0; i < 3; i++) {
    const began = performance.now();
    await (await fetch(`${scene.url}/api/v1/${path}`)).text();
    best = Math.min(best, performance.now() - began);
  }
  return best;
}

describe('sizes', () => {
  test('of what the program serves, compressed', () => {
    const files = readdirSync(assets);
    const sizeOf = (end) => files.filter((file) => file.endsWith(end)).reduce((all, file) => all + statSync(new URL(file, assets)).size, 0);
    for (const file of files.filter((each) => each.endsWith('.gz'))) {
      assert.ok(gunzipSync(readFileSync(new URL(file, assets))).equals(readFileSync(new URL(file.slice(0, -3), assets))), `${file} is not its file, compressed`);
    }
    for (const [what, end, most] of [['JavaScript', '.js.gz', 120], ['CSS', '.css.gz', 20], ['fonts', '.woff2', 110]]) {
      const size = sizeOf(end);
      judge(what, size / KiB, most, 'KiB');
      assert.ok(size > 0 && size <= most * KiB, `${what}: ${size} bytes`);
    }
  });
});

describe(`with ${waiting.toLocaleString('en-US')} waiting`, () => {
  afterEach(closeAll);

  test('the first paint', async () => {
    const paints = [];
    for (let i = 0; i < 5; i++) { // each in a browser without a cache
      const page = await open(browser);
      await page.goto(`${scene.url}/`);
      await settled(page);
      paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
      await close(page);
    }
    judge(`first paint, the best of 5 (median ${median(paints).toFixed(0)} ms)`, Math.min(...paints), 300, 'ms');
  });

  test('the data of each page, and that no page moves by itself', async () => {
    const moved = {};
    const paths = new Set();
    for (const path of [...pages, 'jobs?queue=much', 'queues/much', 'queues/much/jobs/j7', 'jobs?queue=much&state=due&sort=start']) {
      const page = await open(browser);
      await watchShifts(page);
      await page.goto(`${scene.url}/${path}`);
      await settled(page);
      await until('the counts came twice', () => page.evaluate(() => { window.__seen ??= document.querySelector('.clock').textContent; return window.__seen !== document.querySelector('.clock').textContent; }));
      const shift = await page.evaluate(() => window.__shift);
      // A number that becomes wider by a digit moves its text by less.
      if (shift >= 0.0005) moved[path] = [shift, await page.evaluate(() => window.__moved.slice(0, 3))];
      for (const each of await asked(page)) paths.add(each);
      await close(page);
    }
    const times = [];
    for (const path of paths) times.push([await timeOf(path), path]);
    times.sort((a, b) => b[0] - a[0]);
    judge(`an answer for a page, median of ${times.length}`, median(times.map(([ms]) => ms)), 50, 'ms');
    judge(`the slowest, ${times[0][1]}`, times[0][0], 50, 'ms');
    for (const [ms, path] of times.slice(1).filter(([each]) => each > 50)) judge(path, ms, 50, 'ms');
    assert.deepEqual(moved, {});
  });

  test('at most one update a second', async () => {
    const stop = new AbortController();
    const began = performance.now();
    const answer = await fetch(`${scene.url}/api/v1/events?event=stats`, { signal: stop.signal });
    let text = '';
    let seen = 0;
    for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
      text += part;
      seen = text.split('event: stats\n').length - 1;
      if (seen >= updates) break;
    }
    stop.abort();
    const took = (performance.now() - began) / 1000;
    say(`${seen} updates in ${took.toFixed(1)} s`);
    assert.ok(seen <= took + 2, 'the first may come at once, and the second with the next second'); // later ones come late at most
  });

  test('what an open page costs a busy node', async () => {
    let n = 0;
    let isOver = false;
    const busy = (async () => {
      while (!isOver) {
        const next = performance.now() + 1000;
        n++;
        await scene.push('busy', Array.from({ length: 1000 }, (_, i) => ({ id: `${n}-${i}`, payload: {} })));
        await new Promise((done) => setTimeout(done, Math.max(0, next - performance.now())));
      }
    })();
    try {
      const without = await cost();
      const page = await open(browser);
      await page.goto(`${scene.url}/`);
      await settled(page);
      const shown = await cost();
      await close(page);
      const again = await cost();
      say(`the node takes ${without.toFixed(1)} and ${again.toFixed(1)} % of a core without a page, ${shown.toFixed(1)} % with one`);
      judge('an open page', Math.max(0, shown - (without + again) / 2), 2, '% of a core');
    } finally {
      isOver = true;
      await busy;
    }
  });
});

const ticksPerSecond = 100; // of Linux
const processorTime = () => { const fields = readFileSync(`/proc/${scene.node.pid}/stat`, 'utf8').split(') ')[1].split(' '); return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond; };

/// What the node takes, in percent of a core.
async function cost() {
  const [before, began] = [processorTime(), performance.now()];
  await new Promise((done) => setTimeout(done, seconds * 1000));
  return (100 * (processorTime() - before)) / ((performance.now() - began) / 1000);
}
