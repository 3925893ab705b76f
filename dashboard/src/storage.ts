// What the browser keeps for a person: theme, zone, dismissed problems, saved views. Never a payload or a secret.
import { signal, effect, type Signal } from '@preact/signals';

export function kept<T>(name: string, otherwise: T): Signal<T> {
  const key = `ordo.${name}`;
  let first = otherwise;
  try {
    const text = localStorage.getItem(key);
    if (text !== null) first = JSON.parse(text) as T;
  } catch { /* not there, or another program's */ }
  const value = signal(first);
  let isFirst = true;
  effect(() => {
    const text = JSON.stringify(value.value);
    if (isFirst) { isFirst = false; return; }
    try { localStorage.setItem(key, text); } catch { /* private windows may refuse */ }
  });
  return value;
}
