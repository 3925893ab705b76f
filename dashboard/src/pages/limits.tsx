// Who uses what, who waits?
import { isViewer, type Limit as ApiLimit, type List, type Lock } from '../api';
import { canSet, setLimit, unsetLimit, whyNot } from '../actions';
import { useRead } from '../data';
import { stats } from '../live';
import { waitingOf } from '../pages';
import { Button, Command, Dot, Empty, Failure, Id, Loading, Mono, Num, Panel, Segments, Time } from '../parts/bits';
import { Slots } from '../parts/gatebar';
import { Table } from '../parts/table';
import { param, setParams } from '../router';
import { count, jobs, nameText, plural, visible } from '../words';

/// `isHeading`: it only stands above its partitions, each of which has so much.
interface Limit extends ApiLimit { isHeading?: boolean }
const isPart = (limit: Limit) => nameText(limit.partition) !== '';
const isRate = (limit: Limit) => limit.used === undefined && limit.limit === undefined;
const isFull = (limit: Limit) => limit.waiting > 0 || limit.closed === true || (limit.used !== undefined && limit.used >= (limit.limit ?? 0));
const kindOf = (limit: Limit) => `${limit.name} ${isRate(limit) ? 'rate' : 'limit'}`;
const amount = (limit: Limit) => (limit.rate ? `${count(limit.rate.limit)} starts per ${limit.rate.per}` : String(limit.limit));

/// A limit stands before its partitions; those with the most waiting first.
export function inOrder(limits: Limit[]): Limit[] {
  const weight = new Map<string, number>();
  for (const limit of limits) weight.set(limit.name, Math.max(weight.get(limit.name) ?? 0, limit.waiting));
  return limits.toSorted((a, b) => weight.get(b.name)! - weight.get(a.name)! || a.name.localeCompare(b.name) || kindOf(a).localeCompare(kindOf(b)) || Number(isPart(a)) - Number(isPart(b)) || b.waiting - a.waiting || (b.used ?? 0) - (a.used ?? 0));
}

/// Partitions have a line above them that names their limit or rate, also where nothing but partitions has one.
export function withParents(limits: Limit[]): Limit[] {
  const named = new Set(limits.filter((limit) => !isPart(limit)).map(kindOf));
  return limits.flatMap((limit) => {
    if (named.has(kindOf(limit))) return [limit];
    named.add(kindOf(limit));
    const parts = limits.filter((each) => kindOf(each) === kindOf(limit));
    return [{ name: limit.name, partition: '', isHeading: true, limit: limit.limit, rate: limit.rate, waiting: parts.reduce((n, part) => n + part.waiting, 0), set: limit.set, next_free: null }, limit];
  });
}

export function Limits() {
  const read = useRead<List<Limit>>('limits', 2_000);
  const locks = useRead<List<Lock>>('locks', 2_000);
  const at = stats.value && waitingOf(stats.value);
  const onlyFull = param('only') === 'full';
  const all = read.value?.items ?? [];
  const rows = withParents(inOrder(all.filter((limit) => !onlyFull || isFull(limit))));
  const set = withParents(inOrder(all)).filter((limit) => limit.set && !isPart(limit));
  const setNames = [...new Set(set.map((limit) => limit.name))];
  return (
    <>
      <div class="page-head"><h1>{at ? `${jobs(at.limit)} wait for a limit, ${count(at.rate)} for a rate, ${count(at.lock)} for a lock` : 'Limits and locks'}</h1><span class="grow" /><Segments label="Show" value={onlyFull ? 'full' : 'all'} choices={[['all', 'All'], ['full', 'Only full']]} choose={(next) => setParams({ only: next === 'full' ? 'full' : null }, 'replace')} /></div>
      <Panel title="Limits and rates" note="used: the weights of running and awaiting jobs on all nodes, up to a second old">
        {read.failure && !read.value ? <Failure text={read.failure} again={read.again} /> : !read.value ? <Loading rows={6} of="limits" />
          : !rows.length ? <Empty title={onlyFull ? 'No limit is full' : 'No limits'}>{onlyFull ? 'Every limit has room.' : <>Limits and rates of the config are listed here: <Command text="[queue.orders] limit = 10" /></>}</Empty>
            : <Table name="Limits and rates" rows={rows} id={(limit) => `${limit.name} ${nameText(limit.partition)} ${limit.rate ? 'rate' : 'limit'}`} columns={[
              { key: 'name', head: 'Name', phone: 'a', cell: (limit) => (isPart(limit) ? <span class="partition mono"><bdi>{visible(nameText(limit.partition))}</bdi><span class="hidden"> of {limit.name}</span></span> : <b>{limit.name}</b>) },
              { key: 'what', head: 'What', wide: true, cell: (limit) => <span class="dim">{limit.isHeading ? `${isRate(limit) ? 'rate' : 'limit'} of each partition` : limit.closed ? 'penalty' : limit.rate ? `rate per ${limit.rate.per}, burst ${count(limit.rate.burst)}` : isPart(limit) ? 'partition' : 'limit'}</span> },
              { key: 'used', head: 'Used', phone: 'c', cell: (limit) => (limit.used !== undefined ? <Slots used={limit.used} of={limit.limit ?? 0} /> : limit.isHeading ? <span class="dim">{amount(limit)} for each value</span> : limit.closed ? 'closed' : <span class="dim">{amount(limit)}</span>) },
              { key: 'of', head: <span class="hidden">Used of</span>, num: true, phone: 'b', cell: (limit) => (limit.used !== undefined ? <span><b>{limit.used}</b> <span class="dim">of {limit.limit}</span></span> : '') },
              { key: 'set', head: <span class="hidden">Origin</span>, wide: true, cell: (limit) => (limit.set ? 'set over the config' : '') },
              { key: 'waiting', head: 'Waiting', num: true, phone: 'd', cell: (limit) => <Num n={limit.waiting} strong /> },
              { key: 'next', head: 'Next free', num: true, wide: true, cell: (limit) => (limit.next_free ? <Time at={limit.next_free} /> : limit.isHeading ? '' : isFull(limit) ? <span class="dim">{isRate(limit) ? 'now' : 'when a run ends'}</span> : <span class="dim">open</span>) },
              ...(isViewer() ? [] : [{ key: 'act', head: <span class="hidden">Set</span>, class: 'c-act p-e', cell: (limit: Limit) => (!canSet(limit) ? null : <Button class="small" why={whyNot('admin')} onClick={() => setLimit(limit, limit.isHeading ? 'Each value has it.' : '')} aria-label={`Set ${limit.name}`}>Set…</Button>) }]),
            ]} />}
      </Panel>
      <div class="two-thirds job">
        <div class="column"><Locks read={locks} /></div>
        <div class="column">{set.length > 0 && <Panel title="Set over the config"><ul class="set-list">{setNames.map((name) => <li key={name}><div><b>{name}</b><span class="dim">{set.filter((limit) => limit.name === name).map((limit) => (isRate(limit) ? `rate ${amount(limit)}` : `limit ${amount(limit)}`)).join(', ')}</span></div>{!isViewer() && <Button why={whyNot('admin')} aria-label={`Unset ${name}`} onClick={() => void unsetLimit(name).then(read.again)}>Unset</Button>}</li>)}</ul></Panel>}</div>
      </div>
    </>
  );
}

function Locks({ read }: { read: ReturnType<typeof useRead<List<Lock>>> }) {
  const all = read.value?.items ?? [];
  const isAll = param('locks') === 'all';
  const rows = (isAll ? all : all.filter((lock) => lock.waiting > 0)).toSorted((a, b) => b.waiting - a.waiting);
  return (
    <Panel title={isAll ? 'Locks' : 'Locks that jobs wait for'} note={`${count(rows.length)} of ${plural(all.length, 'held lock')}`} side={all.length > 0 && <button type="button" class="link" onClick={() => setParams({ locks: isAll ? null : 'all' }, 'replace')}>{isAll ? 'Only waited for' : `Show all ${count(all.length)}`}</button>}>
      {!read.value ? (read.failure ? <Failure text={read.failure} again={read.again} /> : <Loading rows={4} of="locks" />)
        : !rows.length ? <Empty title={all.length ? 'No job waits for a lock' : 'No lock is held'}>Locks that jobs hold are listed here: <Command text={'[queue.orders] lock = "key"'} /></Empty>
          : <Table name="Locks" rows={rows.slice(0, 200)} id={(lock) => `${lock.name} ${nameText(lock.key)}`} foot="A lock frees in the same step that ends its run, or when the lease of a dead holder ends. There is nothing to release by hand: cancel the holder instead." columns={[
            { key: 'key', head: 'Lock', phone: 'a', cell: (lock) => <Mono text={lock.key} most={30} /> },
            { key: 'name', head: 'Name', cell: (lock) => lock.name },
            { key: 'by', head: 'Held by', phone: 'c', class: 'c-rest', cell: (lock) => (lock.holders.length ? lock.holders.map((holder, i) => <span key={nameText(holder.id)}>{i > 0 && ', '}<Id queue={holder.queue} id={holder.id} opens={i === 0} /></span>) : <Dot word="not known" />) },
            { key: 'slots', head: 'Holders', num: true, wide: true, cell: (lock) => <Num n={lock.holders.length} /> },
            { key: 'waiting', head: 'Waiting', num: true, phone: 'b', cell: (lock) => <Num n={lock.waiting} strong /> },
          ]} />}
    </Panel>
  );
}
