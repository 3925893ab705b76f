// What died of the same cause?
import { useState } from 'preact/hooks';
import { get, isViewer, query, seg, type AuditEntry, type DeadGroup, type Job, type List } from '../api';
import { change, changeSome, countOf, exportHref, whyNot, type Meant } from '../actions';
import { each, useRead, useReadBy } from '../data';
import { stats } from '../live';
import { toast } from '../notices';
import { Bulk } from '../parts/bulk';
import { Button, Empty, Failure, Id, Loading, Mono, Num, Panel, Segments, Time } from '../parts/bits';
import { FilterBar } from '../parts/filterbar';
import { Icon } from '../parts/icons';
import { Payload } from '../parts/payload';
import { Table, type Column, type Selection } from '../parts/table';
import { href, param, setParams, withParams } from '../router';
import { count, momentOf, ms, nameText, plural, visible } from '../words';

interface Group extends DeadGroup { queue: string }
const groupId = (group: Group) => `${group.queue} ${group.error}`;
const day = 86_400_000;
const samples = 8;
const readRows = 1_000;

export function Dead() {
  const by = param('by') || 'error';
  const now = stats.value;
  const only = param('queue');
  const queues = Object.entries(now?.by_queue ?? {}).filter(([name, counts]) => counts.dead > 0 && (!only || name === only));
  const total = queues.reduce((n, [, counts]) => n + counts.dead, 0);
  const trimmed = queues.reduce((n, [, counts]) => n + counts.dead_trimmed, 0);
  const names = queues.map(([name]) => name);
  const read = useReadBy(now ? `dead ${names.join()} ${total}` : null, async (stop) => {
    const lists = await each(names, (queue) => get<List<DeadGroup>>(`queues/${seg(queue)}/dead/groups`, stop));
    return lists.flatMap((list, i) => (list?.items ?? []).map((group): Group => ({ ...group, queue: names[i] }))).sort((a, b) => b.count - a.count);
  });
  const text = (param('error') || param('q')).toLowerCase();
  const groups = (read.value ?? []).filter((group) => !text || group.error.toLowerCase().includes(text));
  const isNarrow = !!(param('id') || param('key') || param('kind') || param('since'));
  const isList = by === 'list' || isNarrow;
  return (
    <>
      <div class="page-head">
        <h1>{now ? plural(total, 'dead payload') : 'Dead'}{read.value ? `, ${plural(read.value.length, 'error')}` : ''}</h1>
        <span class="note">{trimmed > 0 ? `${count(trimmed)} were trimmed by max_dead or dead_ttl` : 'none trimmed'}</span>
        <span class="grow" />
        <Segments label="Group by" value={isList ? 'list' : by} choices={[['error', 'By error'], ['queue', 'By queue'], ['list', 'List']]} choose={(next) => { if (next !== 'list' && isNarrow) toast('The filters by id, key, kind and time are for the list: they are taken off.'); setParams({ by: next === 'error' ? null : next, ...(next === 'list' ? {} : { id: null, key: null, kind: null, since: null }) }); }} />
        {names.length === 1 && <a class="button plain" href={exportHref(names[0], 'dead', text && param('error') ? { error: param('error') } : {})} download={`${names[0]}-dead.ndjson`}>Export {count(total)}</a>}
      </div>
      <FilterBar fixed={[['state', 'dead']]} filters={[{ name: 'queue', what: 'the queue', note: 'exact' }, { name: 'error', what: 'text in the error', note: 'exact' }, { name: 'kind', what: 'the kind', note: 'exact' }, { name: 'key', what: 'the key', note: 'exact' }, { name: 'id', what: 'the id', note: 'exact' }, { name: 'since', what: 'died since', note: 'yesterday, today, -24h, or 2030-01-01T09:00:00Z' }]} side={<span class="note">{count(total)} dead</span>} />
      {read.failure && !read.value ? <Failure text={read.failure} again={read.again} />
        : !now || !read.value ? <Panel><Loading rows={8} of="the dead" /></Panel>
          : total === 0 ? <Panel><Empty title="No dead jobs">Jobs that used up their retries are listed here, by the first line of their error. <LastCleared queue={only} /></Empty></Panel>
            : isList ? <DeadList queues={names} /> : by === 'queue' ? <ByQueue queues={queues.map(([name, counts]) => ({ name, dead: counts.dead, trimmed: counts.dead_trimmed, groups: groups.filter((group) => group.queue === name) }))} /> : <ByError groups={groups} again={read.again} asOf={read.at} />}
    </>
  );
}

/// Of the newest changes, the one that took dead jobs away last.
export const lastCleared = (changes: readonly AuditEntry[], queue: string) =>
  changes.find((each) => (each.action === 'retry_dead' || each.action === 'delete_dead') && (!queue || each.queue === queue) && (each.count ?? 0) > 0);

function LastCleared({ queue }: { queue: string }) {
  const read = useRead<List<AuditEntry>>('audit?limit=100');
  const last = lastCleared(read.value?.items ?? [], queue);
  if (!last) return null;
  return <span>The last {last.action === 'retry_dead' ? 'retry' : 'deletion'} was of {plural(last.count!, 'payload')} of {last.queue}, at <Time at={last.at} />, by {visible(last.who)}.</span>;
}

interface Deaths { by: Map<string, number[]>; isWhole: boolean }
/// Deaths of the last 24 h by hour, from the rows: by queue and first line of error.
async function readDeaths(queues: string[], stop: AbortSignal): Promise<Deaths> {
  const end = Date.now();
  const by = new Map<string, number[]>();
  let isWhole = true;
  const lists = await each(queues, (queue) => get<List<Job>>(`queues/${seg(queue)}/dead${query({ since: new Date(end - day).toISOString(), sort: 'run_at', desc: 'true', limit: readRows })}`, stop), 2);
  lists.forEach((list, i) => {
    if (!list || list.next) isWhole = false;
    for (const job of list?.items ?? []) {
      const id = `${queues[i]} ${(job.error ?? '').split('\n')[0]}`;
      const hours = by.get(id) ?? new Array<number>(24).fill(0);
      const hour = 23 - Math.floor((end - ms(job.run_at)) / 3_600_000);
      if (hour >= 0 && hour < 24) hours[hour] += 1;
      by.set(id, hours);
    }
  });
  return { by, isWhole };
}

function Histogram({ hours }: { hours: number[] | undefined }) {
  const values = hours ?? new Array<number>(24).fill(0);
  const top = Math.max(...values, 1);
  const isSudden = values[23] > 0 && values[23] === top && values.slice(0, 22).every((n) => n === 0);
  return <svg class="histogram" width="144" height="18" viewBox="0 0 144 18" role="img" aria-label={`deaths by hour, oldest first: ${values.join(' ')}`}>{values.map((n, i) => <g key={i}><rect class="base" x={i * 6} y="17" width="5" height="1" />{n > 0 && <rect class={isSudden ? 'late' : ''} x={i * 6} y={17 - Math.max(2, (n / top) * 16)} width="5" height={Math.max(2, (n / top) * 16)} rx="0.5" />}</g>)}</svg>;
}

function ByError({ groups, again, asOf }: { groups: Group[]; again: () => void; asOf: number }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const open = param('group');
  const queues = [...new Set(groups.map((group) => group.queue))];
  const deaths = useReadBy(queues.length && queues.length <= 24 ? `deaths ${queues.join()} ${asOf}` : null, (stop) => readDeaths(queues, stop), 0, 'late');
  const some = groups.filter((group) => chosen.has(groupId(group)));
  const selection: Selection<Group> | undefined = isViewer() ? undefined : {
    has: (group) => chosen.has(groupId(group)),
    all: some.length === groups.length && groups.length > 0 ? 'all' : some.length ? 'some' : 'none',
    toggleAll: () => setChosen(some.length === groups.length ? new Set() : new Set(groups.map(groupId))),
    toggle: (group) => { const next = new Set(chosen); if (!next.delete(groupId(group))) next.add(groupId(group)); setChosen(next); },
  };
  const meant = useReadBy(some.length ? `meant ${some.map(groupId).join()} ${asOf}` : null, async () => {
    const all: Meant[] = [];
    for (const group of some) all.push(await countOf(group.queue, 'dead', group.error ? { error: group.error } : {}));
    return all;
  });
  const number = meant.value ? meant.value.reduce((n, one) => n + one.count, 0) : null;
  const columns: Column<Group>[] = [
    { key: 'expand', head: <span class="hidden">Expand</span>, class: 'p-none', cell: (group) => <button type="button" class="icon-button expand" data-expand data-open aria-expanded={open === groupId(group)} aria-label={`samples of ${group.error}`} onClick={() => setParams({ group: open === groupId(group) ? null : groupId(group) }, 'replace')}><Icon name={open === groupId(group) ? 'down' : 'right'} size={12} /></button> },
    { key: 'count', head: 'Dead', num: true, phone: 'b', cell: (group) => <Num n={group.count} strong red={ms(group.last) > Date.now() - 3_600_000} /> },
    { key: 'error', head: 'Error, first line', phone: 'a', class: 'c-rest', cell: (group) => <a class="mono plain" href={withParams(href('dead'), { by: 'list', queue: group.queue, error: group.error })}><bdi>{visible(group.error) || 'no error text'}</bdi></a> },
    { key: 'queue', head: 'Queue', phone: 'c', cell: (group) => <a class="plain" href={href('queues', group.queue)}>{group.queue}</a> },
    { key: 'first', head: 'First', num: true, wide: true, cell: (group) => <Time at={group.first} /> },
    { key: 'last', head: 'Last', num: true, phone: 'd', cell: (group) => <Time at={group.last} /> },
    { key: 'hours', head: <>Last 24 hours{deaths.value && !deaths.value.isWhole ? `, of the newest ${count(readRows)}` : ''}</>, wide: true, cell: (group) => <span class="histogram-place">{deaths.value && <Histogram hours={deaths.value.by.get(groupId(group))} />}</span> },
  ];
  const done = () => { setChosen(new Set()); again(); };
  const may = whyNot('operator', some.length === 1 ? some[0].queue : undefined);
  if (!groups.length) return <Panel><Empty title="No error has this text">Take the filter off.</Empty></Panel>;
  return (
    <>
      <section class="panel" aria-label="The dead by error"><Table name="errors" columns={columns} rows={groups} id={groupId} selection={selection} below={(group) => (open === groupId(group) ? <Samples group={group} /> : null)} /></section>
      {some.length > 0 && <Bulk number={number} text={meant.failure ? `could not be counted: ${meant.failure}` : 'all that match'} tokens={some.slice(0, 3).flatMap((group): [string, string][] => [['queue', group.queue], ['error', group.error.slice(0, 60)]])} asOf={meant.at || asOf} clear={() => setChosen(new Set())}>
        {(n) => <>
          {some.length === 1 && <a class="button plain" href={exportHref(some[0].queue, 'dead', { error: some[0].error })} download={`${some[0].queue}-dead.ndjson`}>Export {n}</a>}
          <Button kind="bad" why={may} onClick={() => change('dead/delete', meant.value!, done)}>Delete {n}…</Button>
          <Button kind="main" why={may} onClick={() => change('dead/retry', meant.value!, done)}>Retry {n}…</Button>
        </>}
      </Bulk>}
    </>
  );
}

function Samples({ group }: { group: Group }) {
  const read = useReadBy(`samples ${groupId(group)} ${group.count}`, (stop) => get<List<Job>>(`queues/${seg(group.queue)}/dead${query({ error: group.error, sort: 'run_at', desc: 'true', limit: samples })}`, stop));
  if (!read.value) return read.failure ? <Failure text={read.failure} again={read.again} /> : <Loading rows={3} of="samples" />;
  const more = group.count - read.value.items.length;
  return (
    <ul class="group-jobs">
      {read.value.items.map((job) => <li key={`${nameText(job.id)} ${nameText(job.key)}`}><Id queue={group.queue} id={job.id} kind={job.kind} jobKey={job.key} /><Mono text={job.key} most={24} /><Payload payload={job.payloads?.at(-1)} isShort /><Time at={job.run_at} /></li>)}
      {more > 0 && <li><a href={withParams(href('dead'), { by: 'list', queue: group.queue, error: group.error })}>Show all {count(group.count)}</a></li>}
    </ul>
  );
}

function ByQueue({ queues }: { queues: { name: string; dead: number; trimmed: number; groups: Group[] }[] }) {
  return (
    <section class="panel" aria-label="The dead by queue"><Table name="queues" rows={queues} id={(row) => row.name} columns={[
      { key: 'name', head: 'Queue', phone: 'a', cell: (row) => <a class="row-link" data-open href={withParams(href('dead'), { queue: row.name })}>{row.name}</a> },
      { key: 'dead', head: 'Dead', num: true, phone: 'b', cell: (row) => <Num n={row.dead} strong /> },
      { key: 'errors', head: 'Errors', num: true, cell: (row) => <Num n={row.groups.length} /> },
      { key: 'trimmed', head: 'Trimmed', num: true, wide: true, cell: (row) => <Num n={row.trimmed} /> },
      { key: 'most', head: 'Most often', phone: 'c', class: 'c-rest', cell: (row) => <Mono text={row.groups[0]?.error} most={80} /> },
    ]} /></section>
  );
}

function DeadList({ queues }: { queues: string[] }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const filter = { id: param('id'), key: param('key'), kind: param('kind'), error: param('error'), since: momentOf(param('since')) };
  const queue = param('queue') || (queues.length === 1 ? queues[0] : '');
  const asked = queue ? [queue] : queues.slice(0, 24);
  const limit = queue ? 50 : 10;
  const read = useReadBy(`dead list ${asked.join()} ${JSON.stringify(filter)} ${param('cursor')}`, async (stop) => {
    const lists = await each(asked, (name) => get<List<Job>>(`queues/${seg(name)}/dead${query({ ...filter, sort: 'run_at', desc: 'true', limit, cursor: queue ? param('cursor') : '' })}`, stop));
    return { jobs: lists.flatMap((list) => list?.items ?? []), next: queue ? lists[0]?.next ?? null : null };
  });
  if (!read.value) return <Panel>{read.failure ? <Failure text={read.failure} again={read.again} /> : <Loading rows={10} of="the dead" />}</Panel>;
  const id = (job: Job) => `${job.queue} ${nameText(job.kind)} ${nameText(job.key)} ${nameText(job.id)}`;
  const rows = read.value.jobs;
  const some = rows.filter((job) => chosen.has(id(job)));
  const done = () => { setChosen(new Set()); read.again(); };
  const selection: Selection<Job> | undefined = isViewer() ? undefined : {
    has: (job) => chosen.has(id(job)), all: some.length && some.length === rows.length ? 'all' : some.length ? 'some' : 'none',
    toggleAll: () => setChosen(some.length === rows.length ? new Set() : new Set(rows.map(id))),
    toggle: (job) => { const next = new Set(chosen); if (!next.delete(id(job))) next.add(id(job)); setChosen(next); },
  };
  const all = (bulk: 'dead/retry' | 'dead/delete') => { const meant = Object.fromEntries(Object.entries(filter).filter(([name, value]) => value && name !== 'id')); countOf(queue, 'dead', meant).then((one) => change(bulk, [one], done), (error: Error) => toast(error.message, { isBad: true })); };
  const foot = <><span>{rows.length ? `${count(rows.length)}${read.value.next ? ', more follow' : queue ? ', all that match' : ` of the first ${limit} of each queue`}` : 'none'}</span>{read.value.next && <button type="button" class="link" onClick={() => setParams({ cursor: read.value!.next })}>Next {limit}</button>}<span class="grow" />{queue && !filter.id && !isViewer() && <><button type="button" class="link" onClick={() => all('dead/retry')}>Retry all that match…</button><button type="button" class="link" onClick={() => all('dead/delete')}>Delete all that match…</button></>}</>;
  if (!rows.length) return <Panel><Empty title="No dead job fits">Take a filter off.</Empty></Panel>;
  return (
    <>
      <section class="panel" aria-label="The dead"><Table name="dead jobs" rows={rows} id={id} selection={selection} foot={foot} columns={[
        { key: 'id', head: 'Id', phone: 'a', cell: (job) => <Id queue={job.queue} id={job.id} kind={job.kind} jobKey={job.key} opens /> },
        { key: 'queue', head: 'Queue', cell: (job) => job.queue },
        { key: 'key', head: 'Key', wide: true, cell: (job) => <Mono text={job.key} most={24} /> },
        { key: 'kind', head: 'Error kind', wide: true, cell: (job) => job.error_kind ?? '' },
        { key: 'died', head: 'Died', num: true, phone: 'b', cell: (job) => <Time at={job.run_at} /> },
        { key: 'error', head: 'Error', phone: 'c', class: 'c-rest', cell: (job) => <Mono text={(job.error ?? '').split('\n')[0]} most={90} /> },
      ]} /></section>
      {some.length > 0 && <Bulk number={some.length} text="by hand" tokens={[]} asOf={read.at} clear={() => setChosen(new Set())}>{(n) => <>
        <Button kind="bad" why={whyNot('operator')} onClick={() => changeSome('dead/delete', some, done)}>Delete {n}…</Button>
        <Button kind="main" why={whyNot('operator')} onClick={() => changeSome('dead/retry', some, done)}>Retry {n}…</Button>
      </>}</Bulk>}
    </>
  );
}
