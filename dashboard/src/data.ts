// Reading what a page shows: one hook. What was read stays on the page while it is read again.
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { get, loggedOut, Refused } from './api';

/// How many readings the page has begun and not ended even once: it is shown when there is none (app.tsx).
export const firstReads = signal(0);

export interface Read<T> {
  value: T | null;
  /// Nothing is there, or this server does not know such things.
  isUnknown: boolean;
  failure: string;
  /// When it was read, by this clock.
  at: number;
  again: () => void;
}

interface State<T> { path: string | null; value: T | null; isUnknown: boolean; failure: string; at: number }
const nothing = { value: null, isUnknown: false, failure: '', at: 0 };

/// Null: nothing is wanted. `every`: milliseconds between two readings while the tab is seen.
export function useRead<T>(path: string | null, every = 0): Read<T> {
  return useReadBy(path, (stop) => get<T>(path!, stop), every);
}

/// The same for what takes several calls; `name` says what is read. `late`: its place on the page does not depend on what it says, so
/// the page is shown without waiting for it.
export function useReadBy<T>(name: string | null, read: (stop: AbortSignal) => Promise<T>, every = 0, when: 'first' | 'late' = 'first'): Read<T> {
  const [state, setState] = useState<State<T>>({ ...nothing, path: name });
  const [turn, setTurn] = useState(0);
  const reader = useRef(read);
  reader.current = read;
  // In the same step that shows what asks, so that the page does not count as complete in between.
  useLayoutEffect(() => {
    if (name === null) return;
    const stop = new AbortController();
    let timer = 0;
    let isFirst = when === 'first';
    if (isFirst) firstReads.value++;
    const ended = () => { if (isFirst) firstReads.value--; isFirst = false; };
    const once = async () => {
      if (!document.hidden && !loggedOut.value) {
        try {
          const value = await reader.current(stop.signal);
          if (!stop.signal.aborted) setState({ path: name, value, isUnknown: false, failure: '', at: Date.now() });
        } catch (error) {
          if (stop.signal.aborted) return;
          const isUnknown = error instanceof Refused && error.status === 404;
          const failure = isUnknown ? '' : error instanceof Error ? error.message : String(error);
          setState((old) => ({ ...(old.path === name ? old : nothing), path: name, isUnknown, failure, ...(isUnknown ? { value: null } : {}) }));
          if (isUnknown) { ended(); return; }
        }
      }
      ended();
      if (every > 0 && !stop.signal.aborted) timer = window.setTimeout(once, every);
    };
    void once();
    return () => { stop.abort(); clearTimeout(timer); ended(); };
  }, [name, every, turn]);
  const mine = state.path === name ? state : { ...nothing, path: name };
  return { ...mine, again: () => setTurn((n) => n + 1) };
}

/// Like Promise.all, but a few at a time, and one that is refused counts as null; not if nobody is logged in, or what is asked is wrong.
export async function each<T, R>(items: readonly T[], ask: (item: T) => Promise<R>, atOnce = 6): Promise<(R | null)[]> {
  const results: (R | null)[] = new Array(items.length).fill(null);
  let next = 0;
  const work = async () => {
    while (next < items.length) {
      const index = next++;
      try {
        results[index] = await ask(items[index]);
      } catch (error) {
        if (!(error instanceof Refused) || error.status === 401 || error.status === 400) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
  return results;
}
