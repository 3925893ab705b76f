import { expect, test } from 'vitest';
import type { ProblemRow, Stats } from './api';
import { endedOf, merged } from './live';
import { counts } from './testing';

const old: Stats = { total: counts({ length: 3, running: 1 }), by_queue: { orders: counts({ length: 3, running: 1 }), mails: counts({}) } };

test('an event that tells what changed leaves the rest', () => {
  const next = merged(old, { whole: false, total: { length: 4 }, by_queue: { orders: { length: 4 } } } as never)!;
  expect(next.by_queue.orders).toMatchObject({ length: 4, running: 1 });
  expect(next.total).toMatchObject({ length: 4, running: 1 });
  expect(next.by_queue.mails).toBe(old.by_queue.mails);
});

test('a whole event takes the place of all', () => {
  const next = merged(old, { whole: true, total: counts({}), by_queue: { other: counts({}) } } as never)!;
  expect(Object.keys(next.by_queue)).toEqual(['other']);
});

test('a part is nothing while nothing whole is known', () => {
  expect(merged(null, { whole: false, by_queue: { orders: { length: 1 } } } as never)).toBe(null);
});

test('a problem has ended when no row has its text, whatever its numbers are', () => {
  const row = (what: string): ProblemRow => ({ severity: 'watch', queue: 'orders', what, since: null, effect: null, action: null });
  expect(endedOf([row('lag of 5.2 s'), row('3 died')], [row('lag of 9 s')])?.what).toBe('3 died');
  expect(endedOf([row('lag of 5.2 s')], [row('lag of 17 s'), row('3 died')])).toBe(null);
});
