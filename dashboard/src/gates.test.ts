import { expect, test } from 'vitest';
import { gates, heldMostBy, standing, sum } from './gates';
import { counts } from './testing';


test('gates and ready add up to what waits', () => {
  const at = standing(counts({ length: 100, scheduled: 10, retrying: 5, blocked_by_key: 30, blocked_by_lock: 20, without_code: 5, ready: 30 }));
  expect(at.time).toBe(15);
  expect(at.held).toBe(70);
  expect(gates.reduce((n, gate) => n + at[gate], 0) + at.ready).toBe(at.waiting);
  expect(at.unsorted).toBe(0);
});

test('what no owner has sorted yet is named, and of a paused queue it waits for that', () => {
  expect(standing(counts({ length: 10, ready: 4 }))).toMatchObject({ unsorted: 6, held: 0, waiting: 10 });
  expect(standing(counts({ length: 10, scheduled: 2, paused: true }))).toMatchObject({ pause: 8, unsorted: 0, held: 10 });
});

test('sums of queues add up, too', () => {
  const all = sum([standing(counts({ length: 3, ready: 1, blocked_by_rate: 2 })), standing(counts({ length: 5, paused: true }))]);
  expect(all).toMatchObject({ waiting: 8, ready: 1, rate: 2, pause: 5, held: 7 });
});

test('held most by the gate where most stand, or by nothing but threads', () => {
  expect(heldMostBy(standing(counts({ length: 5, blocked_by_key: 3, ready: 2 })))).toBe('key');
  expect(heldMostBy(standing(counts({ length: 5, blocked_by_key: 2, ready: 3 })))).toBe('ready');
  expect(heldMostBy(standing(counts({})))).toBe(null);
});
