// What is unusual: hostile text, an API that is slow, fails, loses its events or answers 401, 200 queues, a million waiting.
// ORDO_BROWSER_STORE=redis: on Redis
import { after, afterEach, before, describe, test } from 'node:test';
import { assert, close, closeAll, launch, open, settled, violations } from './browser.mjs';
import { Scene, until } from './scene.mjs';

const queues = Array.from({ length: 198 }, (_, i) => `queue-${String(i).padStart(3, '0')}`);
const config = (store, listen) => `store = "${store}"
[node]
threads = 2
listen = "${listen}"
[queue.hostile]
command = ["python3", "-u", "worker.py"]
threads = 1
max_retries = 0
[queue.large]
command = ["python3", "-u", "worker.py"]
threads = 1
shards = 2
${queues.map((name) => `[queue.${name}]\nshards = 1\n`).join('')}`;

const waiting = Number(process.env.ORDO_BROWSER_WAITING ?? 1_000_000);
const hostile = [
  '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>',
  '\u202egnp.exe\u202c \u2066mixed\u2069 שלום مرحبا',
  '</script><style>*{display:none}</style>&amp;&#x27;',
  'zero\u200bwidth\u0000nul\u001b[31m',
];

let scene;
let browser;
before(async () => {
  scene = await Scene.start({ store: process.env.ORDO_BROWSER_STORE ?? 'sqlite', config });
  browser = await launch();
  await scene.call('POST', 'queues/hostile/pause');
  await scene.push('hostile', [
    ...hostile.map((text, i) => ({ id: `${i} ${text.replaceAll('\u0000', '').slice(0, 60)}`, key: text.slice(0, 60), payload: { text, [text]: [text] } })),
    { id: 'bytes', payload: { $base64: Buffer.from([0, 255, 254, 1, 2]).toString('base64') } },
    { id: 'large', payload: { text: 'x'.repeat((1 << 20) - 100) } },
    { id: 'number', payload: { n: 12345 } },
    { id: '../../etc/passwd?x=#y%2F', payload: {} },
    { id: 'k'.repeat(255), payload: {} },
  ]);
  await scene.call('POST', 'queues/large/pause');
});
after(async () => { await browser?.close(); await scene?.stop(); });

describe('hostile text', () => {
  afterEach(closeAll);

  test('is shown as text, in every list and on its page', async () => {
    const page = await open(browser);
    for (const path of ['jobs?queue=hostile', 'jobs?q=hacked&queue=hostile', 'queues/hostile']) {
      await page.goto(`${scene.url}/${path}`);
      await settled(page);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
    }
    await page.goto(`${scene.url}/jobs?queue=hostile`);
    await settled(page);
    const links = await page.locator('tbody tr[data-row] a[data-open]').evaluateAll((all) => all.map((each) => each.href));
    assert.equal(links.length, 9);
    for (const link of links) {
      await page.goto(link);
      await page.locator('h1 bdi').waitFor();
      await page.locator('.facts').waitFor();
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), link);
      assert.ok(!/[\u202a-\u202e\u200b\u2066-\u2069]/.test(await page.locator('main').textContent()), link);
    }
    await close(page);
  });

  test('bytes are told as bytes, a large payload is cut for the eye', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/queues/hostile/jobs/bytes`);
    await page.locator('.payload', { hasText: '5 bytes, base64 AP/+AQI=' }).waitFor();
    await page.goto(`${scene.url}/queues/hostile/jobs/large`);
    await page.locator('.payload', { hasText: 'the first 2,000 of 1.0 MiB' }).waitFor();
    assert.deepEqual(await violations(page), []);
    await close(page);
  });
});

describe('an API that', () => {
  afterEach(closeAll);

  test('is slow: grey rows stand where the answer will', async () => {
    const page = await open(browser);
    let go;
    const gate = new Promise((done) => { go = done; });
    await page.route('**/api/v1/queues/hostile/jobs*', async (route) => { await gate; await route.continue(); });
    await page.goto(`${scene.url}/jobs?queue=hostile`);
    await page.locator('main .loading .ghost').first().waitFor();
    go();
    await page.locator('tbody tr[data-row]').first().waitFor();
    await close(page);
  });

  test('fails: the page says what and tries again', async () => {
    const page = await open(browser, { expected: /status of 503/ });
    let isBroken = true;
    await page.route('**/api/v1/queues/hostile/jobs*', (route) => (isBroken ? route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"status":503,"title":"Service Unavailable","detail":"the store cannot be reached"}' }) : route.continue()));
    await page.goto(`${scene.url}/jobs?queue=hostile`);
    await page.locator('.failure', { hasText: 'the store cannot be reached' }).waitFor();
    isBroken = false;
    await page.locator('.failure button', { hasText: 'Try again' }).click();
    await page.locator('tbody tr[data-row]').first().waitFor();
    await close(page);
  });

  test('loses its events: the page polls and says so', async () => {
    const page = await open(browser, { expected: /events/ });
    await page.route('**/api/v1/events*', (route) => route.abort());
    await page.goto(`${scene.url}/queues`);
    await page.locator('.live', { hasText: 'Polling' }).waitFor();
    await scene.call('POST', 'queues/queue-000/pause');
    await page.locator('tr[data-row="queue-000"] [aria-label=paused]').waitFor();
    await scene.call('POST', 'queues/queue-000/resume');
    await close(page);
  });

  test('is gone: what is shown is old, and says how old', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/queues`);
    await settled(page);
    scene.node.kill('SIGSTOP');
    try {
      await page.locator('.live.off', { hasText: /\d+ s old, reconnecting/ }).waitFor();
      assert.equal(await page.locator('.shell.stale').count(), 1);
    } finally {
      scene.node.kill('SIGCONT');
    }
    await page.locator('.live:not(.off)').waitFor();
    await close(page);
  });

  test('answers 401: the log-in page, why it refuses, and back to where one was', async () => {
    const page = await open(browser, { expected: /status of 4(01|29)/ });
    let isIn = false;
    let tries = 0;
    await page.route('**/api/v1/**', async (route) => {
      const path = new URL(route.request().url()).pathname;
      if (path.endsWith('/login')) {
        tries++;
        if (tries === 1) return route.fulfill({ status: 401, contentType: 'application/problem+json', body: '{"detail":"no token fits"}' });
        if (tries === 2) return route.fulfill({ status: 429, headers: { 'Retry-After': '1' }, contentType: 'application/problem+json', body: '{"detail":"too many tries"}' });
        isIn = true;
        return route.fulfill({ status: 200, contentType: 'application/json', body: '{"logged_in":true}' });
      }
      if (!isIn) return route.fulfill({ status: 401, contentType: 'application/problem+json', body: '{"detail":"this needs a token"}' });
      if (path.endsWith('/me')) return route.fulfill({ status: 200, contentType: 'application/json', body: '{"name":"mira","role":"viewer","queues":null,"read_only":false,"csrf":"c"}' });
      return route.continue();
    });
    await page.goto(`${scene.url}/queues/hostile`);
    await page.locator('h1', { hasText: 'Log in' }).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await page.locator('.failure', { hasText: 'no token fits' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.failure', { hasText: 'too many tries; try again at' }).waitFor();
    await page.locator('button[type=submit]:not([aria-disabled])').click();
    await page.locator('h1', { hasText: 'hostile' }).waitFor();
    await page.locator('.rail-who', { hasText: 'mira · viewer' }).waitFor();
    assert.equal(await page.locator('main [data-actions]').count(), 0);
    await close(page);
  });
});

describe('much', () => {
  afterEach(closeAll);

  test('200 queues: each has its row, sorting and the filter are in the address', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/queues`);
    await until('all are shown', async () => await page.locator('tr[data-row]').count() === 200);
    await page.getByRole('button', { name: 'Waiting', exact: true }).click();
    await page.waitForURL('**sort=-waiting');
    assert.equal(await page.locator('tr[data-row]').first().getAttribute('data-row'), 'hostile');
    await page.locator('[data-filter]').fill('queue-19');
    await until('eight are left', async () => await page.locator('tr[data-row]').count() === 8);
    const slow = await page.evaluate(() => new Promise((done) => { let most = 0; new PerformanceObserver((list) => { for (const entry of list.getEntries()) most = Math.max(most, entry.duration); }).observe({ type: 'longtask', buffered: false }); setTimeout(() => done(most), 3000); }));
    console.log(`# longest task while updating: ${slow} ms`);
    await close(page);
  });

  test(`${waiting.toLocaleString('en-US')} waiting: pages of the list come and go, the count is exact`, async () => {
    const lines = Array.from({ length: waiting }, (_, i) => `{"id":"j${i}"}\n`).join('');
    const answer = await fetch(`${scene.url}/api/v1/queues/large/jobs`, { method: 'POST', headers: { 'Content-Type': 'application/x-ndjson' }, body: lines });
    assert.equal(answer.status, 201, await answer.text());
    await until('they are counted', async () => (await scene.counts('large')).length === waiting);
    const page = await open(browser);
    await page.goto(`${scene.url}/jobs?queue=large`);
    await settled(page);
    const text = waiting.toLocaleString('en-US');
    await page.locator('.filterbar', { hasText: `${text} match` }).waitFor();
    assert.equal(await page.locator('tr[data-row]').count(), 50);
    const first = await page.locator('tr[data-row]').first().getAttribute('data-row');
    await page.locator('.table-foot button', { hasText: 'Next 50' }).click();
    await page.waitForURL('**cursor=**');
    await until('another page', async () => await page.locator('tr[data-row]').first().getAttribute('data-row') !== first);
    await page.goBack();
    await until('the first again', async () => await page.locator('tr[data-row]').first().getAttribute('data-row') === first);
    await page.locator('thead input[type=checkbox]').check();
    await page.locator('.bulk', { hasText: `${text} selected` }).waitFor();
    await page.locator('.bulk button', { hasText: `Cancel ${text}…` }).click();
    const submit = page.locator('dialog button[type=submit]');
    assert.equal(await submit.getAttribute('aria-disabled'), 'true');
    await page.locator('dialog .typed input').fill('large');
    await submit.click();
    await page.locator('.toast', { hasText: `Cancel of ${text} jobs is requested` }).waitFor();
    await until('they are gone', async () => (await scene.counts('large')).length === 0);
    await close(page);
  });
});
