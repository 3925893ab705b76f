// What the browser tests share: Debian's Chromium, pages that fail on any error, and axe.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { PATIENCE_MS } from './scene.mjs';

const require = createRequire(new URL('../../dashboard/package.json', import.meta.url));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export const launch = () => chromium.launch({ executablePath: fileURLToPath(new URL('chromium.sh', import.meta.url)), timeout: PATIENCE_MS, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--disable-extensions'] });

const opened = new Set();

/// A page whose errors, broken rules of the content policy included, are gathered. `expected`: answers that a test provokes.
export async function open(browser, { expected = /^$/, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, acceptDownloads: true, reducedMotion: 'reduce', ...options });
  opened.add(context);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']).catch(() => {});
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.errors = [];
  page.on('pageerror', (error) => page.errors.push(String(error.stack ?? error)));
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    const text = `${message.text()} ${message.location().url}`;
    // An address that an older server does not know is no error of the page.
    if (!/status of 404/.test(text) && !expected.test(text)) page.errors.push(text);
  });
  return page;
}

export async function close(page) {
  assert.deepEqual(page.errors, []);
  await page.context().close();
  opened.delete(page.context());
}

/// After each case: what a failed one has left open would cost the next ones time.
export async function closeAll() {
  await Promise.all([...opened].map((context) => context.close()));
  opened.clear();
}

/// Nothing is loading any more, and the counts are there.
export async function settled(page) {
  await page.waitForSelector('main h1', { state: 'attached' });
  await page.waitForFunction(() => !document.querySelector('main .loading'));
}

const whole = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const ofColours = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };

/// What axe finds, in both themes; but for colours they are alike.
export async function violationsOfThemes(page) {
  const found = [];
  for (const [theme, rules] of [['light', whole], ['dark', ofColours]]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted, theme);
    found.push(...(await violations(page, rules)).map((each) => `${theme}: ${each}`));
  }
  return found;
}

export async function violations(page, rules = whole) {
  // The policy of the page admits no script of others; this one is the test's, not the page's.
  await page.evaluate(axe);
  return page.evaluate(async (runOnly) => {
    const { violations } = await window.axe.run(document, { runOnly });
    return violations.map((each) => `${each.id}: ${each.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} (${node.any[0]?.message ?? node.all[0]?.message ?? node.none[0]?.message ?? ''})`).join(' | ')}`);
  }, rules);
}

/// How much the page moved by itself since it was opened.
export const watchShifts = (page) => page.addInitScript(() => {
  window.__shift = 0;
  window.__moved = [];
  const note = (entry) => {
    if (entry.hadRecentInput) return;
    window.__shift += entry.value;
    for (const { node } of entry.sources ?? []) window.__moved.push(`${node?.nodeName ?? 'gone'}.${node?.className ?? ''} ${node?.textContent?.slice(0, 40) ?? ''}`);
  };
  new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type: 'layout-shift', buffered: true });
});

export { assert };
