// What pages work out of what the API tells.
import { expect, test } from 'vitest';
import { asPush } from './actions';
import type { AuditEntry, Job, Limit, Periodic, ProblemRow, Source } from './api';
import { cronWords } from './cron';
import { perSecond } from './history';
import { fits, serverFilter, type Wanted } from './joblist';
import { linesOf } from './pages/queue';
import { canSet } from './actions';
import { inOrder, withParents } from './pages/limits';
import { resample } from './pages/overview';
import { marksOf } from './pages/job';
import { lastCleared } from './pages/dead';
import { heldBack } from './pages/periodic';
import { handOvers, isStuck, stateOf as sourceStateOf } from './pages/sources';
import { apart } from './parts/plots';
import { grouped, whyOf } from './parts/problems';
import { payloadText } from './parts/payload';
import { sorted } from './parts/table';
import { stateOf } from './parts/bits';
import { now } from './words';

const job = (some: Partial<Job>): Job => ({ queue: 'orders', kind: 'orders', key: 'k', id: '1', state: 'queued', retry_count: -1, error: null, ...some });
const wanted = (some: Partial<Wanted>): Wanted => ({ queue: 'orders', state: '', waitsFor: '', id: '', key: '', kind: '', error: '', q: '', sort: '', desc: '', cursor: '', ...some });

test('what kind of waiting it is follows from time and retries', () => {
  now.value = Date.parse('2026-11-26T12:00:00Z');
  expect(stateOf(job({ run_at: '2026-11-26T11:00:00Z', retry_count: 3 }))).toBe('due');
  expect(stateOf(job({ run_at: '2026-11-26T13:00:00Z' }))).toBe('scheduled');
  expect(stateOf(job({ run_at: '2026-11-26T13:00:00Z', retry_count: 0 }))).toBe('retrying');
  expect(stateOf(job({ state: 'awaiting' }))).toBe('awaiting');
});

test('gates and text are looked for by the page, the rest by the server', () => {
  const held = job({ waits_for: [{ what: 'lock', name: 'a', held_by: [], until: null }], payloads: [{ note: 'Grüße' }] });
  expect(fits(held, wanted({ waitsFor: 'lock' }))).toBe(true);
  expect(fits(held, wanted({ waitsFor: 'key' }))).toBe(false);
  expect(fits(held, wanted({ waitsFor: 'ready' }))).toBe(false);
  expect(fits(job({ run_at: '2000-01-01T00:00:00Z', waits_for: [] }), wanted({ waitsFor: 'ready' }))).toBe(true);
  expect(fits(held, wanted({ q: 'grüße' }))).toBe(true);
  expect(serverFilter(wanted({ state: 'due', key: 'a', q: 'x', waitsFor: 'lock' }))).toEqual({ state: 'due', key: 'a' });
});

test('the longest lines come first, with their holder and oldest', () => {
  const behind = (key: string, run_at: string) => job({ key, run_at, waits_for: [{ what: 'key', name: key, held_by: ['holder'], until: null }] });
  const lines = linesOf([behind('a', '2026-01-02T00:00:00Z'), behind('b', '2026-01-01T00:00:00Z'), behind('b', '2025-01-01T00:00:00Z'), job({})]);
  expect(lines.map((line) => [line.key, line.behind, line.oldest, line.holder])).toEqual([['b', 2, '2025-01-01T00:00:00Z', 'holder'], ['a', 1, '2026-01-02T00:00:00Z', 'holder']]);
});

test('a source says of itself what `ordo sources` does', () => {
  const source = (some: Partial<Source>): Source => ({ name: 'web', type: 'sidekiq', origin: 'redis://a', queues: ['default'], taken: 0, refused: {}, waiting: 0, lag: null, active: true, full: false, hand_overs: 0, last: null, others: [], trouble: null, ...some });
  const states = [source({}), source({ full: true }), source({ active: false }), source({ active: false, full: true, trouble: 'gone' })].map(sourceStateOf);
  expect(states).toEqual(['active', 'full', 'no node takes', 'trouble']);
  expect(handOvers(1)).toBe("1 failed job waits to be brought into Sidekiq's set of retries");
  expect(handOvers(2)).toBe("2 failed jobs wait to be brought into Sidekiq's set of retries");
  expect([{}, { hand_overs: 2 }, { hand_overs: 2, active: false }, { hand_overs: 2, trouble: 'gone' }].map((some) => isStuck(source(some)))).toEqual([false, false, true, true]);
});

test('a push that a shell takes: no quote of a payload ends it', () => {
  expect(asPush(job({ id: "o'k", key: 'c', payloads: [{ a: "it's" }] }))).toBe(`ordo push orders --id 'o'\\''k' --key 'c' --payload '{"a":"it'\\''s"}'`);
});

test('cron in words, where it is a plain one', () => {
  expect(['0 5 * * mon-fri', '*/15 * * * *', '0 6 1 * *', '30 4 * * *', '0 * * * *', '0 3 * * sun', '0 0 1 1 *'].map(cronWords)).toEqual([
    'at 05:00 on Monday to Friday', 'every 15 minutes', 'at 06:00 on the 1st', 'at 04:30, daily', 'every hour', 'at 03:00 on Sunday', 'at 00:00 on the 1st of January']);
  expect(['5-10/2 * * * *', '0 0 1 * mon', 'nonsense', '0 0 L * *'].map(cronWords)).toEqual([null, null, null, null]);
});

test('limits: the most waited for first, a limit before its partitions', () => {
  const limit = (name: string, partition: string, waiting: number): Limit => ({ name, partition, waiting, used: 0, limit: 1, set: false, next_free: null });
  expect(inOrder([limit('b', 'x', 1), limit('a', '', 0), limit('b', '', 5), limit('b', 'y', 4)]).map((each) => each.name + nameOf(each))).toEqual(['b', 'by', 'bx', 'a']);
});
test('one cause in several queues is one problem', () => {
  const quiet = (queue: string, jobs: number, since: string): ProblemRow => ({ severity: 'person', queue, what: `${jobs} due jobs of queue '${queue}' wait: every node that serves it is quiet`, advice: 'start a node', since, effect: `${jobs} jobs wait`, jobs, action: { label: 'show queue', href: `/queues/${queue}` } });
  const died: ProblemRow = { severity: 'person', queue: 'a', what: "38 payloads of queue 'a' died; last: No: x", advice: 'see', since: null, effect: null, jobs: 38, action: null };
  const rows = grouped([quiet('a', 1000, '2026-11-26T10:00:00Z'), died, quiet('b', 5, '2026-11-26T09:00:00Z')]);
  expect(rows.map((row) => [row.what, row.queues, row.since])).toEqual([['1,005 jobs of 2 queues: every node that serves it is quiet', ['a', 'b'], '2026-11-26T09:00:00Z'], [died.what, undefined, null]]);
});
test('what took dead jobs away last is the newest change that did', () => {
  const change = (action: string, queue: string, count: number | null): AuditEntry => ({ at: '2026-11-26T12:00:00Z', who: 'mira', action, queue, filter: null, count, result: 'ok' });
  const [pause, nothing, retry, other] = [change('pause_queue', 'a', null), change('delete_dead', 'a', 0), change('retry_dead', 'a', 3), change('delete_dead', 'b', 9)];
  expect(lastCleared([pause, nothing, retry, other], '')).toBe(retry);
  expect(lastCleared([pause, nothing, retry, other], 'b')).toBe(other);
  expect(lastCleared([pause, nothing], '')).toBe(undefined);
});
test('why a node cannot do something is told below', () => {
  expect(whyOf('node a cannot start kind "x" of queue "y": no such file: z')).toEqual(['node a cannot start kind "x" of queue "y"', 'no such file: z']);
  expect(whyOf('38 payloads died; last: no route')).toEqual(['38 payloads died; last: no route', '']);
});
test('what holds a schedule back: a job that fails before one that is not over', () => {
  const row: Periodic = { name: 'nightly', queue: 'orders', kind: 'orders', key: 'nightly', cron: null, every: '1m', tz: null, payload: null, priority: null, missed: 'once', stated: true, paused: false, pushed: 1, missed_ticks: 0, last: null, next: [] };
  expect(heldBack(row)).toBe(null);
  expect(heldBack({ ...row, held_by: 'a', overlap: 'skip' })).toEqual({ id: 'a', why: 'is not over', effect: 'ticks are skipped while it is there' });
  expect(heldBack({ ...row, held_by: 'a', failing: 'b', failures: 1, overlap: 'queue' })).toEqual({ id: 'b', why: 'failed 1 time', effect: 'jobs of later ticks wait behind it' });
});
test('partitions stand below a line that names their limit', () => {
  const part = (name: string, partition: string, waiting: number): Limit => ({ name, partition, waiting, used: 1, limit: 2, set: false, next_free: null });
  const rows = withParents([part('hooks', 'a', 3), part('hooks', 'b', 4), part('crm', '', 1), part('crm', 'x', 1)]);
  expect(rows.map((row) => [row.name + nameOf(row), row.waiting, row.isHeading])).toEqual([['hooks', 7, true], ['hooksa', 3, undefined], ['hooksb', 4, undefined], ['crm', 1, undefined], ['crmx', 1, undefined]]);
  expect(rows.filter(canSet).map((row) => row.name)).toEqual(['crm']);
  const rates = withParents([part('crm', '', 1), { name: 'crm', partition: 'x', rate: { limit: 5, per: '10s', burst: 5 }, waiting: 2, set: true, next_free: null }]);
  expect(rates.map((row) => [row.isHeading, row.set, canSet(row)])).toEqual([[undefined, false, true], [true, true, true], [undefined, true, false]]);
  expect(canSet(part('crm critical', '', 1))).toBe(false);
});
const nameOf = (limit: Limit) => String(limit.partition);

test('history: sums of steps become rates, and the step that is not over is left out', () => {
  const read = perSecond({ times: [0, 10, 20], done: [50, null, 3], lag: [1, 2, 3] }, 10);
  expect([read.times, read.done, read.lag]).toEqual([[0, 10], [5, null], [1, 2]]);
});

test('values of other times: the last one known, nothing before the first', () => {
  expect(resample([10, 20], [1, 2], [5, 10, 15, 25])).toEqual([null, 1, 1, 2]);
});

test('names at the ends of lines do not cover each other', () => {
  const ends = apart([{ text: 'a', tone: 'ink', y: 50 }, { text: 'b', tone: 'ink', y: 52 }, { text: 'c', tone: 'ink', y: 99 }], 15, 100);
  expect(ends.map((end) => end.y)).toEqual([50, 65, 99]);
  expect(apart([{ text: 'a', tone: 'ink', y: 99 }, { text: 'b', tone: 'ink', y: 100 }], 15, 100).map((end) => end.y)).toEqual([85, 100]);
});

test('a time line has its attempts, back-offs and the gate it stands at', () => {
  const from = Date.parse('2026-11-26T12:30:00Z');
  const marks = marksOf(job({ run_at: '2026-11-26T12:20:00Z', waits_for: [{ what: 'lock', name: 'a', held_by: [], until: null }],
    attempts: [{ started: '2026-11-26T12:00:00Z', ended: '2026-11-26T12:00:30Z', node: 'n', error_kind: 'handler', error: 'x' }] }), from);
  expect(marks.map((mark) => [mark.kind, mark.what])).toEqual([['run', '1 handler'], ['wait', 'back-off 19m 30s'], ['wait', 'lock, 10m 00s']]);
});

test('payloads are copied as they are', () => {
  expect(payloadText({ $base64: 'AP8=' })).toBe('AP8=');
  expect(payloadText({ a: 1 })).toBe('{"a":1}');
});

test('tables sort numbers as numbers, both ways', () => {
  const columns = [{ key: 'n', head: '', cell: () => null, sort: (row: { n: number }) => row.n }];
  expect(sorted([{ n: 9 }, { n: 100 }, { n: 20 }], columns, '-n').map((row) => row.n)).toEqual([100, 20, 9]);
  expect(sorted([{ n: 9 }, { n: 100 }], columns, 'other').map((row) => row.n)).toEqual([9, 100]);
});
