// Each page of the dashboard in a real browser, on a real node with jobs in every state.
//   ORDO_BIN=build/release/ordo node --test tests/browser/pages_test.mjs      ORDO_BROWSER_STORE=redis: on Redis
import { after, afterEach, before, describe, test } from 'node:test';
import { assert, close, closeAll, launch, open, settled, violations, violationsOfThemes, watchShifts } from './browser.mjs';
import { pages, Scene, until } from './scene.mjs';

let scene;
let browser;
before(async () => {
  scene = await Scene.start({ store: process.env.ORDO_BROWSER_STORE ?? 'sqlite' });
  browser = await launch();
  await scene.fill();
});
after(async () => { await browser?.close(); await scene?.stop(); });

describe('pages', () => {
  afterEach(closeAll);

  test('every page is clean for axe in both themes', async () => {
    const page = await open(browser);
    const found = {};
    for (const path of pages) {
      await page.goto(`${scene.url}/${path}`);
      await settled(page);
      const list = await violationsOfThemes(page);
      if (list.length) found[path] = list;
    }
    assert.deepEqual(found, {});
    await close(page);
  });

  test('no page and no table of it is cut on the right, on any screen', async () => {
    const page = await open(browser);
    const wide = [];
    for (const path of pages) {
      await page.goto(`${scene.url}/${path}`);
      await settled(page);
      for (const width of [1440, 1280, 1024, 700, 390]) {
        await page.setViewportSize({ width, height: 900 });
        // What is drawn to a width (plots, the line of a key, the matrix of gates) may be moved in its box; the rest fits.
        await page.evaluate(async () => { for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); }); // tables fit themselves in the next frame
        wide.push(...await page.evaluate(([at, most]) => [document.documentElement, ...document.querySelectorAll('.table-scroll:not([tabindex])')]
          .filter((each) => each.offsetParent !== null || each === document.documentElement).filter((each) => each.scrollWidth > each.clientWidth)
          .map((each) => `/${at} at ${most}: ${each.querySelector('table')?.getAttribute('aria-label') ?? 'the page'} is ${each.scrollWidth} wide, ${each.clientWidth} are seen`), [path, width]));
      }
    }
    assert.deepEqual(wide, []);
    await close(page);
  });

  test('on a phone, what is pressed has 24 pixels or more, and five tabs stand below', async () => {
    const page = await open(browser, { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
    await page.goto(`${scene.url}/`);
    await settled(page);
    assert.equal(await page.locator('.tabs a').count(), 5);
    const small = await page.evaluate(() => [...document.querySelectorAll('button, .button, .tabs a')].filter((each) => each.offsetParent && Math.min(each.getBoundingClientRect().width, each.getBoundingClientRect().height) < 24 && !each.classList.contains('link')).map((each) => each.outerHTML.slice(0, 120)));
    assert.deepEqual(small, []);
    await page.locator('.tabs a', { hasText: 'More' }).tap();
    await page.locator('main a', { hasText: 'Periodic' }).tap();
    await page.locator('h1', { hasText: '3 schedules' }).waitFor();
    await close(page);
  });

  test('counts add up and are those of the API', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/why`);
    await settled(page);
    const cells = await page.locator('.matrix tbody tr:not(.totals)').evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => Number(cell.textContent.replace(/,/g, '').match(/\d+/)?.[0] ?? 0))));
    for (const row of cells) {
      if (!Number.isFinite(row[1])) continue;
      const gates = row.slice(2, row.length - 1);
      assert.ok(gates.reduce((a, b) => a + b, 0) <= row[1], String(row));
    }
    const orders = await scene.counts('orders');
    await page.goto(`${scene.url}/queues/orders`);
    await settled(page);
    await page.locator('.gate', { hasText: 'key' }).filter({ hasText: String(orders.blocked_by_key) }).waitFor();
    await page.locator('.gate', { hasText: 'lock' }).filter({ hasText: String(orders.blocked_by_lock) }).waitFor();
    await close(page);
  });

  test('a wait has its reason and its holder, up to the last cause', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/queues/orders/jobs/order-90817`);
    await page.locator('h2', { hasText: 'Waits for lock acc_20931' }).waitFor();
    await page.locator('.chain .cause', { hasText: 'bank:tx-88120' }).waitFor();
    await page.locator('.is-first a', { hasText: 'order-90790' }).first().click();
    await page.waitForURL('**/queues/orders/jobs/order-90790*');
    await page.locator('h2', { hasText: 'Waits for response bank:tx-88120' }).waitFor();
    await page.goBack();
    await page.locator('h1', { hasText: 'order-90817' }).waitFor();
    await page.goto(`${scene.url}/queues/orders/keys/customer%3A4711`);
    await page.locator('.line-gate.closed', { hasText: '22 behind order-90817' }).waitFor();
    await page.locator('.chain .cause', { hasText: 'bank:tx-88120' }).waitFor();
    await close(page);
  });

  test('a schedule names the job that holds it back, and counts its skipped ticks', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/periodic`);
    const row = page.locator('tr[data-row="call-list"]');
    const { held_by: job } = (await scene.call('GET', 'periodic')).items.find((each) => each.name === 'call-list');
    await row.locator('small', { hasText: 'is not over' }).waitFor();
    const skipped = async () => Number((await row.locator('td').nth(7).textContent()).replaceAll(',', ''));
    const first = await skipped();
    assert.ok(first > 0);
    await until('more are skipped', async () => await skipped() > first);
    await row.locator('small a').click();
    await page.waitForURL((url) => url.pathname === `/queues/calls/jobs/${encodeURIComponent(job)}`);
    await page.locator('h2', { hasText: 'Waits for window' }).waitFor();
    await close(page);
  });

  test('a problem that has ended is named, with its time', async () => {
    const page = await open(browser);
    await page.route('**/api/v1/problems', (route) => route.fulfill({ json: gone ? [] : [{ severity: 'watch', queue: 'refunds', what: "queue 'refunds' stands", advice: '', since: null, effect: null, jobs: 5, action: null }] }));
    let gone = false;
    await page.goto(`${scene.url}/`);
    await page.locator('.problem', { hasText: 'stands' }).waitFor();
    gone = true;
    await page.locator('.calm .cleared', { hasText: /Last cleared \d\d:\d\d: queue 'refunds' stands/ }).waitFor();
    await close(page);
  });

  test('what is wrong with sources and nodes is told, and fits every screen', async () => {
    const page = await open(browser, { expected: /events/ });
    const source = { type: 'sidekiq', queues: ['default'], taken: 120, refused: {}, waiting: 0, lag: null, active: true, full: false, hand_overs: 0, last: '2026-11-26T12:00:00Z', others: [], trouble: null };
    const sources = [
      { ...source, name: 'web', origin: 'redis://127.0.0.1:6379', refused: { malformed: 2, no_value: 3 }, full: true },
      { ...source, name: 'legacy', origin: 'redis://redis.of-the-old-shop.example:6379/12', active: false, last: null, hand_overs: 2, trouble: 'no connection to redis://redis.of-the-old-shop.example:6379/12: Connection refused' },
    ];
    await page.route('**/api/v1/sources', (route) => route.fulfill({ json: { items: sources, next: null, total: 2 } }));
    const [{ id }] = (await scene.call('GET', 'nodes')).items;
    const why = 'cannot run the command "/opt/reports/bin/make-report": No such file or directory';
    await page.route('**/api/v1/events*', (route) => route.abort());
    await page.route('**/api/v1/stats', async (route) => route.fulfill({ json: { ...await scene.call('GET', 'stats'), failing_nodes: [{ id, commit_error: null, commit_error_since: null, cannot_start: [{ queue: 'orders', kind: 'orders', why }], stuck_runs: [] }] } }));
    for (const [path, texts] of [['sources', ['5 jobs went to the dead as they are: 2 malformed, 3 no_value', "2 failed jobs wait to be brought into Sidekiq's set of retries", 'Connection refused']], ['nodes', [`${id} cannot do all its work`, why]]]) {
      await page.goto(`${scene.url}/${path}`);
      await settled(page);
      for (const text of texts) await page.locator('main .problems', { hasText: text }).waitFor();
      assert.deepEqual(await violations(page), []);
      for (const width of [1440, 700, 390]) {
        await page.setViewportSize({ width, height: 900 });
        const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(wide <= seen, `/${path} at ${width} is ${wide} wide`);
      }
    }
    await page.locator('main .problems button', { hasText: 'Stop…' }).click();
    await page.locator('dialog', { hasText: `Stop ${id}?` }).waitFor();
    await page.keyboard.press('Escape');
    await page.goto(`${scene.url}/sources`);
    await settled(page);
    await page.locator('main tr', { hasText: 'web' }).filter({ hasText: 'full' }).waitFor();
    await page.locator('main tr', { hasText: 'legacy' }).filter({ hasText: 'trouble' }).waitFor();
    const asked = page.waitForRequest('**/api/v1/sources/legacy/reset');
    await page.route('**/api/v1/sources/legacy/reset', (route) => route.fulfill({ json: { changed: true } }));
    await page.getByRole('button', { name: 'Reset legacy' }).click();
    await page.locator('dialog', { hasText: 'Reset legacy?' }).locator('button[type=submit]').click();
    assert.equal((await asked).method(), 'POST');
    await page.locator('.toast', { hasText: 'legacy is reset' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Reset web' }).count(), 0);
    await close(page);
  });

  test('a filter is in the address: reload, Back and a shared link show the same', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/jobs`);
    await settled(page);
    await page.locator('.facets button', { hasText: 'orders' }).click();
    await page.waitForURL('**/jobs?queue=orders');
    await page.locator('.facets button', { hasText: 'lock' }).click();
    await page.waitForURL('**waits_for=lock**');
    const rows = () => page.locator('main tbody tr[data-row]').count();
    const lock = (await scene.counts('orders')).blocked_by_lock;
    await until('its rows are shown', async () => await rows() === lock);
    await page.reload();
    await until('they are shown again', async () => await rows() === lock);
    await page.goBack();
    await until('all are shown', async () => await rows() > lock);
    await page.locator('[data-filter]').fill('key:customer:4711');
    await page.keyboard.press('Enter');
    await page.waitForURL('**key=customer%3A4711**');
    await until('the line is shown', async () => await rows() === 23);
    await page.locator('[data-filter]').press('Backspace');
    await page.waitForURL((url) => !url.search.includes('key='));
    await page.locator('[data-filter]').fill('state:scheduled queue:invoices');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('state') === 'scheduled' && url.searchParams.get('queue') === 'invoices');
    await until('both filters count', async () => await rows() === 12);
    await close(page);
  });

  test('a page behind a prefix works: files, links and addresses', async () => {
    const page = await open(browser);
    // What a proxy does: it takes the prefix off.
    await page.route('**/ops/ordo/**', async (route) => {
      const url = new URL(route.request().url());
      const answer = await route.fetch({ url: `${scene.url}${url.pathname.slice('/ops/ordo'.length)}${url.search}`, headers: { accept: route.request().headers().accept ?? '*/*' } }).catch(() => null);
      if (answer) await route.fulfill({ response: answer }); else await route.abort();
    });
    await page.goto(`${scene.url}/ops/ordo/queues/orders/jobs/order-90817`);
    await page.locator('h1', { hasText: 'order-90817' }).waitFor();
    await page.locator('.facts a', { hasText: 'customer:4711' }).click();
    await page.waitForURL('**/ops/ordo/queues/orders/keys/customer%3A4711');
    await page.locator('.rail a', { hasText: 'Nodes' }).click();
    await page.waitForURL('**/ops/ordo/nodes');
    await page.locator('h1', { hasText: '1 node' }).waitFor();
    page.errors = page.errors.filter((error) => !/events/.test(error));
    await close(page);
  });

  test('queues stand in one order, whether their counts were asked for or came as events', async () => {
    const page = await open(browser, { expected: /events|stats/ });
    const names = () => page.locator('table[aria-label=Queues] tr[data-row]').evaluateAll((rows) => rows.map((row) => row.dataset.row));
    const stated = Object.keys((await scene.call('GET', 'stats')).by_queue);
    assert.notDeepEqual(stated, stated.toSorted());
    for (const without of ['events', 'stats']) {
      await page.route(`**/api/v1/${without}*`, (route) => route.abort());
      await page.goto(`${scene.url}/queues`);
      await page.locator('tr[data-row]').first().waitFor();
      assert.deepEqual(await names(), stated, `without ${without}`);
      await page.unroute(`**/api/v1/${without}*`);
    }
    await close(page);
  });

  test('the first look is quick and nothing moves', async () => {
    const page = await open(browser);
    await watchShifts(page);
    await page.goto(`${scene.url}/`);
    await settled(page);
    const sizes = await page.evaluate(() => performance.getEntriesByType('resource').filter((each) => /assets/.test(each.name)).map((each) => [each.name.split('.').pop(), each.encodedBodySize]));
    const sum = (kind) => sizes.filter(([each]) => each === kind).reduce((n, [, size]) => n + size, 0);
    assert.ok(sum('js') <= 120 * 1024 && sum('css') <= 20 * 1024 && sum('woff2') <= 110 * 1024, JSON.stringify(sizes));
    await page.reload();
    await settled(page);
    await until('the counts came twice', () => page.evaluate(() => { window.__seen ??= document.querySelector('.clock').textContent; return window.__seen !== document.querySelector('.clock').textContent; }));
    assert.ok(await page.evaluate(() => window.__shift) < 0.02, `moved by ${await page.evaluate(() => window.__shift)}`);
    await close(page);
  });
});

describe('keyboard', () => {
  afterEach(closeAll);

  test('everything is reached and done without a mouse', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/`);
    await settled(page);
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the page');
    await page.keyboard.press('Enter');
    await page.keyboard.press('g');
    await page.keyboard.press('j');
    await page.waitForURL('**/jobs');
    await page.goto(`${scene.url}/jobs?queue=refunds`);
    await settled(page);
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.locator('.bulk', { hasText: '1 selected' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Shift+X');
    await page.locator('.bulk', { hasText: '3 selected' }).waitFor();
    await page.keyboard.press('.');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Clear');
    await page.keyboard.press('Enter');
    await page.locator('.bulk').waitFor({ state: 'detached' });
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/queues/refunds/jobs/**');
    await page.keyboard.press('Control+k');
    await page.locator('.palette input').fill('order-90817');
    await page.locator('.palette li', { hasText: 'order-90817' }).first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/queues/orders/jobs/order-90817**');
    await page.keyboard.press('?');
    await page.locator('dialog h2', { hasText: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    const before = await theme();
    await page.keyboard.press('t');
    assert.notEqual(await theme(), before);
    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await page.waitForURL('**/why');
    await page.keyboard.press('Escape');
    await page.waitForURL('**/queues/orders/jobs/order-90817**');
    await close(page);
  });

  test('a dialog keeps the focus and gives it back', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/queues/orders/jobs/order-91130`);
    await settled(page); // what is held back cannot have the focus
    const button = page.locator('main button', { hasText: 'Cancel…' });
    await button.focus();
    await page.keyboard.press('Enter');
    await page.locator('dialog', { hasText: 'Cancel order-91130?' }).waitFor();
    for (let i = 0; i < 8; i++) {
      await page.keyboard.press('Tab');
      assert.ok(await page.evaluate(() => document.activeElement === document.body || !!document.activeElement.closest('dialog')));
    }
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel…');
    await close(page);
  });
});
