// Pictures of the pages, all of the demonstration's shop: node tests/browser/shots.mjs FOLDER
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { launch, open, settled } from './browser.mjs';

const folder = process.argv[2];
const warmUp = Number(process.env.ORDO_SHOTS_SECONDS ?? 240); // the plots want a past
const wide = { viewport: { width: 1440, height: 1000 } };
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const shots = [
  ['overview-light', ''], ['overview-dark', '', { colorScheme: 'dark' }], ['overview-phone', '', phone],
  ['jobs', 'jobs?queue=orders'], ['key', 'queues/orders/keys/customer%3A4711'], ['why', 'why?queue=orders&gate=lock'],
];

mkdirSync(folder, { recursive: true });
const place = mkdtempSync(join(tmpdir(), 'ordo-shots-'));
const shop = spawn('python3', ['-B', fileURLToPath(new URL('../../examples/shop/shop.py', import.meta.url)), place, '--listen', 'auto'], {
  env: { ...process.env, ORDO: process.env.ORDO_BIN ?? '' }, stdio: ['ignore', 'pipe', 'inherit'],
});
const browser = await launch();
try {
  const url = await new Promise((found, failed) => {
    createInterface({ input: shop.stdout }).once('line', found);
    shop.once('exit', () => failed(new Error('the shop has ended')));
  });
  await new Promise((done) => setTimeout(done, warmUp * 1000));
  for (const [name, path, options = {}] of shots) {
    const page = await open(browser, { ...wide, ...options });
    await page.goto(`${url}/${path}`);
    await settled(page);
    await page.waitForTimeout(2500); // two seconds of news
    await page.screenshot({ path: join(folder, `${name}.png`) });
    console.log(name);
    await page.context().close();
  }
} finally {
  await browser.close();
  const ended = new Promise((done) => shop.once('exit', done));
  shop.kill('SIGTERM');
  await ended;
  rmSync(place, { recursive: true, force: true });
}
