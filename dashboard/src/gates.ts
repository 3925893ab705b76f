// Where waiting jobs stand: each is counted once, at the first gate that refuses it. Gates and ready add up to all that wait.
import type { Counts } from './api';

export const gates = ['pause', 'code', 'time', 'window', 'key', 'lock', 'limit', 'rate', 'throttler', 'suspect'] as const;
export type Gate = (typeof gates)[number];
export type Standing = Record<Gate, number> & { ready: number; unsorted: number; held: number; waiting: number };

/// Shown even where nothing stands there; throttler and suspect only if something does.
export const plainGates: readonly Gate[] = gates.slice(0, 8);

export const questions: Record<Gate | 'ready', string> = {
  pause: 'resumed?', code: 'a node has it?', time: 'run_at past?', window: 'open?', key: 'free?', lock: 'free?', limit: 'room?',
  rate: 'a token?', throttler: 'it agrees?', suspect: 'alone?', ready: 'for a thread',
};

export function standing(counts: Counts): Standing {
  const at = {
    pause: 0, code: counts.without_code, time: counts.scheduled + counts.retrying, window: counts.blocked_by_window,
    key: counts.blocked_by_key, lock: counts.blocked_by_lock, limit: counts.blocked_by_limit, rate: counts.blocked_by_rate,
    throttler: counts.blocked_by_throttler, suspect: counts.blocked_by_suspect,
  };
  const sum = Object.values(at).reduce((a, b) => a + b, 0) + counts.ready;
  // Counts of jobs that no owner has sorted yet: of a paused queue they wait for it; else they are named as such.
  const rest = Math.max(0, counts.length - sum);
  if (counts.paused) at.pause = rest;
  const unsorted = counts.paused ? 0 : rest;
  const waiting = Math.max(counts.length, sum);
  return { ...at, ready: counts.ready, unsorted, waiting, held: waiting - counts.ready - unsorted };
}

export function sum(all: Standing[]): Standing {
  const total = { ...Object.fromEntries(gates.map((gate) => [gate, 0])), ready: 0, unsorted: 0, held: 0, waiting: 0 } as Standing;
  for (const one of all) for (const name of Object.keys(total) as (keyof Standing)[]) total[name] += one[name];
  return total;
}

/// The gate at which most wait; "ready" where none holds as many; null: nothing waits.
export function heldMostBy(at: Standing): Gate | 'ready' | null {
  let most: Gate | 'ready' | null = at.ready > 0 ? 'ready' : null;
  let number = at.ready;
  for (const gate of gates) if (at[gate] > number) { most = gate; number = at[gate]; }
  return most;
}

export const shownGates = (at: Standing): Gate[] => gates.filter((gate) => plainGates.includes(gate) || at[gate] > 0);
