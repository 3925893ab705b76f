// All pairs of colours that text and marks are shown in, measured (WCAG 2.2 AA).
import { expect, test } from 'vitest';
import css from './styles/tokens.css?raw';

const themes = css.split(":root[data-theme='dark']");
const tokens = (text: string) => Object.fromEntries([...text.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6})/g)].map((match) => [match[1], match[2]]));

function luminance(color: string) {
  const [r, g, b] = [1, 3, 5].map((i) => { const c = parseInt(color.slice(i, i + 2), 16) / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
export function contrast(a: string, b: string) {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

const grounds = ['canvas', 'panel', 'nav', 'raise', 'hover', 'soft', 'redsoft'];
const pairs: [string, string[], number][] = [
  ['ink', grounds, 4.5], ['ink2', grounds, 4.5], ['ink3', grounds, 4.5], ['accent', ['canvas', 'panel', 'nav', 'raise', 'hover', 'soft'], 4.5],
  ['red', ['canvas', 'panel', 'raise', 'hover', 'redsoft'], 4.5], ['on-accent', ['accent'], 4.5], ['panel', ['red', 'ink'], 4.5],
  ['mark', ['canvas', 'panel', 'raise', 'hover'], 3], ['mark2', ['panel'], 3], ['accent2', ['panel'], 3],
];

test.each([['light', tokens(themes[0])], ['dark', tokens(themes[1])]])('%s: every pair can be read', (_name, color) => {
  for (const [on, backgrounds, least] of pairs) for (const ground of backgrounds) expect.soft(contrast(color[on], color[ground]), `${on} on ${ground}`).toBeGreaterThanOrEqual(least);
});
