// The table of queues: on the Overview and, with all columns, on Queues.
import type { Counts } from '../api';
import { isViewer } from '../api';
import { pauseQueue, resumeQueue, whyNot } from '../actions';
import { heldMostBy, standing, type Standing } from '../gates';
import { useSparks } from '../history';
import { problems, rates } from '../live';
import { href, withParams } from '../router';
import { count, duration, rate, plural } from '../words';
import { Button, Dot, Num } from './bits';
import { ShareBar, Spark } from './gatebar';
import { Icon, Sign } from './icons';
import { Table, type Column } from './table';

export interface QueueRow { name: string; counts: Counts; at: Standing }
export const rowsOf = (by: Record<string, Counts>): QueueRow[] => Object.entries(by).map(([name, counts]) => ({ name, counts, at: standing(counts) }));

export function heldWords({ counts, at }: QueueRow): [string, string] | null {
  const gate = heldMostBy(at);
  if (gate === null) return null;
  if (gate === 'ready') return ['threads', `no gate: ${count(at.ready)} ready`];
  if (gate === 'time') return ['time', counts.retrying > counts.scheduled ? `${count(counts.retrying)} in back-off` : `${count(counts.scheduled)} scheduled`];
  if (gate === 'code') return ['code', 'no live node has it'];
  return [gate, `${count(at[gate])} of ${count(at.waiting)}`];
}

export function QueueTable({ rows, isFull }: { rows: QueueRow[]; isFull?: boolean }) {
  const sparks = useSparks(rows.map((row) => row.name));
  const needsPerson = new Set((problems.value ?? []).filter((each) => each.severity === 'person').map((each) => each.queue));
  const perSecond = (name: string) => rates.value[name];
  const columns: Column<QueueRow>[] = [
    { key: 'name', head: 'Queue', phone: 'a', class: 'c-queue', sort: (row) => row.name, cell: (row) => (
      <span class="queue-name">
        <span class="queue-mark">{needsPerson.has(row.name) ? <Sign severity="person" /> : row.counts.paused ? <span role="img" aria-label="paused"><Icon name="pause" size={12} /></span> : null}</span>
        <a class="row-link" href={href('queues', row.name)} data-open><bdi>{row.name}</bdi></a>
      </span>) },
    { key: 'waiting', head: 'Waiting', num: true, class: 'c-n', phone: 'b', sort: (row) => row.at.waiting, cell: (row) => <Num n={row.at.waiting} strong /> },
    { key: 'ready', head: 'Ready', num: true, class: 'c-n', sort: (row) => row.at.ready, cell: (row) => <Num n={row.at.ready} /> },
    ...(isFull ? [
      { key: 'scheduled', head: 'Scheduled', num: true, wide: true, sort: (row: QueueRow) => row.counts.scheduled, cell: (row: QueueRow) => <Num n={row.counts.scheduled} /> },
      { key: 'retrying', head: 'Retrying', num: true, wide: true, sort: (row: QueueRow) => row.counts.retrying, cell: (row: QueueRow) => <Num n={row.counts.retrying} /> },
    ] : []),
    { key: 'running', head: 'Running', num: true, class: 'c-n', sort: (row) => row.counts.running, cell: (row) => <Num n={row.counts.running} /> },
    { key: 'awaiting', head: 'Awaiting', num: true, class: 'c-n', sort: (row) => row.counts.awaiting, cell: (row) => <Num n={row.counts.awaiting} /> },
    { key: 'dead', head: 'Dead', num: true, sort: (row) => row.counts.dead, cell: (row) => (row.counts.dead ? <a class="plain" href={withParams(href('dead'), { queue: row.name })}><Num n={row.counts.dead} red={needsPerson.has(row.name)} /></a> : <Dot />) },
    { key: 'lag', head: 'Lag', num: true, class: 'c-lag', phone: 'd', sort: (row) => row.counts.lag, cell: (row) => (row.counts.lag > 0 ? duration(row.counts.lag) : <Dot />) },
    { key: 'ended', head: 'Ended per s', num: true, sort: (row) => perSecond(row.name)?.ended ?? 0, cell: (row) => { const r = perSecond(row.name); return r === undefined ? <Dot word="not known" /> : r.ended ? rate(r.ended) : <Dot />; } },
    ...(isFull ? [] : [{ key: 'spark', head: <span class="hidden">last hour</span>, wide: true, class: 'c-spark', cell: (row: QueueRow) => (sparks[row.name]?.done ? <Spark values={sparks[row.name].done!} /> : null) }]),
    { key: 'failed', head: 'Failed per min', num: true, wide: true, sort: (row) => perSecond(row.name)?.failed ?? 0, cell: (row) => { const r = perSecond(row.name); return r === undefined ? <Dot word="not known" /> : r.failed ? rate(r.failed * 60) : <Dot />; } },
    { key: 'held', head: 'Held most by', phone: 'c', class: 'c-held', cell: (row) => { const held = heldWords(row); return <span class="held-most"><ShareBar at={row.at} />{held && <span class="held-text"><b>{held[0]}</b> {held[1]}</span>}</span>; } },
    ...(isFull && !isViewer() ? [{ key: 'act', head: <span class="hidden">Actions</span>, class: 'c-act', cell: (row: QueueRow) => <Button class="small" why={whyNot('operator', row.name)} onClick={() => void (row.counts.paused ? resumeQueue(row.name) : pauseQueue(row.name))} aria-label={`${row.counts.paused ? 'Resume' : 'Pause'} ${row.name}`}>{row.counts.paused ? 'Resume' : 'Pause'}</Button> }] : []),
    ...(isFull ? [] : [{ key: 'go', head: <span class="hidden">Open</span>, class: 'c-go', wide: true, cell: () => <span class="go" aria-hidden="true"><Icon name="right" size={12} /></span> }]),
  ];
  return <Table name="Queues" columns={columns} rows={rows} id={(row) => row.name} sorts={isFull} class={isFull ? 'is-full' : ''} foot={isFull ? plural(rows.length, 'queue') : undefined} />;
}
