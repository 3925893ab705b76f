// Each action of the dashboard in a real browser, and what it has done on a real node.      ORDO_BROWSER_STORE=redis: on Redis
import { after, afterEach, before, describe, test } from 'node:test';
import { assert, close, closeAll, launch, open, settled } from './browser.mjs';
import { Scene, until } from './scene.mjs';

let scene;
let browser;
before(async () => {
  scene = await Scene.start({ store: process.env.ORDO_BROWSER_STORE ?? 'sqlite' });
  browser = await launch();
  await scene.fill();
});
after(async () => { await browser?.close(); await scene?.stop(); });

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
    const errors = `${scene.url}/dead?queue=invoices&error=TemplateNotFound`;
    await page.goto(`${errors}&since=-24h`);
    await until('those of the last day are shown', async () => await page.locator('tr[data-row]').count() === 38);
    await page.goto(`${errors}&since=2099-01-01T00%3A00%3A00Z`);
    await page.locator('.empty', { hasText: 'No dead job fits' }).waitFor();
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
    await page.goto(`${scene.url}/dead?queue=invoices&by=list`);
    await page.locator('.table-foot button', { hasText: 'Delete all that match…' }).click();
    await page.locator('dialog .typed input').fill('invoices');
    await page.locator('dialog button[type=submit]').click();
    await page.locator('.empty', { hasText: /No dead jobs.*The last deletion was of 37 payloads of invoices, at .* by / }).waitFor();
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
