// What can be done, each with its consequence and count before, an undo where it can be undone, and the result after.
import { address, post, put, query, refusal, Refused, remove, seg, type Job, type Limit } from './api';
import { readProblems, readStats, stats } from './live';
import { ask, toast } from './notices';
import { go, href } from './router';
import { count, jobs, nameText, plural, type Name } from './words';

const typedFrom = 100;
const after = () => { void readStats(); void readProblems(); };
export const whyNot = refusal;

const q = (queue: string) => `queues/${seg(queue)}`;
const ofJob = (job: { id: Name; kind?: Name; key?: Name; state?: string }) => {
  const phase = job.state === 'running' ? 'running' : undefined;
  return `/jobs/${seg(nameText(job.id))}`.concat('{verb}', query({ kind: nameText(job.kind), key: nameText(job.key), state: phase }));
};

/// At once, with an undo.
async function atOnce(act: () => Promise<unknown>, text: string, undo?: () => Promise<unknown>) {
  try {
    await act();
    toast(text, { undo: undo && (() => { void atOnce(undo, 'undone'); }) });
    after();
    return true;
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), { isBad: true });
    return false;
  }
}

export const pauseQueue = (queue: string) => atOnce(() => post(`${q(queue)}/pause`), `${queue} is paused, ${count(stats.value?.by_queue[queue]?.length ?? 0)} wait`, () => post(`${q(queue)}/resume`));
export const resumeQueue = (queue: string) => atOnce(() => post(`${q(queue)}/resume`), `${queue} is resumed`, () => post(`${q(queue)}/pause`));

export function removeQueue(queue: string) {
  const counts = stats.value?.by_queue[queue];
  const there = counts ? counts.length + counts.running + counts.awaiting : 0;
  ask({
    title: `Remove ${queue}?`, verb: there + (counts?.dead ?? 0) > 0 ? `Remove with ${jobs(there)}` : 'Remove', isBad: true, typed: queue,
    text: `Its ${jobs(there)} and ${count(counts?.dead ?? 0)} dead payloads are gone for good. Export them first if in doubt. A node that has the queue in its config makes it again, empty.`,
    act: async () => {
      await remove(`${q(queue)}?with_jobs=true`);
      toast(`${queue} is removed`);
      after();
      go(href('queues'));
    },
  });
}

export function reshardQueue(queue: string, shards: number) {
  ask({
    title: `Reshard ${queue}`, verb: 'Reshard', typed: queue,
    text: `It has ${plural(shards, 'shard')}. Jobs move to the new shards by their keys; the queue must be paused, and nothing starts meanwhile. The configs of all nodes must say the new number.`,
    fields: [{ name: 'shards', label: 'New number of shards', value: String(shards) }],
    act: async ({ shards: wanted }) => {
      await post(`${q(queue)}/reshard`, { shards: Number(wanted) });
      toast(`${queue}: resharding to ${wanted} is requested`);
      after();
    },
  });
}

export function pushJob(queue: string, first: { id?: string; payload?: string } = {}) {
  ask({
    title: `Push a job to ${queue}`, verb: 'Push 1',
    text: 'A job whose id already waits merges with it.',
    fields: [
      { name: 'id', label: 'Id', value: first.id, isOptional: true, hint: 'empty: a new one is made' },
      { name: 'payload', label: 'Payload, JSON', kind: 'area', value: first.payload ?? '{}' },
      { name: 'key', label: 'Key', isOptional: true, hint: 'empty: the id' },
      { name: 'kind', label: 'Kind', isOptional: true, hint: 'empty: the queue’s own' },
      { name: 'run_at', label: 'Run at', isOptional: true, hint: '"+10s", or 2030-01-01T09:00:00Z' },
    ],
    act: async ({ id, payload, key, kind, run_at }) => {
      let value: unknown;
      try { value = JSON.parse(payload); } catch (error) { throw new Error(`the payload is not JSON: ${(error as Error).message}`); }
      const job: Record<string, unknown> = { payload: value };
      for (const [name, text] of Object.entries({ id, key, kind, run_at })) if (text.trim()) job[name] = text.trim();
      const done = await post<{ ids: string[] }>(`${q(queue)}/jobs`, job);
      toast(`${done.ids[0]} is pushed to ${queue}`);
      after();
    },
  });
}

/// Limits of single values and of critical jobs are the config's alone.
export const canSet = (limit: Limit & { isHeading?: boolean }) => limit.closed !== true && nameText(limit.partition) === '' && /^[a-z0-9_-]+$/.test(limit.name) && (limit.rate !== undefined || limit.isHeading !== true);

export function setLimit(limit: Limit, more = '') {
  const isRate = limit.rate !== undefined;
  const old = isRate ? String(limit.rate!.limit) : String(limit.limit ?? '');
  const back = () => (limit.set ? put(`limits/${seg(limit.name)}`, isRate ? { rate: limit.rate } : { limit: limit.limit }) : remove(`limits/${seg(limit.name)}`));
  ask({
    title: `Set ${isRate ? 'the rate' : 'the limit'} of ${limit.name}`, verb: 'Set',
    text: `Counts on all nodes, over the config, until it is unset. ${more} ${limit.waiting > 0 ? `${jobs(limit.waiting)} wait for it now.` : 'No job waits for it now.'} Jobs that run go on if it becomes smaller.`,
    fields: isRate
      ? [{ name: 'limit', label: 'Starts', value: old }, { name: 'per', label: 'Per', value: limit.rate!.per }, { name: 'burst', label: 'Burst', value: String(limit.rate!.burst) }]
      : [{ name: 'limit', label: 'Limit', value: old }],
    act: async (values) => {
      const body = isRate ? { rate: { limit: Number(values.limit), per: values.per, burst: Number(values.burst) } } : { limit: Number(values.limit) };
      await put(`limits/${seg(limit.name)}`, body);
      toast(`${limit.name} is set to ${values.limit}${isRate ? ` per ${values.per}` : ''}, it was ${old}`, { undo: () => { void atOnce(back, `${limit.name} is as before`); } });
      after();
    },
  });
}
export const unsetLimit = (name: string) => atOnce(() => remove(`limits/${seg(name)}`), `${name}: the config counts again`);

export const runNow = (job: Job) => atOnce(() => post(q(job.queue) + ofJob(job).replace('{verb}', '/run-now')), `${nameText(job.id)}: run now is requested`);

export function cancelJob(job: Job, consequence?: string) {
  ask({
    title: `Cancel ${nameText(job.id)}?`, verb: 'Cancel 1', isBad: true,
    text: consequence ?? (job.state === 'running' ? 'Its run is asked to stop; the job ends as cancelled and is not tried again.' : 'It ends as cancelled and never runs. What waits behind its key, lock or limit can move.'),
    act: async () => {
      await post(q(job.queue) + ofJob(job).replace('{verb}', '/cancel'));
      toast(`${nameText(job.id)}: cancel is requested`);
      after();
    },
  });
}

export function reschedule(job: Job) {
  ask({
    title: `Reschedule ${nameText(job.id)}`, verb: 'Reschedule 1',
    text: 'It does not start before then. Its retry_count stays.',
    fields: [{ name: 'run_at', label: 'Run at', value: '+10m', hint: '"+10m", or 2030-01-01T09:00:00Z (UTC)' }],
    act: async ({ run_at }) => {
      const path = q(job.queue) + ofJob(job).replace('{verb}', '/reschedule');
      await post(path, { run_at });
      const old = job.run_at;
      toast(`${nameText(job.id)}: ${run_at} is requested`, { undo: old ? () => { void atOnce(() => post(path, { run_at: old }), `${nameText(job.id)}: back to its time is requested`); } : undefined });
      after();
    },
  });
}

export function killJob(job: Job) {
  ask({
    title: `Move ${nameText(job.id)} to the dead?`, verb: 'Move 1', isBad: true, text: 'It is not tried again by itself; it can be retried from the dead.',
    act: async () => {
      await post(q(job.queue) + ofJob(job).replace('{verb}', '/kill'));
      toast(`${nameText(job.id)}: the move is requested`);
      after();
    },
  });
}

// ---- many at once: the server acts on filter, as_of and count

export interface Meant { queue: string; filter: Record<string, string>; count: number; asOf?: string }

/// The number that a filter fits, as the server counts it for a bulk change.
export async function countOf(queue: string, of: 'jobs' | 'dead', filter: Record<string, string>): Promise<Meant> {
  const { count, as_of } = await post<{ count: number; as_of?: string }>(`${q(queue)}/${of === 'jobs' ? 'jobs/run-now' : 'dead/retry'}`, { filter, dry_run: true });
  return { queue, filter, count, asOf: as_of };
}

interface Done { changed?: number; requested?: number; skipped?: { id: Name; existing: Name }[]; missing?: Name[] }
const resultOf = (done: Done, verb: string) => {
  const skipped = done.skipped?.length ?? 0;
  const missing = done.missing?.length ?? 0;
  const more = `${skipped ? `, ${count(skipped)} skipped: another job has their unique key` : ''}${missing ? `, ${count(missing)} no longer there` : ''}`;
  return done.requested !== undefined ? `${verb} of ${jobs(done.requested)} is requested` : `${verb}: ${count(done.changed ?? 0)} changed${more}`;
};

type Bulk = 'jobs/cancel' | 'jobs/run-now' | 'dead/retry' | 'dead/delete';
const words: Record<Bulk, { verb: string; what: string; text: string; isBad?: boolean }> = {
  'jobs/cancel': { verb: 'Cancel', what: 'waiting jobs', text: 'They end as cancelled and never run. Jobs that run go on.', isBad: true },
  'jobs/run-now': { verb: 'Run now', what: 'waiting jobs', text: 'Their run_at becomes now. It opens no other gate: what waits for a key, lock or limit waits on.' },
  'dead/retry': { verb: 'Retry', what: 'dead payloads', text: 'They become queued jobs, due at once, with all their retries again. Those whose id is queued already merge into it.' },
  'dead/delete': { verb: 'Delete', what: 'dead payloads', text: 'They are gone for good. Export them first if in doubt.', isBad: true },
};

/// `selections`: what is meant, by queue. Asks with the whole count, then does one queue after the other.
export function change(bulk: Bulk, selections: Meant[], done: () => void, warning?: string) {
  const { verb, what, text, isBad } = words[bulk];
  const all = selections.reduce((n, each) => n + each.count, 0);
  const isWhole = selections.some((each) => Object.entries(each.filter).every(([name, value]) => name === 'state' && value === 'queued'));
  const queues = [...new Set(selections.map((each) => each.queue))];
  ask({
    title: `${verb} ${count(all)} ${all === 1 ? what.replace(/s$/, '') : what} of ${queues.length > 3 ? plural(queues.length, 'queue') : queues.join(', ')}?`,
    text, warning, isBad, verb: `${verb} ${count(all)}`,
    typed: isWhole && queues.length === 1 ? queues[0] : all > typedFrom ? count(all) : undefined,
    act: async () => {
      const sum: Done = {};
      for (const each of selections) {
        const one = await post<Done>(`${q(each.queue)}/${bulk}`, { filter: each.filter, count: each.count, ...(each.asOf ? { as_of: each.asOf } : {}) });
        if (one.changed !== undefined) sum.changed = (sum.changed ?? 0) + one.changed;
        if (one.requested !== undefined) sum.requested = (sum.requested ?? 0) + one.requested;
        sum.skipped = [...(sum.skipped ?? []), ...(one.skipped ?? [])];
      }
      toast(resultOf(sum, verb));
      after();
      done();
    },
  });
}

/// The same for jobs that were selected one by one.
export function changeSome(bulk: Bulk, some: Job[], done: () => void) {
  const { verb, what, text, isBad } = words[bulk];
  ask({
    title: `${verb} ${count(some.length)} ${some.length === 1 ? what.replace(/s$/, '') : what}?`, text, isBad, verb: `${verb} ${count(some.length)}`,
    typed: some.length > typedFrom ? count(some.length) : undefined,
    act: async () => {
      const sum: Done = {};
      const gone: Name[] = [];
      if (bulk.startsWith('dead/')) {
        for (const queue of new Set(some.map((job) => job.queue))) {
          const one = await post<Done>(`${q(queue)}/${bulk}`, { ids: some.filter((job) => job.queue === queue).map((job) => job.id) });
          sum.changed = (sum.changed ?? 0) + (one.changed ?? 0);
          sum.skipped = [...(sum.skipped ?? []), ...(one.skipped ?? [])];
        }
      } else {
        sum.requested = 0;
        for (const job of some) {
          try {
            await post(q(job.queue) + ofJob(job).replace('{verb}', bulk.slice(4)));
            sum.requested++;
          } catch (error) {
            if (!(error instanceof Refused && error.status === 404)) throw error;
            gone.push(job.id);
          }
        }
        sum.missing = gone;
      }
      toast(resultOf(sum, verb) + (gone.length ? `, ${count(gone.length)} had ended` : ''));
      after();
      done();
    },
  });
}

// ---- responses, schedules, nodes

export async function respond(queue: string, key: Name, body: string, messageId: string): Promise<string> {
  try { JSON.parse(body); } catch (error) { throw new Error(`the body is not JSON: ${(error as Error).message}`); }
  const headers: Record<string, string> = messageId ? { 'Ordo-Message-Id': messageId } : {};
  const answer = await post<{ response: string }>(`responses/${seg(queue)}/${seg(nameText(key))}`, body, headers);
  toast(`${nameText(key)}: the answer is ${answer.response}`);
  after();
  return answer.response;
}

export function answerByHand(queue: string, key: Name, consequence?: string) {
  ask({
    title: `Answer ${nameText(key)} by hand`, verb: 'Answer',
    text: consequence ?? 'Its job goes on as if the sender had answered. The sender may still answer before you do: exactly one of answer, timeout and cancel wins.',
    fields: [{ name: 'body', label: 'Body, JSON', kind: 'area', value: '{}' }, { name: 'id', label: 'Message id', isOptional: true, value: `by-hand-${Date.now().toString(36)}`, hint: 'a second answer with this id is a duplicate' }],
    act: async ({ body, id }) => { await respond(queue, key, body, id); },
  });
}

const p = (name: string) => `periodic/${seg(name)}`;
export const pausePeriodic = (name: string) => atOnce(() => post(`${p(name)}/pause`), `${name} is paused`, () => post(`${p(name)}/resume`));
export const resumePeriodic = (name: string) => atOnce(() => post(`${p(name)}/resume`), `${name} is resumed`, () => post(`${p(name)}/pause`));
export function runPeriodic(name: string, queue: string) {
  ask({
    title: `Run ${name} now?`, verb: 'Push 1', text: `One job is pushed to ${queue} now. Its schedule stays as it is.`,
    act: async () => { const done = await post<{ id: Name }>(`${p(name)}/run`); toast(`${nameText(done.id)} is pushed to ${queue}`); after(); },
  });
}

export const resetSource = (name: string) => ask({
  title: `Reset ${name}?`, verb: 'Reset', isBad: true,
  text: 'It goes on with what its server has now. Jobs that have run may be in the lists again, and run twice.',
  act: async () => { await post(`sources/${seg(name)}/reset`); toast(`${name} is reset`); after(); },
});

export const quietNode = (id: string) => ask({
  title: `Quiet ${id}?`, verb: 'Quiet', text: 'It takes no more jobs; what runs there goes on. It cannot be taken back: a node that is quiet is started again.',
  act: async () => { await post(`nodes/${seg(id)}/quiet`); toast(`${id}: quiet is requested`); after(); },
});
export const stopNode = (id: string, threads: number) => ask({
  title: `Stop ${id}?`, verb: 'Stop', isBad: true, typed: id,
  text: `Its process ends as at a TERM signal: up to ${plural(threads, 'run')} may end first, the others are put back with retry_count unchanged. Its shards move to other nodes.`,
  act: async () => { await post(`nodes/${seg(id)}/stop`); toast(`${id}: stop is requested`); after(); },
});

export const exportHref = (queue: string, what: 'jobs' | 'dead', filter: Record<string, string>) => address(`${q(queue)}/${what}/export${query(filter)}`);

/// What a shell would push it with again.
export function asPush(job: Job): string {
  const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const payload = job.payloads?.at(-1);
  const words = ['ordo push', job.queue, '--id', quote(nameText(job.id))];
  if (nameText(job.key) && nameText(job.key) !== nameText(job.id)) words.push('--key', quote(nameText(job.key)));
  if (nameText(job.kind) && nameText(job.kind) !== job.queue) words.push('--kind', quote(nameText(job.kind)));
  if (payload !== undefined) words.push('--payload', quote(JSON.stringify(payload)));
  return words.join(' ');
}
