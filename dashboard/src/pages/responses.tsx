// What do we await, for how long?
import { useState } from 'preact/hooks';
import { get, isViewer, query, refusal, seg, type Job, type Letter, type List, type Wait } from '../api';
import { cancelJob, respond } from '../actions';
import { each, useReadBy } from '../data';
import { stats } from '../live';
import { Button, Command, Dot, Empty, Failure, Id, Loading, Mono, Num, Panel, Segments, Since, Time, Until } from '../parts/bits';
import { Meter } from '../parts/gatebar';
import { Icon } from '../parts/icons';
import { Payload } from '../parts/payload';
import { Table } from '../parts/table';
import { param, setParams } from '../router';
import { bytes, count, jobs, ms, nameText, now, roundDuration, visible, middle } from '../words';

interface Row extends Wait { queue: string }
interface LateRow extends Letter { queue: string }
const rowId = (row: Row) => `${row.queue} ${nameText(row.key)}`;
const shown = 100;

export function Responses() {
  const tab = ['buffered', 'late'].includes(param('tab')) ? param('tab') : 'expected';
  const counts = stats.value?.by_queue;
  const queues = Object.entries(counts ?? {}).filter(([, each]) => tab === 'buffered' || (tab === 'late' ? each.dead_letters > 0 : each.awaiting > 0)).map(([name]) => name);
  const read = useReadBy(counts ? `responses ${tab} ${queues.join()}` : null, async (stop) => {
    const lists = await each(queues, (queue) => get<List<Wait & Letter>>(`responses/${seg(queue)}?state=${tab}`, stop));
    return lists.flatMap((list, i) => (list?.items ?? []).map((row) => ({ ...row, queue: queues[i] })));
  }, 3_000);
  const awaiting = stats.value?.total.awaiting ?? 0;
  const late = stats.value?.total.dead_letters ?? 0;
  return (
    <>
      <div class="page-head"><h1>{counts ? `${jobs(awaiting)} ${awaiting === 1 ? 'awaits' : 'await'} a response` : 'Responses'}</h1><span class="note">they use no thread</span><span class="grow" />
        <Segments label="Show" value={tab} choices={[['expected', `Awaiting ${count(awaiting)}`], ['buffered', 'Buffered'], ['late', `Late or unknown ${count(late)}`]]} choose={(next) => setParams({ tab: next === 'expected' ? null : next, key: null, queue: null })} /></div>
      {read.failure && !read.value ? <Failure text={read.failure} again={read.again} /> : !read.value ? <Panel><Loading rows={6} of="responses" /></Panel>
        : tab === 'late' ? <Late rows={read.value} /> : tab === 'buffered' ? <Buffered rows={read.value} /> : <Expected rows={read.value} again={read.again} />}
    </>
  );
}

function Expected({ rows, again }: { rows: Row[]; again: () => void }) {
  const order = rows.toSorted((a, b) => ms(a.since) - ms(b.since));
  const chosen = order.find((row) => nameText(row.key) === param('key') && row.queue === param('queue'));
  const behind = useReadBy(order.length ? `behind ${[...new Set(order.map((row) => row.queue))].join()}` : null, (stop) => behindOf([...new Set(order.map((row) => row.queue))].slice(0, 8), stop), 10_000);
  if (!order.length) return <Panel><Empty title="No job awaits a response">Jobs that have run and wait for an answer are listed here. A worker answers <Command text={'{"results":{"42":{"wait":"invoice-7","timeout":60}}}'} /></Empty></Panel>;
  const numberBehind = (row: Row) => (behind.value && row.job ? behind.value.get(`${row.queue} ${nameText(row.job.id)}`) ?? 0 : null);
  const first = Math.min(...order.map((row) => ms(row.since)));
  return (
    <div class={chosen ? 'two-thirds job' : ''}>
      <div class="column">
        {order.length > 1 && <Ages rows={order} chosen={chosen} oldest={first} />}
        <section class="panel" aria-label="Awaited responses">
          <Table name="Awaited responses" rows={order.slice(0, shown)} id={rowId} isSelected={(row) => row === chosen} foot={<span>{count(Math.min(shown, order.length))} of {count(order.length)}, oldest first</span>} columns={[
            { key: 'key', head: 'Response key', phone: 'a', cell: (row) => <button type="button" class="link mono" data-open onClick={() => setParams({ key: nameText(row.key), queue: row.queue }, 'replace')}><bdi>{middle(visible(nameText(row.key)), 28)}</bdi></button> },
            { key: 'queue', head: 'Queue', cell: (row) => row.queue },
            { key: 'job', head: 'Job', phone: 'c', cell: (row) => (row.job ? <Id queue={row.queue} id={row.job.id} kind={row.job.kind} jobKey={row.job.key} /> : <Dot word="none" />) },
            { key: 'asked', head: 'Asked', num: true, wide: true, cell: (row) => <Time at={row.since} /> },
            { key: 'age', head: 'Age', num: true, phone: 'b', cell: (row) => <b><Since at={row.since} /></b> },
            { key: 'of', head: 'of its timeout', wide: true, cell: (row) => <Meter share={(now.value - ms(row.since)) / Math.max(1, ms(row.deadline) - ms(row.since))} strong={row === chosen} /> },
            { key: 'ends', head: 'Ends in', num: true, phone: 'd', cell: (row) => <Until at={row.deadline} /> },
            { key: 'behind', head: 'Behind it', num: true, wide: true, cell: (row) => <Num n={numberBehind(row)} strong /> },
          ]} />
        </section>
      </div>
      {chosen && <div class="column side"><Answer key={rowId(chosen)} row={chosen} behind={numberBehind(chosen)} again={again} /></div>}
    </div>
  );
}

/// How many of the due jobs that were read wait for each holder.
async function behindOf(queues: string[], stop: AbortSignal): Promise<Map<string, number>> {
  const lists = await each(queues, (queue) => get<List<Job>>(`queues/${seg(queue)}/jobs${query({ state: 'due', limit: 500 })}`, stop), 3);
  const behind = new Map<string, number>();
  lists.forEach((list, i) => { for (const job of list?.items ?? []) for (const holder of job.waits_for?.[0]?.held_by.slice(0, 1) ?? []) { const id = `${queues[i]} ${nameText(holder)}`; behind.set(id, (behind.get(id) ?? 0) + 1); } });
  return behind;
}

const drawnQueues = 6;
function Ages({ rows, chosen, oldest }: { rows: Row[]; chosen: Row | undefined; oldest: number }) {
  const at = now.value;
  const queues = [...new Set(rows.map((row) => row.queue))].slice(0, drawnQueues);
  const longest = Math.max(at - oldest, ...rows.map((row) => ms(row.deadline) - ms(row.since)), 60_000);
  const x = (age: number) => 120 + Math.min(1, Math.max(0, age / longest)) * 640;
  const height = queues.length * 30 + 26;
  return (
    <Panel title="By age" class="ages-panel" note="one mark a job; the bar is where its timeout ends it">
      <svg class="ages" viewBox={`0 0 800 ${height}`} role="img" aria-label={`ages of ${rows.length} awaited responses; the table says the same`}>
        {[0, 0.25, 0.5, 0.75, 1].map((share) => <g key={share}><path class="grid" d={`M${x(share * longest)} 0V${height - 20}`} /><text x={x(share * longest)} y={height - 6} text-anchor="middle">{roundDuration((share * longest) / 1000)}</text></g>)}
        {queues.map((queue, i) => {
          const mine = rows.filter((row) => row.queue === queue);
          const timeout = Math.max(...mine.map((row) => ms(row.deadline) - ms(row.since)));
          return (
            <g key={queue} transform={`translate(0 ${i * 30 + 2})`}>
              <text x="0" y="16">{middle(queue, 14)} {mine.length}</text>
              <path class="late" d={`M${x(timeout)} 2V22`} />
              {mine.map((row) => <path key={rowId(row)} class={row === chosen ? 'chosen' : 'mark'} d={`M${x(at - ms(row.since))} 4V20`} />)}
            </g>
          );
        })}
      </svg>
    </Panel>
  );
}

function Answer({ row, behind, again }: { row: Row; behind: number | null; again: () => void }) {
  const [body, setBody] = useState('{}');
  const [messageId, setMessageId] = useState(`by-hand-${Date.now().toString(36)}`);
  const [failure, setFailure] = useState('');
  const may = refusal('operator', row.queue);
  const close = () => setParams({ key: null, queue: null }, 'replace');
  const submit = async (event: Event) => {
    event.preventDefault();
    if (may) return;
    setFailure('');
    try {
      await respond(row.queue, row.key, body, messageId);
      close();
      again();
    } catch (error) { setFailure(error instanceof Error ? error.message : String(error)); }
  };
  return (
    <Panel class="answer" title={<>Answer <bdi>{visible(middle(nameText(row.key), 24))}</bdi> by hand</>} side={<button type="button" class="icon-button" aria-label="close" onClick={close}><Icon name="close" size={14} /></button>}>
      <dl class="facts">
        {row.job && <div><dt>job</dt><dd><Id queue={row.queue} id={row.job.id} kind={row.job.kind} jobKey={row.job.key} /> of <Mono text={row.job.key} /></dd></div>}
        <div><dt>asked</dt><dd><Time at={row.since} /></dd></div>
        <div><dt>ends</dt><dd><Time at={row.deadline} />, then it fails with kind timeout</dd></div>
        {behind !== null && <div><dt>behind it</dt><dd>{jobs(behind)}</dd></div>}
      </dl>
      {isViewer() ? null : <form onSubmit={submit}>
        <label class="field"><span>Body</span><textarea rows={6} spellcheck={false} value={body} onInput={(event) => setBody(event.currentTarget.value)} /><small>JSON, {bytes(new Blob([body]).size)}</small></label>
        <label class="field"><span>Message id</span><input class="mono" value={messageId} spellcheck={false} autocomplete="off" onInput={(event) => setMessageId(event.currentTarget.value)} /><small>A second answer with this id would be a duplicate.</small></label>
        {failure && <div class="failure" role="alert">{failure}</div>}
        <footer>
          {row.job && <Button why={may} onClick={() => cancelJob({ ...row.job!, queue: row.queue, state: 'awaiting', retry_count: -1, error: null }, 'It stops waiting and ends as cancelled; an answer that comes later is late. What waits behind its key, lock or limit can move.')}>Cancel job…</Button>}
          <button type="submit" class="button main" aria-disabled={may ? true : undefined} title={may || undefined}>Answer</button>
        </footer>
        <p class="dim">The sender may still answer before you do: exactly one of answer, timeout and cancel wins.</p>
      </form>}
    </Panel>
  );
}

function Buffered({ rows }: { rows: Row[] }) {
  if (!rows.length) return <Panel><Empty title="Nothing is buffered">Responses that came before a job waited for them are kept here, for as long as <code>response_ttl</code> of their queue says.</Empty></Panel>;
  return <section class="panel" aria-label="Buffered responses"><Table name="Buffered responses" rows={rows.slice(0, shown)} id={rowId} columns={[
    { key: 'key', head: 'Response key', phone: 'a', cell: (row) => <Mono text={row.key} /> }, { key: 'queue', head: 'Queue', phone: 'c', cell: (row) => row.queue },
    { key: 'came', head: 'Came', num: true, phone: 'b', cell: (row) => <Time at={row.since} /> }, { key: 'until', head: 'Kept until', num: true, phone: 'd', cell: (row) => <Time at={row.deadline} /> },
  ]} /></section>;
}

function Late({ rows }: { rows: LateRow[] }) {
  if (!rows.length) return <Panel><Empty title="None came late">Responses that no job handled are listed here.</Empty></Panel>;
  return <section class="panel" aria-label="Late responses"><Table name="Late responses" rows={rows.toSorted((a, b) => ms(b.at) - ms(a.at)).slice(0, shown)} id={(row) => `${row.queue} ${nameText(row.key)} ${nameText(row.message_id)} ${row.at}`} columns={[
    { key: 'key', head: 'Response key', phone: 'a', cell: (row) => <Mono text={row.key} /> }, { key: 'queue', head: 'Queue', cell: (row) => row.queue }, { key: 'why', head: 'Why', phone: 'd', cell: (row) => row.why },
    { key: 'job', head: 'Job', wide: true, cell: (row) => (row.job ? <Id queue={row.queue} id={row.job.id} kind={row.job.kind} jobKey={row.job.key} /> : <Dot word="none" />) },
    { key: 'at', head: 'Came', num: true, phone: 'b', cell: (row) => <Time at={row.at} /> }, { key: 'body', head: 'Body', phone: 'c', class: 'c-rest', cell: (row) => <Payload payload={row.body} isShort /> },
  ]} /></section>;
}
