// Each page and each action of the dashboard in a real browser, on a real node with jobs in every state.
//   ORDO_BIN=build/release/ordo node --test tests/browser/pages_test.mjs      ORDO_BROWSER_STORE=redis: on Redis
import { after, afterEach, before, describe, test } from 'node:test';
import { assert, close, closeAll, launch, open, settled, violationsOfThemes, watchShifts } from './browser.mjs';
import { Scene, until } from './scene.mjs';

let scene;
let browser;
before(async () => {
  scene = await Scene.start({ store: process.env.ORDO_BROWSER_STORE ?? 'sqlite' });
  browser = await launch();
  await scene.fill();
});
after(async () => { await browser?.close(); await scene?.stop(); });

const pages = ['', 'queues', 'queues/orders', 'jobs', 'jobs?queue=orders', 'queues/orders/jobs/order-90817', 'queues/orders/jobs/order-90790', 'queues/invoices/jobs/inv-2026-11-48149',
  'queues/orders/keys/customer%3A4711', 'dead', 'dead?by=queue', 'dead?by=list', 'why?queue=orders&gate=lock', 'limits', 'windows', 'responses', 'responses?key=bank%3Atx-88120&queue=orders',
  'periodic', 'sources', 'nodes', 'audit', 'more'];

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
    await page.locator('h1', { hasText: '2 schedules' }).waitFor();
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

describe('actions', () => {
  afterEach(closeAll);

  const act = async (path, name, dialog) => {
    const page = await open(browser);
    await page.goto(`${scene.url}/${path}`);
    await settled(page);
    await page.locator('main button', { hasText: name }).first().click();
    if (dialog) {
      await page.locator('dialog', { hasText: dialog }).waitFor();
      await page.locator('dialog button[type=submit]').click();
    }
    return page;
  };
  const toast = (page, text) => page.locator('.toast', { hasText: text }).waitFor();

  test('pause at once, undo, resume', async () => {
    const page = await act('queues/webhooks', 'Pause');
    await toast(page, 'webhooks is paused');
    await until('it is paused', async () => (await scene.counts('webhooks')).paused);
    await page.locator('.toast button', { hasText: 'Undo' }).click();
    await until('it runs', async () => !(await scene.counts('webhooks')).paused);
    await page.locator('main button', { hasText: 'Pause' }).waitFor();
    await page.locator('main button', { hasText: 'Pause' }).click();
    await page.locator('main button', { hasText: 'Resume' }).click();
    await until('it runs again', async () => !(await scene.counts('webhooks')).paused);
    await close(page);
  });

  test('push, run now, reschedule and its undo, cancel', async () => {
    const page = await act('queues/refunds', 'Push a job');
    await page.locator('dialog textarea').fill('{"n":');
    await page.locator('dialog input').nth(0).fill('by-hand');
    await page.locator('dialog button[type=submit]').click();
    await page.locator('dialog .failure', { hasText: 'the payload is not JSON' }).waitFor();
    await page.locator('dialog textarea').fill('{"n":1}');
    await page.locator('dialog label', { hasText: 'Run at' }).locator('input').fill('+5h');
    await page.locator('dialog button[type=submit]').click();
    await toast(page, 'by-hand is pushed');
    const job = async () => (await scene.call('GET', 'queues/refunds/jobs/by-hand')).items[0];
    const first = (await until('it is there', job)).run_at;
    await page.goto(`${scene.url}/queues/refunds/jobs/by-hand`);
    await page.getByRole('button', { name: 'more actions' }).click();
    await page.locator('.menu-items button', { hasText: 'Reschedule' }).click();
    await page.locator('dialog input').fill('+9h');
    await page.locator('dialog button[type=submit]').click();
    await until('it is later', async () => (await job()).run_at > first);
    await page.locator('.toast button', { hasText: 'Undo' }).click();
    await until('it is as before', async () => Math.abs(Date.parse((await job()).run_at) - Date.parse(first)) < 1000);
    await page.locator('main button', { hasText: 'Cancel…' }).click();
    await page.locator('dialog button[type=submit]').click();
    await toast(page, 'cancel is requested');
    await until('it is gone', async () => (await scene.call('GET', 'queues/refunds/jobs?id=by-hand')).items.length === 0);
    await close(page);
  });

  test('a job that ends while it is looked at: what the page knew stays', async () => {
    await scene.push('plain', [{ id: 'passing', key: 'line-7', run_at: '+5h', payload: { seen: 'before' } }]);
    const page = await open(browser);
    await page.goto(`${scene.url}/queues/plain/jobs/passing`);
    await page.locator('h1', { hasText: 'passing' }).waitFor();
    await scene.call('POST', 'queues/plain/jobs/passing/cancel');
    await page.locator('.empty', { hasText: 'Not stored any more: it ended or was cancelled' }).waitFor();
    await page.locator('.payload', { hasText: 'before' }).waitFor();
    await page.locator('.empty a', { hasText: 'The line of line-7' }).waitFor();
    await page.reload();
    await page.locator('.empty', { hasText: 'No such job is stored' }).waitFor();
    await close(page);
  });

  test('run now is refused where it would do nothing, and says why', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/queues/orders/jobs/order-90817`);
    const button = page.locator('main button', { hasText: 'Run now' });
    await button.waitFor();
    assert.equal(await button.getAttribute('aria-disabled'), 'true');
    assert.match(await button.getAttribute('title'), /waits for lock/);
    await button.click({ force: true });
    assert.equal(await page.locator('.toast').count(), 0);
    await page.goto(`${scene.url}/queues/orders/jobs/order-91133`);
    await page.locator('main button', { hasText: 'Run now' }).click();
    await toast(page, 'run now is requested');
    await until('it ended', async () => !(await scene.call('GET', 'queues/orders/jobs?id=order-91133')).items.length);
    await close(page);
  });

  test('all that match are cancelled, not only those on the page', async () => {
    const there = (await scene.counts('refunds')).length;
    const page = await open(browser);
    await page.goto(`${scene.url}/jobs?queue=refunds&state=due`);
    await settled(page);
    await page.locator('thead input[type=checkbox]').check();
    await page.locator('.bulk', { hasText: `${there} selected` }).waitFor();
    await page.locator('.bulk button', { hasText: `Cancel ${there}…` }).click();
    await page.locator('dialog', { hasText: `Cancel ${there} waiting jobs of refunds?` }).waitFor();
    await page.locator('dialog button[type=submit]', { hasText: `Cancel ${there}` }).click();
    await toast(page, `Cancel of ${there} jobs is requested`);
    await until('they are gone', async () => (await scene.counts('refunds')).length === 0);
    await close(page);
  });

  test('the dead of one error: samples, retry, delete with the typed count', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/dead`);
    await settled(page);
    const row = page.locator('tr[data-row]', { hasText: 'customer has no tax id' });
    await row.locator('[data-expand]').click();
    await page.locator('.group-jobs a', { hasText: 'inv-2026-10-100' }).waitFor();
    await row.locator('input[type=checkbox]').check();
    await page.locator('.bulk button', { hasText: 'Retry 3…' }).click();
    await page.locator('dialog', { hasText: 'Retry 3 dead payloads of invoices?' }).waitFor();
    await page.locator('dialog button[type=submit]').click();
    await toast(page, 'Retry: 3 changed');
    await until('they died again', async () => (await scene.counts('invoices')).dead === 41);
    await page.goto(`${scene.url}/dead?queue=invoices`);
    await settled(page);
    await page.locator('tr[data-row]', { hasText: 'customer has no tax id' }).locator('input[type=checkbox]').check();
    await page.locator('.bulk button', { hasText: 'Delete 3…' }).click();
    await page.locator('dialog button[type=submit]').click();
    await until('they are gone', async () => (await scene.counts('invoices')).dead === 38);
    await page.goto(`${scene.url}/queues/invoices/jobs/inv-2026-11-48149`);
    await page.locator('main button', { hasText: 'Delete…' }).click();
    await page.locator('dialog button[type=submit]').click();
    await until('it is gone', async () => (await scene.counts('invoices')).dead === 37);
    await close(page);
  });

  test('a limit is set, undone, set and unset', async () => {
    const limit = async (name) => (await scene.call('GET', 'limits')).items.find((each) => each.name === name && !each.partition);
    const page = await open(browser, { expected: /status of 400.*limits\/crm/ });
    await page.goto(`${scene.url}/limits`);
    await page.getByRole('button', { name: 'Set crm' }).click();
    await page.locator('dialog input').fill('7');
    await page.locator('dialog button[type=submit]').click();
    await toast(page, 'crm is set to 7');
    await until('it counts', async () => (await limit('crm')).limit === 7);
    await page.locator('.toast button', { hasText: 'Undo' }).click();
    await until('it is as before', async () => (await limit('crm')).limit === 3);
    await page.getByRole('button', { name: 'Set crm' }).click();
    await page.locator('dialog input').fill('0');
    await page.locator('dialog button[type=submit]').click();
    await page.locator('dialog .failure').waitFor();
    await page.locator('dialog input').fill('5');
    await page.locator('dialog button[type=submit]').click();
    await page.locator('main button', { hasText: 'Unset' }).click();
    await until('the config counts', async () => (await limit('crm')).limit === 3);
    await close(page);
  });

  test('schedules: run, pause, resume', async () => {
    const schedule = async () => (await scene.call('GET', 'periodic')).items.find((each) => each.name === 'monthly-invoices');
    const page = await open(browser);
    await page.goto(`${scene.url}/periodic`);
    await page.getByRole('button', { name: 'Pause monthly-invoices' }).click();
    await until('it is paused', async () => (await schedule()).paused);
    await page.getByRole('button', { name: 'Resume monthly-invoices' }).click();
    await until('it goes on', async () => !(await schedule()).paused);
    await page.getByRole('button', { name: 'Run now: monthly-invoices' }).click();
    await page.locator('dialog', { hasText: 'One job is pushed to invoices now' }).locator('button[type=submit]').click();
    await toast(page, 'is pushed to invoices');
    await close(page);
  });

  test('an answer by hand lets the lock and the line go', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/responses`);
    await page.locator('tr[data-row] button', { hasText: 'bank:tx-88120' }).click();
    await page.locator('.answer textarea').fill('{"status":"settled"}');
    await page.locator('.answer button[type=submit]').click();
    await toast(page, 'the answer is accepted');
    await until('its line has gone', async () => (await scene.call('GET', 'queues/orders/jobs?key=customer%3A4711')).items.length === 0);
    await page.locator('tr[data-row]', { hasText: 'bank:tx-88148' }).waitFor();
    await close(page);
  });

  test('cancel what awaits, from its answer', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/responses?key=bank%3Atx-88163&queue=orders`);
    await page.locator('.answer button', { hasText: 'Cancel job…' }).click();
    await page.locator('dialog button[type=submit]').click();
    await until('it is gone', async () => (await scene.call('GET', 'queues/orders/jobs?id=order-90930')).items.length === 0);
    await close(page);
  });

  test('remove needs the typed name', async () => {
    const page = await open(browser);
    await page.goto(`${scene.url}/queues/refunds`);
    await page.getByRole('button', { name: 'more actions' }).click();
    await page.locator('.menu-items button', { hasText: 'Remove' }).click();
    const submit = page.locator('dialog button[type=submit]');
    assert.equal(await submit.getAttribute('aria-disabled'), 'true');
    await page.locator('dialog .typed input').fill('refund');
    assert.equal(await submit.getAttribute('aria-disabled'), 'true');
    await page.locator('dialog .typed input').fill('refunds');
    assert.equal(await submit.getAttribute('aria-disabled'), null);
    await page.keyboard.press('Escape');
    await close(page);
  });

  test('a node is quieted and stopped, at the end', async () => {
    const page = await open(browser, { expected: /ERR_|Failed to load/ });
    await page.goto(`${scene.url}/nodes`);
    await page.locator('main button', { hasText: 'Quiet…' }).click();
    await page.locator('dialog button[type=submit]').click();
    await page.locator('td', { hasText: 'quiet' }).first().waitFor();
    const id = await page.locator('tr[data-row] b.mono').first().textContent();
    await page.locator('.row-actions .menu button').first().click();
    await page.locator('.menu-items button', { hasText: 'Stop' }).click();
    await page.locator('dialog .typed input').fill(id);
    await page.locator('dialog button[type=submit]').click();
    await until('it ended', () => scene.node.exitCode === 0);
    await page.locator('.live.off', { hasText: /old, reconnecting/ }).waitFor();
    await close(page);
  });
});
