// The HTTP API of Ordo as this program uses it: shapes and calls (docs/http.md).
import { signal } from '@preact/signals';
import { base } from './router';
import type { Name } from './words';

export interface Counts {
  length: number; due: number; scheduled: number; retrying: number; running: number; awaiting: number; dead: number;
  blocked_by_window: number; blocked_by_key: number; blocked_by_lock: number; blocked_by_limit: number; blocked_by_rate: number;
  blocked_by_throttler: number; blocked_by_suspect: number; without_code: number; ready: number; oldest_due: Record<string, number>;
  lag: number; processed: number; failed: number; unreadable: number; waits_for_newer: number;
  kept: number; kept_since: string | null; kept_trimmed: number; dead_trimmed: number; dead_letters: number; paused?: boolean;
}
export interface FailingNode {
  id: string; commit_error: string | null; commit_error_since: string | null;
  cannot_start: { queue: string; kind: string; why: string }[]; stuck_runs: { queue: string; kind: string; key: Name; id: Name; since: string }[];
}
export interface Stats { total: Counts; by_queue: Record<string, Counts>; failing_nodes?: FailingNode[] }
export interface WaitsFor { what: string; name: Name; held_by: Name[]; until: string | null; stuck?: Name[]; why?: string[] }
export interface Attempt { started: string | null; ended: string; node: string; error_kind: string; error: string }
export interface Job {
  queue: string; kind: Name; key: Name; id: Name; state: string; payloads?: unknown[]; scores?: number[]; run_at?: string;
  starts_at?: string | null; waits_for?: WaitsFor[]; retry_count: number; crashes?: number; error: string | null; error_kind?: string | null;
  priority?: number; timeout?: string; max_retries?: number; attempt?: number; node?: string | null; started?: string | null;
  expires?: string; weight?: number; partition?: Name; critical?: boolean; lock?: Name; attempts?: Attempt[];
  windows?: WindowRule[]; pushed?: string | null; ended?: string;
}
export interface Limit {
  name: string; partition: Name; used?: number; limit?: number; rate?: { limit: number; per: string; burst: number };
  closed?: boolean; waiting: number; set: boolean; next_free: string | null;
}
export interface QueueInfo { name: string; shards: number; state: string; counts?: Counts; limits?: Limit[] }
export interface Lock { name: string; key: Name; holders: { queue: string; id: Name }[]; waiting: number }
export interface JobName { kind: Name; key: Name; id: Name }
export interface Wait { key: Name; job: JobName | null; since: string; deadline: string }
export interface Letter { key: Name; why: string; job: JobName | null; message_id: Name | null; body: unknown; at: string }
export interface Periodic {
  name: string; queue: string; kind: Name; key: Name; cron: string | null; every: string | null; tz: string | null; payload: unknown;
  priority: number | null; missed: string; overlap?: string; stated: boolean; paused: boolean; pushed: number; missed_ticks: number; last: string | null; next: string[];
  skipped_ticks?: number; held_by?: string | null; failing?: string | null; failures?: number;
}
export interface NodeInfo {
  id: string; host: string; pid: number; threads: number; queues: string[]; started: string; shards: number; alive: boolean;
  quiet: boolean; version: string | null; clock: number | null; heartbeat_age: number; lost: boolean; groups: string[][];
}
export interface Source {
  name: string; type: string; origin: string; queues: string[]; taken: number; refused: Record<string, number>; waiting: number;
  lag: number | null; active: boolean; full: boolean; hand_overs: number; last: string | null; others: string[]; trouble: string | null;
}
export interface DeadGroup { error: string; count: number; first: string; last: string }
export interface WindowRule { start: string; end: string; days: string[]; tz: string }
export interface History {
  step?: string; times: (string | number)[]; pushed?: (number | null)[]; done?: (number | null)[]; failed?: (number | null)[]; dead?: (number | null)[];
  lag?: (number | null)[]; run_p50?: (number | null)[]; run_p95?: (number | null)[]; wait_p50?: (number | null)[]; wait_p95?: (number | null)[];
}
export interface WindowView {
  kind: Name | null; windows: WindowRule[]; open: boolean; never_opens: boolean; opens: string | null; closes: string | null;
  openings: { from: string; until: string }[]; clock_changes: string[];
}
export interface Windows { queue: string; ahead: string; waiting: number; items: WindowView[] }
export interface AuditEntry { at: string; who: string; action: string; queue: string | null; filter: unknown; count: number | null; result: string; token?: string }
export interface ProblemRow {
  severity: 'person' | 'watch'; queue: string | null; what: string; advice?: string; since: string | null; effect: string | null; jobs?: number;
  action: { label: string; href: string } | null;
}
export interface Me { name: string | null; role: string; queues?: string[] | null; read_only?: boolean; csrf?: string | null }
export interface List<T> { items: T[]; next: string | null; total: number | null; complete?: boolean }

/// An answer other than wanted: what the server said of it (RFC 9457).
export class Refused extends Error {
  constructor(readonly status: number, detail: string, readonly body: Record<string, unknown> = {}, readonly retryAfter: number | null = null) {
    super(detail);
  }
}

/// Null: not known yet. A server without log-in says nothing of it (404), and whoever comes there may do all.
export const me = signal<Me | null>(null);
export const loggedOut = signal(false);

const patience = 20_000;
const patienceOfChange = 600_000; // a change of all that match may be one of millions

export const address = (path: string) => `${base}api/v1/${path}`;
export const seg = encodeURIComponent;
export const query = (values: Record<string, string | number | undefined | null>) => {
  const text = new URLSearchParams(Object.entries(values).filter(([, v]) => v !== undefined && v !== null && v !== '').map(([k, v]) => [k, String(v)])).toString();
  return text ? `?${text}` : '';
};

/// Whole numbers that JavaScript cannot hold stay as they were written: a payload is shown and copied as it is.
function exactNumber(this: unknown, _key: string, value: unknown, context?: { source?: string }) {
  const raw = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;
  if (typeof value !== 'number' || !context?.source || !raw) return value;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? raw(context.source) : value;
}

async function call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}, stop?: AbortSignal): Promise<T> {
  const all: Record<string, string> = { Accept: 'application/json', ...headers };
  if (body !== undefined && !all['Content-Type']) all['Content-Type'] = 'application/json';
  if (method !== 'GET' && me.value?.csrf) all['X-Ordo-Csrf'] = me.value.csrf;
  const most = method === 'GET' ? patience : patienceOfChange;
  const limit = AbortSignal.timeout(most);
  let answer: Response;
  try {
    answer = await fetch(address(path), {
      method, headers: all, signal: stop ? AbortSignal.any([stop, limit]) : limit,
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
  } catch (error) {
    if (stop?.aborted) throw error;
    throw new Refused(0, limit.aborted ? `no answer within ${most / 1000}s` : 'the server cannot be reached');
  }
  const text = await answer.text();
  let value: unknown = null;
  try { value = text ? JSON.parse(text, exactNumber) : null; } catch { /* a proxy's page */ }
  if (answer.ok) return value as T;
  const problem = (value ?? {}) as Record<string, unknown>;
  if (answer.status === 401 && path !== 'login') loggedOut.value = true;
  const wait = Number(answer.headers.get('Retry-After'));
  throw new Refused(answer.status, String(problem.detail ?? problem.title ?? `the server answered ${answer.status}`), problem, wait > 0 ? wait : null);
}

export const get = <T>(path: string, stop?: AbortSignal) => call<T>('GET', path, undefined, {}, stop);
export const post = <T>(path: string, body?: unknown, headers?: Record<string, string>) => call<T>('POST', path, body, headers);
export const put = <T>(path: string, body: unknown) => call<T>('PUT', path, body);
export const remove = <T>(path: string) => call<T>('DELETE', path);

export async function readMe() {
  try {
    me.value = await get<Me>('me');
    loggedOut.value = false;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) me.value = { name: null, role: 'admin' };
    else if (!(error instanceof Refused && error.status === 401)) setTimeout(readMe, 3000);
  }
}

const ranks: Record<string, number> = { viewer: 1, operator: 2, admin: 3 };
/// Why a person may not do something; empty: may.
export function refusal(role: 'operator' | 'admin' = 'operator', queue?: string): string {
  const who = me.value;
  if (!who) return 'who you are is not known yet';
  if (who.read_only) return 'this dashboard is read_only';
  if ((ranks[who.role] ?? 0) < ranks[role]) return `needs the role ${role}, you are ${who.role}`;
  if (queue && who.queues?.length && !who.queues.includes(queue)) return `your token has no right to ${queue}`;
  return '';
}
export const isViewer = () => !!me.value && (me.value.read_only === true || (ranks[me.value.role] ?? 0) < 2);
