// Who waits for whom, up to the last cause: job → lock → job → response. The last has the action.
import { get, query, seg, type Job, type List, type WaitsFor } from './api';
import { nameText } from './words';

export type Link =
  | { kind: 'job'; job: Job }
  | { kind: 'gate'; queue: string; waits: WaitsFor; others: number };

const longest = 8;

async function jobOf(queue: string, id: string, stop: AbortSignal): Promise<Job | null> {
  const list = await get<List<Job>>(`queues/${seg(queue)}/jobs${query({ id, limit: 2 })}`, stop);
  return list.items[0] ?? null;
}

/// From a job to what it waits for, to who holds that, and on.
export async function chainOf(from: Job, stop: AbortSignal): Promise<Link[]> {
  const links: Link[] = [{ kind: 'job', job: from }];
  const seen = new Set([nameText(from.id)]);
  let job: Job | null = from;
  while (job && links.length < longest) {
    const waits: WaitsFor | undefined = job.waits_for?.[0];
    if (!waits) break;
    links.push({ kind: 'gate', queue: job.queue, waits, others: Math.max(0, waits.held_by.length - 1) });
    const holder = nameText(waits.held_by[0]);
    if (!holder || waits.what === 'response' || seen.has(holder)) break;
    seen.add(holder);
    try { job = await jobOf(job.queue, holder, stop); } catch { break; }
    if (job) links.push({ kind: 'job', job });
  }
  return links;
}
