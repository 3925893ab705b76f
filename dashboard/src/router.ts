// Where the page is: everything that a person chose is in the address, so that Back, reload and shared links work.
import { signal, computed } from '@preact/signals';

/// The part of the address before ours, with its last slash: the script is at BASE/assets/…
export const base: string = import.meta.env.DEV ? '/' : new URL(/* @vite-ignore */ '../', import.meta.url).pathname;

const place = signal(read());

function read() {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length - 1) : '/';
  return { path, search: location.search };
}

addEventListener('popstate', () => { place.value = read(); });

export const path = computed(() => place.value.path);
/// The parts of the path, decoded: ["queues", "orders", "jobs", "42"]
export const parts = computed(() => place.value.path.split('/').filter(Boolean).map(decode));
export const params = computed(() => new URLSearchParams(place.value.search));
export const param = (name: string) => params.value.get(name) ?? '';

function decode(text: string) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/// The address of a page: href('queues', name, 'keys', key)
export function href(...names: string[]) {
  return base + names.map(encodeURIComponent).join('/');
}

export function withParams(address: string, values: Record<string, string | undefined | null>) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, value);
  const text = query.toString();
  return text ? `${address}?${text}` : address;
}

export type Step = 'push' | 'replace';

export function go(address: string, step: Step = 'push') {
  if (address === location.pathname + location.search) return;
  const leaves = address.split('?')[0] !== location.pathname;
  history[step === 'push' ? 'pushState' : 'replaceState'](null, '', address);
  place.value = read();
  if (leaves && step === 'push') {
    scrollTo(0, 0);
    queueMicrotask(() => document.getElementById('main')?.focus({ preventScroll: true }));
  }
}

/// Changes parameters of this page; null takes one away.
export function setParams(changes: Record<string, string | null>, step: Step = 'push') {
  const query = new URLSearchParams(place.value.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  go(location.pathname + (text ? `?${text}` : ''), step);
}

/// Links are real links; this follows them without a reload.
export function followLinks(event: MouseEvent) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest?.('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (!link.pathname.startsWith(base) || link.pathname.startsWith(base + 'api/') || link.hash) return;
  event.preventDefault();
  go(link.pathname + link.search);
}
