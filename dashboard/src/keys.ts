// The keyboard: single keys, off in fields and by choice; Ctrl-K always.
import { go, href } from './router';
import { help, palette, question, toast } from './notices';
import { pages } from './pages';
import { kept } from './storage';
import { flipTheme } from './theme';

export const keysOn = kept('keys', true);
let isAfterG = false;
let timer = 0;

const rows = () => [...document.querySelectorAll<HTMLElement>('main [data-row]')].filter((row) => row.offsetParent !== null);
const row = () => document.activeElement?.closest<HTMLElement>('[data-row]') ?? null;

function move(by: number) {
  const all = rows();
  if (!all.length) return;
  const at = row() ? all.indexOf(row()!) : -1;
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))];
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}

function isField(target: EventTarget | null) {
  const element = target as HTMLElement | null;
  return !!element?.closest?.('input:not([type=checkbox]), textarea, select, [contenteditable]');
}

function press(key: string, isShift: boolean): boolean {
  if (isAfterG) {
    isAfterG = false;
    const page = pages.find((each) => each.key === key);
    if (page) go(page.path ? href(page.path) : href());
    return !!page;
  }
  const here = row();
  switch (key) {
    case 'g': isAfterG = true; clearTimeout(timer); timer = window.setTimeout(() => { isAfterG = false; }, 1500); return true;
    case '/': { const field = document.querySelector<HTMLElement>('main [data-filter]'); if (field) field.focus(); else palette.value = true; return true; }
    case 'j': move(1); return true;
    case 'k': move(-1); return true;
    case 'x': case 'X': here?.querySelector('input[type=checkbox]')?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, shiftKey: isShift })); return !!here;
    case 'Enter': if (here !== document.activeElement) return false; here?.querySelector<HTMLElement>('[data-open]')?.click(); return !!here;
    case 'e': here?.querySelector<HTMLElement>('[data-expand]')?.click(); return !!here;
    case '.': { const first = document.querySelector<HTMLElement>('.bulk button, main [data-actions] button'); first?.focus(); return !!first; }
    case 'y': navigator.clipboard?.writeText(location.href).then(() => toast('the link is copied'), () => toast('the browser refuses to copy', { isBad: true })); return true;
    case 't': flipTheme(); return true;
    case '?': help.value = true; return true;
    case 'Escape': if (here) { here.blur(); return true; } history.back(); return true;
    default: return false;
  }
}

export function onKey(event: KeyboardEvent) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    palette.value = !palette.value;
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (isField(event.target)) {
    if (event.key === 'Escape') (event.target as HTMLElement).blur();
    return;
  }
  if (!keysOn.value || palette.value || help.value || question.value) return;
  if (press(event.key, event.shiftKey)) event.preventDefault();
}
