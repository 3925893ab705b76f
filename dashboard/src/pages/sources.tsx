// Does all come in?
import { isViewer, type List, type Source } from '../api';
import { resetSource, whyNot } from '../actions';
import { useRead } from '../data';
import { Button, Command, Dot, Empty, Failure, Loading, Num, Panel, Time } from '../parts/bits';
import { Sign } from '../parts/icons';
import { Table, type Column } from '../parts/table';
import { href } from '../router';
import { age, count, jobs, plural, visible } from '../words';

const refusedOf = (source: Source) => Object.values(source.refused).reduce((all, n) => all + n, 0);
const reasonsOf = (source: Source) => Object.entries(source.refused).map(([why, n]) => `${count(n)} ${why}`).join(', ');

// As `ordo sources` says it.
export const stateOf = (source: Source) => (source.trouble ? 'trouble' : source.full ? 'full' : source.active ? 'active' : 'no node takes');
export const handOvers = (n: number) => `${count(n)} failed ${n === 1 ? 'job waits' : 'jobs wait'} to be brought into Sidekiq's set of retries`;
// As a rule they wait a second; with nobody to bring them they wait for a person.
export const isStuck = (source: Source) => source.hand_overs > 0 && (!source.active || source.trouble !== null);

function State({ source }: { source: Source }) {
  const state = stateOf(source);
  const why = state === 'full' ? 'as many jobs of its queues as ahead says are due or run: it takes nothing more until there are fewer' : undefined;
  return <span class={state === 'active' ? undefined : 'dim'} title={why}>{state}</span>;
}

export function Sources() {
  const read = useRead<List<Source>>('sources', 3_000);
  const rows = read.value?.items ?? [];
  const troubled = rows.filter((row) => row.trouble);
  const left = rows.reduce((all, row) => all + row.hand_overs, 0);
  const columns: Column<Source>[] = [
    { key: 'name', head: 'Source', phone: 'a', sort: (row) => row.name, cell: (row) => <><span class="queue-name"><span class="queue-mark">{row.trouble ? <Sign severity="person" /> : null}</span><b>{row.name}</b></span><small class="indent">{row.type} at {visible(row.origin)}</small></> },
    { key: 'state', head: 'State', phone: 'b', cell: (row) => <State source={row} /> },
    { key: 'lists', head: 'Takes from', phone: 'c', class: 'c-rest', cell: (row) => row.queues.join(', ') },
    { key: 'taken', head: 'Taken', num: true, sort: (row) => row.taken, cell: (row) => <Num n={row.taken} /> },
    { key: 'refused', head: 'Refused', num: true, phone: 'd', phoneWord: 'refused', sort: refusedOf, cell: (row) => <span title={reasonsOf(row)}><Num n={refusedOf(row)} /></span> },
    { key: 'waiting', head: 'Waiting', num: true, sort: (row) => row.waiting, cell: (row) => <Num n={row.waiting} /> },
    { key: 'lag', head: 'Lag', num: true, sort: (row) => row.lag ?? 0, cell: (row) => (row.lag === null ? <Dot word="none" /> : <span title="age of the oldest job that waits">{age(row.lag)}</span>) },
    { key: 'last', head: 'Last', num: true, wide: true, cell: (row) => (row.last ? <Time at={row.last} /> : <span class="dim">never</span>) },
    ...(isViewer() || !troubled.length ? [] : [{ key: 'act', head: <span class="hidden">Actions</span>, class: 'c-act p-e', cell: (row: Source) => (row.trouble ? <span class="row-actions">
      <Button class="small" why={whyNot('admin')} aria-label={`Reset ${row.name}`} onClick={() => resetSource(row.name)}>Reset…</Button>
    </span> : null) }]),
  ];
  return (
    <>
      <div class="page-head"><h1>{read.value ? plural(rows.length, 'source') : 'Sources'}</h1>{rows.length > 0 && <span class="note">{jobs(rows.reduce((all, row) => all + row.waiting, 0))} wait to be taken{left > 0 ? `; ${handOvers(left)}` : ''}{troubled.length > 0 ? '; figures are up to a minute old while a server does not answer' : ''}</span>}</div>
      {(troubled.length > 0 || rows.some((row) => row.others.length > 0 || isStuck(row) || refusedOf(row) > 0)) && <Panel class="problems" title="What is wrong with them">
        <ul class="lines one">
          {troubled.map((row) => <li key={row.name}><span class="wrong"><Sign severity="person" /><span><b>{row.name}</b> {visible(row.trouble ?? '')}</span></span></li>)}
          {rows.filter((row) => row.others.length > 0).map((row) => <li key={`${row.name} others`}><span class="wrong"><Sign severity="watch" /><span><b>{row.name}</b> Sidekiq takes jobs from its lists, too: {row.others.map(visible).join(', ')}</span></span></li>)}
          {rows.filter(isStuck).map((row) => <li key={`${row.name} retries`}><span class="wrong"><Sign severity="watch" /><span><b>{row.name}</b> {handOvers(row.hand_overs)}</span></span></li>)}
          {rows.filter((row) => refusedOf(row) > 0).map((row) => <li key={`${row.name} refused`}><span class="wrong"><Sign severity="watch" /><span><b>{row.name}</b> {jobs(refusedOf(row))} went to the <a href={href('dead')}>dead</a> as they are: {reasonsOf(row)}</span></span></li>)}
        </ul>
      </Panel>}
      {read.failure && !read.value ? <Failure text={read.failure} again={read.again} /> : !read.value ? <Panel><Loading rows={3} of="sources" /></Panel>
        : !rows.length ? <Panel><Empty title="No sources">Jobs that clients of Sidekiq, Resque and Verk push are taken by sources of the config: <Command text={'[source.rails] type = "sidekiq" url = "redis://…" queues = ["default"] queue = "rails"'} /></Empty></Panel>
          : <section class="panel two-rows" aria-label="Sources"><Table name="Sources" columns={columns} rows={rows} id={(row) => row.name} sorts /></section>}
    </>
  );
}
