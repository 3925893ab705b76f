import { expect, test } from 'vitest';
import { parseFilters } from './filter';

const names = ['queue', 'state', 'key', 'error'];

test('several filters that are typed at once are several', () => {
  expect(parseFilters('queue:orders state:due key:customer:4711', names, 'q')).toEqual([['queue', 'orders'], ['state', 'due'], ['key', 'customer:4711']]);
  expect(parseFilters('error:no route  key: a b ', names, 'q')).toEqual([['error', 'no route'], ['key', 'a b']]);
});

test('other words are text, where text can be looked for', () => {
  expect(parseFilters('no route queue:orders', names, 'q')).toEqual([['q', 'no route'], ['queue', 'orders']]);
  expect(parseFilters('other:thing', names, 'q')).toEqual([['q', 'other:thing']]);
  expect(parseFilters('no route', names)).toEqual([]);
  expect(parseFilters('queue:', names, 'q')).toEqual([]);
});
