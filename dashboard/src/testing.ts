import type { Counts } from './api';

export const counts = (some: Partial<Counts>): Counts => ({
  length: 0, due: 0, scheduled: 0, retrying: 0, running: 0, awaiting: 0, dead: 0, blocked_by_window: 0, blocked_by_key: 0, blocked_by_lock: 0,
  blocked_by_limit: 0, blocked_by_rate: 0, blocked_by_throttler: 0, blocked_by_suspect: 0, without_code: 0, ready: 0, oldest_due: {}, lag: 0,
  processed: 0, failed: 0, unreadable: 0, waits_for_newer: 0, kept: 0, kept_since: null, kept_trimmed: 0, dead_trimmed: 0, dead_letters: 0, ...some,
});
