// Who uses what, who waits?
import { isViewer, type Limit as ApiLimit, type List, type Lock } from '../api';
import { setLimit, unsetLimit, whyNot } from '../actions';
import { useRead } from '../data';
import { stats } from '../live';
import { waitingOf } from '../pages';
import { Button, Command, Dot, Empty, Failure, Id, Loading, Mono, Num, Panel, Segments, Time } from '../parts/bits';
import { Slots } from '../parts/gatebar';
import { Table } from '../parts/table';
import { param, setParams } from '../router';
import { count, jobs, nameText, plural, visible } from '../words';

/// `eachHas`: it only stands above its partitions, of which each has so much.
interface Limit extends ApiLimit { eachHas?: number }
const isHeading = (limit: Limit) => 'eachHas' in limit;
const isPart = (limit: Limit) => nameText(limit.partition) !== '';
const isFull = (limit: Limit) => limit.waiting > 0 || limit.closed === true || (limit.used !== undefined && limit.used >= (limit.limit ?? 0));

/// A limit stands before its partitions; those with the most waiting first.
export function inOrder(limits: Limit[]): Limit[] {
  const weight = new Map<string, number>();
  for (const limit of limits) weight.set(limit.name, Math.max(weight.get(limit.name) ?? 0, limit.waiting));
  return limits.toSorted((a, b) => weight.get(b.name)! - weight.get(a.name)! || a.name.localeCompare(b.name) || Number(isPart(a)) - Number(isPart(b)) || b.waiting - a.waiting || (b.used ?? 0) - (a.used ?? 0));
}

/// Partitions have a line above them that names their limit, also where nothing but partitions is limited.
export function withParents(limits: Limit[]): Limit[] {
  const named = new Set(limits.filter((limit) => !isPart(limit)).map((limit) => limit.name));
  return limits.flatMap((limit) => {
    if (named.has(limit.name)) return [limit];
    named.add(limit.name);
    const parts = limits.filter((each) => each.name === limit.name);
    return [{ name: limit.name, partition: '', waiting: parts.reduce((n, part) => n + part.waiting, 0), set: false, next_free: null, eachHas: limit.limit ?? limit.rate?.limit }, limit];
  });
}

export function Limits() {
  const limits = useRead<List<Limit>>('limits', 2_000);
  const locks = useRead<List<Lock>>('locks', 2_000);
  const at = stats.value && waitingOf(stats.value);
  const onlyFull = param('only') === 'full';
  const rows = withParents(inOrder((limits.value?.items ?? []).filter((limit) => !onlyFull || isFull(limit))));
  const set = (limits.value?.items ?? []).filter((limit) => limit.set && !isPart(limit));
  return (
    <>
      <div class="page-head"><h1>{at ? `${jobs(at.limit)} wait for a limit, ${count(at.rate)} for a rate, ${count(at.lock)} for a lock` : 'Limits and locks'}</h1><span class="grow" /><Segments label="Show" value={onlyFull ? 'full' : 'all'} choices={[['all', 'All'], ['full', 'Only full']]} choose={(next) => setParams({ only: next === 'full' ? 'full' : null }, 'replace')} /></div>
      <Panel title="Limits and rates" note="used: the weights of running and awaiting jobs, on all nodes">
        {limits.failure && !limits.value ? <Failure text={limits.failure} again={limits.again} /> : !limits.value ? <Loading rows={6} of="limits" />
          : !rows.length ? <Empty title={onlyFull ? 'No limit is full' : 'No limits'}>{onlyFull ? 'Every limit has room.' : <>Limits and rates of the config are listed here: <Command text="[queue.orders] limit = 10" /></>}</Empty>
            : <Table name="Limits and rates" rows={rows} id={(limit) => `${limit.name} ${nameText(limit.partition)} ${limit.rate ? 'rate' : 'limit'}`} columns={[
              { key: 'name', head: 'Name', phone: 'a', cell: (limit) => (isPart(limit) ? <span class="partition mono"><bdi>{visible(nameText(limit.partition))}</bdi><span class="hidden"> of {limit.name}</span></span> : <b>{limit.name}</b>) },
              { key: 'what', head: 'What', wide: true, cell: (limit) => <span class="dim">{isHeading(limit) ? 'of each partition' : limit.closed ? 'penalty' : limit.rate ? `rate per ${limit.rate.per}, burst ${count(limit.rate.burst)}` : isPart(limit) ? 'partition' : 'limit'}</span> },
              { key: 'used', head: 'Used', phone: 'c', cell: (limit) => (limit.used !== undefined ? <Slots used={limit.used} of={limit.limit ?? 0} /> : isHeading(limit) ? <span class="dim">{limit.eachHas} for each value, by the config</span> : limit.closed ? 'closed' : <span class="dim">{count(limit.rate!.limit)} starts per {limit.rate!.per}</span>) },
              { key: 'of', head: <span class="hidden">Used of</span>, num: true, phone: 'b', cell: (limit) => (limit.used !== undefined ? <span><b>{limit.used}</b> <span class="dim">of {limit.limit}</span></span> : '') },
              { key: 'set', head: <span class="hidden">Origin</span>, wide: true, cell: (limit) => (limit.set ? 'set over the config' : '') },
              { key: 'waiting', head: 'Waiting', num: true, phone: 'd', cell: (limit) => <Num n={limit.waiting} strong /> },
              { key: 'next', head: 'Next free', num: true, wide: true, cell: (limit) => (limit.next_free ? <Time at={limit.next_free} /> : isHeading(limit) ? '' : isFull(limit) ? <span class="dim">when a run ends</span> : <span class="dim">open</span>) },
              ...(isViewer() ? [] : [{ key: 'act', head: <span class="hidden">Set</span>, class: 'c-act p-e', cell: (limit: Limit) => (isPart(limit) || isHeading(limit) || limit.closed ? null : <Button class="small" why={whyNot('admin')} onClick={() => setLimit(limit)} aria-label={`Set ${limit.name}`}>Set…</Button>) }]),
            ]} />}
      </Panel>
      <div class="two-thirds job">
        <div class="column"><Locks read={locks} /></div>
        <div class="column">{set.length > 0 && <Panel title="Set over the config"><ul class="set-list">{set.map((limit) => <li key={limit.name}><div><b>{limit.name}</b><span class="dim">{limit.rate ? `rate ${count(limit.rate.limit)} per ${limit.rate.per}` : `limit ${limit.limit}`}</span></div>{!isViewer() && <Button why={whyNot('admin')} onClick={() => void unsetLimit(limit.name).then(limits.again)}>Unset</Button>}</li>)}</ul></Panel>}</div>
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
