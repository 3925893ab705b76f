// Which is behind?
import { failure, readStats, stats } from '../live';
import { Command, Empty, Failure, Loading } from '../parts/bits';
import { QueueTable, rowsOf } from '../parts/queue-table';
import { waitingOf } from '../pages';
import { param, setParams } from '../router';
import { count, plural } from '../words';

export function Queues() {
  const now = stats.value;
  if (!now) return <><h1>Queues</h1>{failure.value ? <Failure text={`The counts could not be read: ${failure.value}`} again={() => void readStats()} /> : <Loading rows={12} of="queues" />}</>;
  const all = rowsOf(now.by_queue);
  const q = param('q').toLowerCase();
  const rows = q ? all.filter((row) => row.name.includes(q)) : all;
  const paused = all.filter((row) => row.counts.paused).length;
  return (
    <>
      <div class="page-head"><h1>{plural(all.length, 'queue')}</h1><span class="note">{count(waitingOf(now).waiting)} jobs wait{paused ? `, ${paused} paused` : ''}</span><span class="grow" />
        <input class="small-filter" data-filter type="search" aria-label="Filter queues by name" placeholder="Filter by name" value={param('q')} onInput={(event) => setParams({ q: event.currentTarget.value || null }, 'replace')} /></div>
      <section class="panel" aria-label="Queues">
        {rows.length ? <QueueTable rows={rows} isFull /> : <Empty title="No such queue">Queues of the config and of the store are listed here. A push to a new one needs it in the config: <Command text="ordo queues" /></Empty>}
      </section>
    </>
  );
}
