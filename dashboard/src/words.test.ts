import { expect, test } from 'vitest';
import { age, bytes, duration, middle, momentOf, nameText, rate, roundDuration, time, visible, zone } from './words';

test('durations keep two units, and ages whole seconds', () => {
  expect([0.02, 5.4, 19, 151, 1107, 12540, 93600].map(duration)).toEqual(['20 ms', '5.4s', '19s', '2m 31s', '18m 27s', '3h 29m', '1d 2h']);
  expect([0.4, 3.2, 59.6, 3599.7].map(age)).toEqual(['0s', '3s', '1m 00s', '1h 00m']);
  expect([0, 450, 900, 3600, 86400].map(roundDuration)).toEqual(['0', '7m 30s', '15m', '1h', '1d']);
});

test('rates are never shown as nothing when there is something', () => {
  expect([0, 0.01, 0.12, 22.4, 186.3].map(rate)).toEqual(['0.0', '<0.1', '0.1', '22', '186']);
});

test('times are as exact as they are near', () => {
  zone.value = 'utc';
  const from = Date.parse('2026-11-26T14:32:07Z');
  expect(time(Date.parse('2026-11-26T06:00:01Z'), from)).toBe('06:00:01');
  expect(time(Date.parse('2026-11-30T06:00:00Z'), from)).toBe('Mon 06:00');
  expect(time(Date.parse('2026-12-14T06:00:00Z'), from)).toBe('14 Dec 06:00');
  expect(time(Date.parse('2027-03-14T06:00:00Z'), from)).toBe('14 Mar 2027 06:00');
});

test('long ids keep their ends', () => {
  expect(middle('short', 10)).toBe('short');
  const cut = middle(`invoice-2026-11-${'0'.repeat(40)}-48213`, 20);
  expect([...cut].length).toBe(20);
  expect(cut.endsWith('48213')).toBe(true);
  expect(middle('😀'.repeat(30), 10)).toBe(`${'😀'.repeat(5)}…${'😀'.repeat(4)}`);
});

test('letters that turn or hide text are shown as what they are', () => {
  expect(visible('a\u202eb\u0000c\u200bd')).toBe('a\\u202eb\\u0000c\\u200bd');
  expect(visible('Καλημέρα\nשלום\tok')).toBe('Καλημέρα\nשלום\tok');
});

test('names that are no text say so', () => {
  expect(nameText({ $base64: '/w==' })).toBe('base64:/w==');
  expect(bytes(312)).toBe('312 bytes');
  expect(bytes(1 << 20)).toBe('1.0 MiB');
  expect(bytes((1 << 20) - 100)).toBe('1.0 MiB');
  expect(bytes(300 << 10)).toBe('300.0 KiB');
});

test('today and yesterday are moments', () => {
  const at = Date.parse('2026-03-01T10:30:00Z');
  zone.value = 'utc';
  expect(momentOf('today', at)).toBe('2026-03-01T00:00:00.000Z');
  expect(momentOf(' Yesterday', at)).toBe('2026-02-28T00:00:00.000Z');
  expect(momentOf('-24h', at)).toBe('-24h');
  zone.value = 'local';
  const midnight = new Date(2026, 2, 1, 0, 0, 0);
  expect(momentOf('today', new Date(2026, 2, 1, 23, 59).getTime())).toBe(midnight.toISOString());
});
