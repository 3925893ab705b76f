// What is live: counts by server-sent events, by polling where there are none. At most one update a second; hidden tabs rest.
import { computed, signal } from '@preact/signals';
import { address, get, loggedOut, Refused, type Counts, type ProblemRow, type Stats } from './api';
import { now } from './words';

export const stats = signal<Stats | null>(null);
/// Null: this server does not tell; undefined: it was not asked yet.
export const problems = signal<ProblemRow[] | null | undefined>(undefined);
/// The problem that ended last while this page was open.
export const cleared = signal<{ at: number; row: ProblemRow } | null>(null);
export const statsAt = signal(0);
export const by = signal<'events' | 'polling'>('events');
export const failure = signal('');
export interface Happening { at: number; name: string; data: Record<string, unknown> }
export const happenings = signal<Happening[]>([]);

const staleAfter = 3_000;
export const ageMs = computed(() => (statsAt.value ? Math.max(0, now.value - statsAt.value) : 0));
export const isStale = computed(() => statsAt.value > 0 && ageMs.value > (by.value === 'polling' ? pollEvery + staleAfter : staleAfter));

/// Ended, failed and pushed jobs a second, from the last counts: by queue, and "" for all.
export interface Rates { ended: number; failed: number }
export const rates = signal<Record<string, Rates>>({});
const samples: { at: number; counts: Record<string, [number, number]> }[] = [];
const sampleSpan = 10_000;

function measure(next: Stats, at: number) {
  const counts: Record<string, [number, number]> = { '': [next.total.processed, next.total.failed] };
  for (const [name, each] of Object.entries(next.by_queue)) counts[name] = [each.processed, each.failed];
  samples.push({ at, counts });
  while (samples.length > 2 && samples[1].at <= at - sampleSpan) samples.shift();
  const first = samples[0];
  const seconds = (at - first.at) / 1000;
  if (seconds < 0.9) return;
  const result: Record<string, Rates> = {};
  for (const [name, [ended, failed]] of Object.entries(counts)) {
    const before = first.counts[name];
    if (before) result[name] = { ended: Math.max(0, ended - before[0]) / seconds, failed: Math.max(0, failed - before[1]) / seconds };
  }
  rates.value = result;
}

function take(next: Stats) {
  const at = Date.now();
  stats.value = next;
  statsAt.value = at;
  now.value = at;
  failure.value = '';
  measure(next, at);
}

/// An event of stats has the queues that changed, or all.
export function merged(old: Stats | null, change: Partial<Stats> & Record<string, unknown>): Stats | null {
  const queues = change.by_queue as Record<string, Counts> | undefined;
  if (change.whole === true || !old) return change.total && queues ? (change as unknown as Stats) : null;
  const by_queue = { ...old.by_queue };
  for (const [name, counts] of Object.entries(queues ?? {})) {
    if (counts === null) delete by_queue[name];
    else by_queue[name] = { ...by_queue[name], ...counts };
  }
  const next: Stats = { ...old, by_queue, total: { ...old.total, ...(change.total ?? {}) } };
  if ('failing_nodes' in change) next.failing_nodes = change.failing_nodes;
  return next;
}

const pollEvery = 2_000;
const problemsEvery = 5_000;
let source: EventSource | null = null;
let pollTimer = 0;
let tickTimer = 0;
let lastProblems = 0;
let retryEvents = 0;
let isReading = false;

export async function readStats() {
  if (isReading) return;
  isReading = true;
  try {
    take(await get<Stats>('stats'));
  } catch (error) {
    if (error instanceof Refused) failure.value = error.message;
  } finally {
    isReading = false;
  }
}

/// A problem is the same one while its numbers change.
export const problemName = (row: ProblemRow) => `${row.severity} ${row.queue ?? ''} ${row.what.replace(/[\d.,]+/g, '#')}`;

/// The worst of those that are not there any more.
export function endedOf(before: readonly ProblemRow[], after: readonly ProblemRow[]): ProblemRow | null {
  const names = new Set(after.map(problemName));
  return before.find((row) => !names.has(problemName(row))) ?? null;
}

export async function readProblems() {
  lastProblems = Date.now();
  try {
    const found = await get<ProblemRow[] | { items: ProblemRow[] }>('problems');
    const rows = Array.isArray(found) ? found : found.items;
    const ended = endedOf(problems.value ?? [], rows);
    if (ended) cleared.value = { at: Date.now(), row: ended };
    problems.value = rows;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) { problems.value = null; lastProblems = Infinity; } else problems.value ??= null;
  }
}

function poll() {
  clearTimeout(pollTimer);
  if (by.value !== 'polling' || document.hidden || loggedOut.value) return;
  pollTimer = window.setTimeout(async () => { await readStats(); poll(); }, pollEvery);
}

function byPolling() {
  source?.close();
  source = null;
  by.value = 'polling';
  poll();
  clearTimeout(retryEvents);
  retryEvents = window.setTimeout(listen, 30_000);
}

const noted = ['job_dead', 'queue_running', 'queue_paused', 'node_up', 'node_down', 'shard_moved', 'throttler_failed'];
const wantedEvents = ['stats', ...noted].map((name) => `event=${name}`).join('&');

function listen() {
  if (document.hidden || loggedOut.value || source) return;
  const mine = new EventSource(address(`events?${wantedEvents}`));
  source = mine;
  let quiet = 0;
  const heard = () => {
    clearTimeout(quiet);
    quiet = window.setTimeout(() => { if (source === mine) byPolling(); }, 10_000);
  };
  heard();
  mine.addEventListener('stats', (event) => {
    heard();
    clearTimeout(pollTimer);
    by.value = 'events';
    const change = parse(event.data);
    const next = change && merged(stats.value, change);
    if (next) take(next);
    else void readStats();
  });
  for (const name of noted) {
    mine.addEventListener(name, (event) => {
      const data = parse((event as MessageEvent<string>).data);
      if (data) happenings.value = [{ at: Date.now(), name, data }, ...happenings.value].slice(0, 50);
    });
  }
  mine.onerror = () => {
    clearTimeout(quiet);
    if (source === mine) byPolling();
  };
}

function parse(text: string): Record<string, unknown> | null {
  try { return JSON.parse(text) as Record<string, unknown>; } catch { return null; }
}

function tick() {
  if (Date.now() - now.value >= 950) now.value = Date.now();
  if (Date.now() - lastProblems >= problemsEvery && !loggedOut.value) void readProblems();
}

export function start() {
  void readStats();
  void readProblems();
  listen();
  clearInterval(tickTimer);
  tickTimer = window.setInterval(tick, 1000);
}

export function rest() {
  source?.close();
  source = null;
  clearTimeout(pollTimer);
  clearTimeout(retryEvents);
  clearInterval(tickTimer);
}

export function watchVisibility() {
  document.addEventListener('visibilitychange', () => (document.hidden ? rest() : start()));
}
