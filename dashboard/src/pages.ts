// The pages of the rail, their keys, and what stands beside their names.
import type { Stats } from './api';
import { standing, sum } from './gates';
import { count } from './words';

export interface Page { key: string; path: string; name: string; short?: string; icon: string; group: '' | 'What holds jobs' | 'System'; badge?: (stats: Stats) => string }
const number = (n: number) => (n > 0 ? count(n) : '');
export const waitingOf = (stats: Stats) => sum(Object.values(stats.by_queue).map(standing));

export const pages: Page[] = [
  { key: 'o', path: '', name: 'Overview', icon: 'overview', group: '' },
  { key: 'q', path: 'queues', name: 'Queues', icon: 'queues', group: '', badge: (stats) => number(Object.keys(stats.by_queue).length) },
  { key: 'j', path: 'jobs', name: 'Jobs', icon: 'jobs', group: '', badge: (stats) => number(stats.total.length + stats.total.running + stats.total.awaiting) },
  { key: 'd', path: 'dead', name: 'Dead', icon: 'dead', group: '', badge: (stats) => number(stats.total.dead) },
  { key: 'w', path: 'why', name: 'Why not running', short: 'Why', icon: 'why', group: 'What holds jobs', badge: (stats) => number(waitingOf(stats).held) },
  { key: 'l', path: 'limits', name: 'Limits and locks', icon: 'limits', group: 'What holds jobs' },
  { key: 'i', path: 'windows', name: 'Windows', icon: 'windows', group: 'What holds jobs' },
  { key: 'r', path: 'responses', name: 'Responses', icon: 'responses', group: 'What holds jobs', badge: (stats) => number(stats.total.awaiting) },
  { key: 'p', path: 'periodic', name: 'Periodic', icon: 'periodic', group: 'System' },
  { key: 's', path: 'sources', name: 'Sources', icon: 'sources', group: 'System' },
  { key: 'n', path: 'nodes', name: 'Nodes', icon: 'nodes', group: 'System' },
  { key: 'a', path: 'audit', name: 'Audit', icon: 'audit', group: 'System' },
];
