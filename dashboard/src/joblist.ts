// Jobs that fit a filter, page by page. What the server can filter, it does; what only the page can (gates, text in payloads) is looked
// for in at most so many rows, and the page says so.
import { get, query, seg, type Job, type List } from './api';
import { nameText, ms } from './words';

export interface Wanted { queue: string; state: string; waitsFor: string; id: string; key: string; kind: string; error: string; q: string; sort: string; desc: string; cursor: string }
export interface Found { jobs: Job[]; next: string | null; read: number; isWhole: boolean }

export const pageRows = 50;
const scanPage = 200;
export const scanRows = 2_000;

export const isScan = (wanted: Wanted) => wanted.waitsFor !== '' || wanted.q !== '';
export const records = ['done', 'discarded', 'cancelled', 'expired', 'failed'];

/// Parameters of a listing. A key, kind or error are the server's; so are states.
export const serverFilter = (wanted: Wanted): Record<string, string> =>
  Object.fromEntries(Object.entries({ state: wanted.state, id: wanted.id, key: wanted.key, kind: wanted.kind, error: wanted.error }).filter(([, value]) => value !== ''));

export function fits(job: Job, wanted: Wanted): boolean {
  const first = job.waits_for?.[0]?.what;
  if (wanted.waitsFor === 'ready') { if (job.state !== 'queued' || first || (job.run_at && ms(job.run_at) > Date.now())) return false; } else if (wanted.waitsFor && first !== wanted.waitsFor) return false;
  if (!wanted.q) return true;
  const text = wanted.q.toLowerCase();
  return [nameText(job.id), nameText(job.key), job.error ?? '', ...(job.payloads ?? []).map((payload) => JSON.stringify(payload))].some((part) => part.toLowerCase().includes(text));
}

export async function find(wanted: Wanted, stop: AbortSignal): Promise<Found> {
  const isScanning = isScan(wanted);
  const found: Job[] = [];
  let cursor: string | null = wanted.cursor || null;
  let read = 0;
  do {
    const page: List<Job> = await get<List<Job>>(`queues/${seg(wanted.queue)}/jobs${query({ ...serverFilter(wanted), sort: wanted.sort, desc: wanted.desc, limit: isScanning ? scanPage : pageRows, cursor })}`, stop);
    read += page.items.length;
    found.push(...(isScanning ? page.items.filter((job) => fits(job, wanted)) : page.items));
    cursor = page.next;
  } while (isScanning && cursor && found.length < pageRows && read < scanRows);
  return { jobs: found, next: cursor, read, isWhole: cursor === null };
}
