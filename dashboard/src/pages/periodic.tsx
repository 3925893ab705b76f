// What ticks next, did the last?
import { isViewer, type List, type Periodic } from '../api';
import { pausePeriodic, resumePeriodic, runPeriodic, whyNot } from '../actions';
import { cronWords } from '../cron';
import { useRead } from '../data';
import { Button, Command, Dot, Empty, Failure, Id, In, Loading, Num, Panel, Time } from '../parts/bits';
import { Icon, Sign } from '../parts/icons';
import { Table, type Column } from '../parts/table';
import { href } from '../router';
import { ms, nameText, now, plural, visible } from '../words';

/// The job of an earlier tick that the next ones wait for or are skipped for. Null: none.
export function heldBack(row: Periodic): { id: string; why: string; effect: string } | null {
  const effect = row.overlap === 'queue' ? 'jobs of later ticks wait behind it' : 'ticks are skipped while it is there';
  if (row.failing) return { id: row.failing, why: `failed ${plural(row.failures ?? 0, 'time')}`, effect };
  if (row.held_by) return { id: row.held_by, why: 'is not over', effect };
  return null;
}

function Mark({ row }: { row: Periodic }) {
  if (row.paused) return <span role="img" aria-label="paused"><Icon name="pause" size={12} /></span>;
  return heldBack(row) || !row.stated ? <Sign severity="watch" /> : null;
}

function Below({ row }: { row: Periodic }) {
  const held = heldBack(row);
  if (!row.stated) return <>no living node states it: it pushes nothing</>;
  if (held) return <span title={held.effect}>job <Id queue={row.queue} id={held.id} kind={row.kind} jobKey={row.key} most={16} /> {held.why}</span>;
  return <>pushes to <a class="plain" href={href('queues', row.queue)}>{row.queue}</a>{nameText(row.kind) !== row.queue ? `, kind ${visible(nameText(row.kind))}` : ''}</>;
}

export function PeriodicPage() {
  const read = useRead<List<Periodic>>('periodic', 3_000);
  const rows = read.value?.items ?? [];
  const paused = rows.filter((row) => row.paused).length;
  const held = rows.filter((row) => !row.paused && heldBack(row)).length;
  const next = rows.filter((row) => row.stated && !row.paused && row.next[0]).sort((a, b) => ms(a.next[0]) - ms(b.next[0]))[0];
  const columns: Column<Periodic>[] = [
    { key: 'name', head: 'Schedule', phone: 'a', sort: (row) => row.name, cell: (row) => <><span class="queue-name"><span class="queue-mark"><Mark row={row} /></span><b>{row.name}</b></span><small class="indent"><Below row={row} /></small></> },
    { key: 'rule', head: 'Rule', phone: 'c', cell: (row) => <><span>{row.every ? `every ${row.every}` : row.cron ? cronWords(row.cron) ?? row.cron : ''}</span><small class="mono">{row.every ? `every = "${row.every}"` : row.cron}{row.tz ? ` ${row.tz}` : ''}</small></> },
    { key: 'last', head: 'Last', num: true, wide: true, sort: (row) => ms(row.last) || 0, cell: (row) => (row.last ? <Time at={row.last} /> : <span class="dim">never</span>) },
    { key: 'next', head: 'Next', num: true, phone: 'b', sort: (row) => ms(row.next[0]) || Infinity, cell: (row) => (row.paused ? <span class="dim">paused</span> : row.next[0] ? <><Time at={row.next[0]} /><small><In at={row.next[0]} /></small></> : <span class="dim">never</span>) },
    { key: 'then', head: 'Then', num: true, wide: true, cell: (row) => (row.paused ? [] : row.next.slice(1, 3)).map((at, i) => <span key={at}>{i > 0 && ', '}<Time at={at} /></span>) },
    { key: 'pushed', head: 'Pushed', num: true, sort: (row) => row.pushed, cell: (row) => <Num n={row.pushed} /> },
    { key: 'missed', head: 'Missed', num: true, phone: 'd', phoneWord: 'missed', sort: (row) => row.missed_ticks, cell: (row) => <span title={`missed = ${row.missed}`}><Num n={row.missed_ticks} /></span> },
    { key: 'skipped', head: 'Skipped', num: true, sort: (row) => row.skipped_ticks ?? 0, cell: (row) => (row.skipped_ticks === undefined ? <Dot word="not known" /> : <span title={`ticks while the job of an earlier one was there; overlap = ${row.overlap}`}><Num n={row.skipped_ticks} /></span>) },
    ...(isViewer() ? [] : [{ key: 'act', head: <span class="hidden">Actions</span>, class: 'c-act p-e', cell: (row: Periodic) => <span class="row-actions">
      <Button class="small" why={whyNot('operator', row.queue)} aria-label={`Run now: ${row.name}`} onClick={() => runPeriodic(row.name, row.queue)}>Run now…</Button>
      <Button class="small" why={whyNot('operator', row.queue)} aria-label={`${row.paused ? 'Resume' : 'Pause'} ${row.name}`} onClick={() => void (row.paused ? resumePeriodic(row.name) : pausePeriodic(row.name)).then(read.again)}>{row.paused ? 'Resume' : 'Pause'}</Button>
    </span> }]),
  ];
  return (
    <>
      <div class="page-head"><h1>{read.value ? plural(rows.length, 'schedule') : 'Periodic'}</h1>{rows.length > 0 && <span class="note">{next ? <>next: {next.name} <In at={next.next[0]} /></> : 'none ticks'}{paused ? `, ${paused} paused` : ''}{held ? `, ${held} held back` : ''}</span>}<span class="grow" /></div>
      {read.failure && !read.value ? <Failure text={read.failure} again={read.again} /> : !read.value ? <Panel><Loading rows={4} of="schedules" /></Panel>
        : !rows.length ? <Panel><Empty title="No schedules">Schedules of the config push a job at each tick: <Command text={'[periodic.nightly] queue = "orders" cron = "0 5 * * mon-fri"'} /></Empty></Panel>
          : <section class="panel two-rows" aria-label="Schedules"><Table name="Schedules" columns={columns} rows={rows} id={(row) => row.name} sorts isSelected={(row) => !!row.next[0] && ms(row.next[0]) - now.value < 1000 && ms(row.next[0]) > now.value - 1000} /></section>}
    </>
  );
}
