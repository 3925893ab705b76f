// Pictures of the pages, all of one scene: node tests/browser/shots.mjs FOLDER
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { launch, open, settled } from './browser.mjs';
import { Scene, until } from './scene.mjs';

const folder = process.argv[2];
const warmUp = Number(process.env.ORDO_SHOTS_SECONDS ?? 150);
const shots = [
  ['overview-light', ''], ['overview-dark', '', { colorScheme: 'dark' }], ['queues', 'queues'], ['queue', 'queues/orders'], ['jobs', 'jobs?queue=orders&waits_for=lock'],
  ['job', 'queues/orders/jobs/order-90817'], ['key', 'queues/orders/keys/customer%3A4711'], ['dead', 'dead'], ['why', 'why?queue=orders&gate=lock'], ['limits', 'limits'],
  ['windows', 'windows?ahead=48h'], ['responses', 'responses?key=bank%3Atx-88120&queue=orders'], ['periodic', 'periodic'], ['nodes', 'nodes'], ['audit', 'audit'],
  ['phone', '', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }],
];

mkdirSync(folder, { recursive: true });
const scene = await Scene.start();
const browser = await launch();
try {
  await scene.fill();
  // The plots want a past: a steady flow with a burst at its end.
  const end = Date.now() + warmUp * 1000;
  for (let n = 0; Date.now() < end; n++) {
    const size = Date.now() > end - (warmUp * 1000) / 4 ? 26 : 12 + (n % 3);
    await scene.push('search-index', Array.from({ length: size }, (_, i) => ({ id: `live-${n}-${i}`, payload: { seconds: 0.25 } })));
    await new Promise((done) => setTimeout(done, 1000));
  }
  for (const [name, path, options = {}] of shots) {
    const page = await open(browser, { ...options, viewport: options.viewport ?? { width: 1440, height: 900 } });
    // Twice: the fonts are there before the first paint of the second time.
    for (let i = 0; i < 2; i++) {
      await page.goto(`${scene.url}/${path}`);
      await settled(page);
    }
    await until('it is live', () => page.evaluate(() => /Live|Polling/.test(document.querySelector('.live')?.textContent ?? '')));
    await page.waitForTimeout(2500);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    console.log(name);
    await page.context().close();
  }
} finally {
  await browser.close();
  await scene.stop();
}
