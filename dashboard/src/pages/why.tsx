// Where do waiting jobs stand?
import { get, query, seg, type Job, type Limit, type List, type Lock } from '../api';
import { canSet, setLimit, whyNot } from '../actions';
import { each, useRead, useReadBy } from '../data';
import { questions, shownGates, sum, type Gate, type Standing } from '../gates';
import { failure, readStats, stats } from '../live';
import { Button, Dot, Empty, Failure, Held, Id, Loading, Num, Panel, Since, State, Time, Until } from '../parts/bits';
import { heldWords, rowsOf, type QueueRow } from '../parts/queue-table';
import { Slots } from '../parts/gatebar';
import { Icon } from '../parts/icons';
import { Table } from '../parts/table';
import { href, param, setParams, withParams } from '../router';
import { count, jobs as jobsWord, nameText, visible } from '../words';
import { comings } from './overview';

export function Why() {
  const now = stats.value;
  if (!now) return <><h1>Why not running</h1>{failure.value ? <Failure text={failure.value} again={() => void readStats()} /> : <Loading rows={10} of="counts" />}</>;
  const all = rowsOf(now.by_queue);
  const total = sum(all.map((row) => row.at));
  const isHeldOnly = param('held') === '1';
  const rows = all.filter((row) => row.at.waiting > 0 && (!isHeldOnly || row.at.held > 0));
  const gate = param('gate') as Gate | 'ready' | '';
  const chosen = param('queue') ? all.find((row) => row.name === param('queue')) : gate ? all.filter((row) => row.at[gate] > 0).sort((a, b) => b.at[gate] - a.at[gate])[0] : undefined;
  return (
    <>
      <div class="page-head"><h1>{count(total.held)} of {count(total.waiting)} waiting jobs are held</h1><span class="note">each is counted once, at the first gate that refuses it</span><span class="grow" />
        <Button aria-pressed={isHeldOnly} onClick={() => setParams({ held: isHeldOnly ? null : '1' }, 'replace')}>{isHeldOnly ? 'All that wait' : 'Only held'}</Button></div>
      {rows.length === 0 ? <Panel><Empty title="Nothing waits">{isHeldOnly ? 'No gate holds a job.' : 'Jobs that wait are counted here, by queue and by gate.'}</Empty></Panel> : <Matrix rows={rows} total={sum(rows.map((row) => row.at))} gate={gate} queue={chosen?.name} />}
      <div class="two-thirds"><div class="column">{chosen && gate && <Cell key={`${chosen.name} ${gate}`} row={chosen} gate={gate} />}</div><div class="column"><Openings /></div></div>
    </>
  );
}

function Matrix({ rows, total, gate, queue }: { rows: QueueRow[]; total: Standing; gate: string; queue: string | undefined }) {
  const shown = shownGates(total);
  const choose = (name: string, each: string) => setParams({ queue: name, gate: each }, 'replace');
  return (
    <section class="panel" aria-label="Queues by gates">
      <div class="table-scroll" tabIndex={0} role="group" aria-label="Queues by gates">
        <table class="table matrix">
          <thead><tr><th scope="col">Queue</th><th scope="col" class="r">Waiting</th>{shown.map((each) => <th scope="col" key={each}><b>{each}</b><small>{questions[each]}</small></th>)}<th scope="col" class="ready"><b>ready</b><small>{questions.ready}</small></th><th scope="col">Held most by</th></tr></thead>
          <tbody>
            {rows.map((row) => {
              const held = heldWords(row);
              const most = Math.max(...shown.map((each) => row.at[each]));
              return (
                <tr key={row.name} data-row={row.name} tabIndex={-1}>
                  <td><a class="row-link" data-open href={href('queues', row.name)}>{row.name}</a></td><td class="r"><Num n={row.at.waiting} strong /></td>
                  {shown.map((each) => { const n = row.at[each]; return <td key={each} class={`cell${n ? ' shut' : ''}`}>{n ? <button type="button" aria-pressed={gate === each && queue === row.name} aria-label={`${row.name}, ${each}: ${count(n)}`} onClick={() => choose(row.name, each)}><span class={n === most ? 'most' : undefined}>{count(n)}</span><svg width="50" height="4" aria-hidden="true"><rect x={50 - Math.max(2, (n / row.at.waiting) * 50)} width={Math.max(2, (n / row.at.waiting) * 50)} height="4" rx="1" /></svg></button> : <Dot />}</td>; })}
                  <td class="ready-cell">{row.at.ready ? count(row.at.ready) : <Dot />}</td>
                  <td class="held-why">{held && <><b>{held[0]}</b> {held[1]}</>}{row.at.unsorted > 0 && <small>{count(row.at.unsorted)} not sorted yet</small>}</td>
                </tr>
              );
            })}
            <tr class="totals"><td>All of these</td><td class="r">{count(total.waiting)}</td>{shown.map((each) => <td key={each} class={total[each] ? 'cell shut' : undefined}>{total[each] ? <span class="pad">{count(total[each])}</span> : <Dot />}</td>)}<td class="ready-cell">{count(total.ready)}</td><td class="held-why dim">{count(total.held)} held + {count(total.ready)} ready{total.unsorted > 0 ? ` + ${count(total.unsorted)} not sorted yet` : ''}</td></tr>
          </tbody>
        </table>
      </div>
      <ul class="matrix-cards">
        {rows.map((row) => <li key={row.name}><div><a class="row-link" href={href('queues', row.name)}>{row.name}</a><b>{count(row.at.waiting)}</b></div><ul>{shown.filter((each) => row.at[each] > 0).map((each) => <li key={each}><a href={withParams(href('why'), { queue: row.name, gate: each })}>{each} <b>{count(row.at[each])}</b></a></li>)}{row.at.ready > 0 && <li><a href={withParams(href('jobs'), { queue: row.name, waits_for: 'ready' })}>ready <b>{count(row.at.ready)}</b></a></li>}</ul></li>)}
      </ul>
    </section>
  );
}

function Cell({ row, gate }: { row: QueueRow; gate: Gate | 'ready' }) {
  const n = row.at[gate];
  const limits = useRead<List<Limit>>(gate === 'limit' || gate === 'rate' ? 'limits' : null, 3_000);
  const locks = useRead<List<Lock>>(gate === 'lock' ? `locks${query({ queue: row.name })}` : null, 3_000);
  const state = gate === 'time' ? 'queued' : 'due';
  const sample = useReadBy(n > 0 ? `cell ${row.name} ${gate}` : null, async (stop) => (await get<List<Job>>(`queues/${seg(row.name)}/jobs${query({ state, limit: 200 })}`, stop)).items.filter((job) => (gate === 'ready' ? !job.waits_for?.length : job.waits_for?.[0]?.what === gate)), 5_000);
  const full = (limits.value?.items ?? []).filter((limit) => (gate === 'rate') === (limit.rate !== undefined || limit.closed === true) && (limit.name === row.name || limit.name.startsWith(`${row.name} `) || sample.value?.some((job) => job.waits_for?.some((waits) => nameText(waits.name) === limit.name))));
  const held = (locks.value?.items ?? []).filter((lock) => lock.waiting > 0).sort((a, b) => b.waiting - a.waiting);
  const holders = new Set((sample.value ?? []).flatMap((job) => job.waits_for?.[0]?.held_by.map(nameText) ?? []));
  return (
    <Panel title={`${row.name}, ${gate}`} note={`${jobsWord(n)} stand${n === 1 ? 's' : ''} here${holders.size ? `, held by ${holders.size > 20 ? '20 or more' : holders.size} that were seen` : ''}`} side={<a href={withParams(href('jobs'), { queue: row.name, waits_for: gate })}>Show the jobs</a>}>
      {full.length > 0 && <Table name="Limits" rows={full.slice(0, 8)} id={(limit) => `${limit.name} ${nameText(limit.partition)}`} columns={[
        { key: 'name', head: 'Limit', phone: 'a', cell: (limit) => <><b>{limit.name}</b> <span class="mono dim">{visible(nameText(limit.partition))}</span></> },
        { key: 'used', head: 'Used', phone: 'c', cell: (limit) => (limit.used !== undefined ? <Slots used={limit.used} of={limit.limit ?? 0} /> : limit.rate ? `${count(limit.rate.limit)} per ${limit.rate.per}` : 'closed') },
        { key: 'of', head: 'Of', num: true, phone: 'b', cell: (limit) => (limit.used !== undefined ? <><b>{limit.used}</b> of {limit.limit}</> : '') },
        { key: 'set', head: <span class="hidden">Set</span>, class: 'c-act', cell: (limit) => (!canSet(limit) ? null : <Button class="small" why={whyNot('admin')} onClick={() => setLimit(limit)}>Set…</Button>) },
      ]} />}
      {held.length > 0 && <Table name="Locks" rows={held.slice(0, 8)} id={(lock) => `${lock.name} ${nameText(lock.key)}`} columns={[
        { key: 'key', head: 'Lock', phone: 'a', cell: (lock) => <span class="mono"><bdi>{visible(nameText(lock.key))}</bdi></span> },
        { key: 'by', head: 'Held by', phone: 'c', cell: (lock) => lock.holders.map((holder) => <Id key={nameText(holder.id)} queue={holder.queue} id={holder.id} />) },
        { key: 'waiting', head: 'Waiting', num: true, phone: 'b', cell: (lock) => <Num n={lock.waiting} strong /> },
      ]} />}
      {sample.value && sample.value.length > 0 && <Table name="Jobs at this gate" rows={sample.value.slice(0, 6)} id={(job) => `${nameText(job.id)} ${nameText(job.key)}`} columns={[
        { key: 'id', head: 'First of them', phone: 'a', cell: (job) => <Id queue={row.name} id={job.id} kind={job.kind} jobKey={job.key} opens /> },
        { key: 'state', head: 'State', phone: 'd', cell: (job) => <State job={job} /> },
        { key: 'waits', head: 'Waits', num: true, phone: 'b', cell: (job) => <Since at={job.run_at} /> },
        { key: 'held', head: 'Waits for', phone: 'c', class: 'c-rest', cell: (job) => <Held queue={row.name} waits={job.waits_for} /> },
      ]} />}
      {!sample.value && !sample.failure && n > 0 && <Loading rows={4} of="the jobs" />}
      {sample.value?.length === 0 && <div class="table-foot dim">none of the first 200 {state} jobs stands here; <a href={withParams(href('jobs'), { queue: row.name, waits_for: gate })}>look at more</a></div>}
    </Panel>
  );
}

function Openings() {
  const read = useReadBy('openings', async (stop) => {
    const now = stats.value;
    if (!now) return [];
    const windows = Object.entries(now.by_queue).filter(([, counts]) => counts.blocked_by_window > 0).slice(0, 8).map(([name]) => name);
    const opened = await each(windows, async (queue) => (await get<List<Job>>(`queues/${seg(queue)}/jobs?state=due&limit=1`, stop)).items[0]);
    const rows = (await comings(now, stop)).filter((one) => !one.what.endsWith('ticks')).map((one) => ({ at: one.at as number | null, queue: one.queue, what: one.what, link: one.link }));
    windows.forEach((queue, i) => { const at = opened[i]?.starts_at; rows.push({ at: at ? Date.parse(at) : null, queue, what: `window opens for ${count(now.by_queue[queue].blocked_by_window)}`, link: href('windows') }); });
    for (const [queue, counts] of Object.entries(now.by_queue)) {
      if (counts.without_code > 0) rows.push({ at: null, queue, what: `${jobsWord(counts.without_code)} without code`, link: href('nodes') });
      if (counts.paused && counts.length > 0) rows.push({ at: null, queue, what: 'paused', link: href('queues', queue) });
    }
    return rows.sort((a, b) => (a.at ?? Infinity) - (b.at ?? Infinity));
  }, 5_000, 'late');
  if (!read.value?.length) return null;
  return (
    <Panel title="Next openings" note="known ones, soonest first">
      <Table name="Next openings" rows={read.value.slice(0, 10)} id={(row) => `${row.queue} ${row.what}`} columns={[
        { key: 'queue', head: 'Queue', phone: 'a', cell: (row) => <a class="row-link" data-open href={row.link}><Icon name="closed" size={14} /> {row.queue}</a> },
        { key: 'what', head: 'What', phone: 'c', class: 'c-rest', cell: (row) => visible(row.what) },
        { key: 'at', head: 'At', num: true, phone: 'b', cell: (row) => (row.at === null ? <span class="dim">not known</span> : <Time at={row.at} />) },
        { key: 'in', head: 'In', num: true, phone: 'd', cell: (row) => (row.at === null ? '' : <Until at={new Date(row.at).toISOString()} />) },
      ]} />
    </Panel>
  );
}
