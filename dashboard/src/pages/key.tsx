// Who is in line, what holds them?
import { isViewer, query, seg, get, type Job, type List } from '../api';
import { change, countOf, whyNot } from '../actions';
import { chainOf } from '../chain';
import { useReadBy } from '../data';
import { gates, plainGates, type Gate } from '../gates';
import { toast } from '../notices';
import { Button, Command, copy, Empty, Failure, Held, Id, Loading, Num, Panel, Segments, Since, State, Time, jobHref } from '../parts/bits';
import { CauseAction, Chain } from '../parts/chain';
import { Table } from '../parts/table';
import { href, param, setParams, withParams } from '../router';
import { count, jobs as jobsWord, middle, nameText, plural, visible } from '../words';

const most = 500;
const drawn = 60;
const tableRows = 50;

export function KeyPage({ queue, name }: { queue: string; name: string }) {
  const read = useReadBy(`line ${queue} ${name}`, (stop) => get<List<Job>>(`queues/${seg(queue)}/jobs${query({ key: name, limit: most })}`, stop), 3_000);
  const jobs = read.value?.items ?? [];
  const held = jobs.find((job) => job.waits_for?.[0] && job.waits_for[0].what !== 'time');
  const chain = useReadBy(held ? `chain of ${queue} ${name} ${nameText(held.id)} ${held.waits_for![0].what}` : null, (stop) => chainOf(held!, stop), 5_000);
  const isTable = param('as') === 'table';
  const head = (
    <div class="page-head">
      <h1><bdi>{visible(name)}</bdi></h1>
      {read.value && <span class="note">{jobsWord(jobs.length)}{read.value.next ? ' or more' : ''} in line</span>}
      <span class="grow" />
      <div class="actions" data-actions>
        <Button icon="link" onClick={() => copy(location.href, 'the link')}>Copy link</Button>
        <a class="button plain" href={withParams(href('jobs'), { queue, key: name })}>Jobs of this key</a>
        {!isViewer() && <Button kind="bad" why={whyNot('operator', queue) || (jobs.some((job) => job.state === 'queued') ? '' : 'none waits')} onClick={() => { countOf(queue, 'jobs', { state: 'queued', key: name }).then((meant) => change('jobs/cancel', [meant], read.again), (error: Error) => toast(error.message, { isBad: true })); }}>Cancel waiting…</Button>}
      </div>
    </div>
  );
  if (read.isUnknown) return <>{head}<Panel><Empty title="No queue has this name"><a href={href('queues')}>All queues</a></Empty></Panel></>;
  if (!read.value) return <>{head}{read.failure ? <Failure text={read.failure} again={read.again} /> : <Loading rows={8} of="the line" />}</>;
  if (!jobs.length) return <>{head}<Panel><Empty title="Nothing is in line">Jobs of this key that wait, run or await are listed here. <Command text={`ordo push ${queue} --key '${name}' --payload '{"n":1}'`} /></Empty></Panel></>;
  const first = held && nameText(held.id);
  const columns = [
    { key: 'place', head: 'Place', num: true, cell: (row: Placed) => <span class="dim">{row.place}</span> },
    { key: 'job', head: 'Job', phone: 'a' as const, cell: (row: Placed) => <Id queue={queue} id={row.job.id} kind={row.job.kind} jobKey={row.job.key} opens /> },
    { key: 'kind', head: 'Kind', wide: true, cell: (row: Placed) => visible(nameText(row.job.kind)) },
    { key: 'state', head: 'State', phone: 'd' as const, cell: (row: Placed) => <State job={row.job} /> },
    { key: 'run_at', head: 'Run at', num: true, cell: (row: Placed) => <Time at={row.job.run_at} /> },
    { key: 'waits', head: 'Waits', num: true, phone: 'b' as const, cell: (row: Placed) => <Since at={row.job.state === 'queued' ? row.job.run_at : null} /> },
    { key: 'payloads', head: 'Payloads', num: true, wide: true, cell: (row: Placed) => <Num n={row.job.payloads?.length ?? 0} /> },
    { key: 'attempts', head: 'Attempts', num: true, wide: true, cell: (row: Placed) => <Num n={row.job.retry_count + 1} /> },
    { key: 'held', head: 'Waits for', phone: 'c' as const, class: 'c-rest', cell: (row: Placed) => <Held queue={queue} waits={row.job.waits_for} /> },
  ];
  const placed = jobs.map((job, i): Placed => ({ place: i + 1, job }));
  const isAll = param('all') === '1' || placed.length <= tableRows;
  return (
    <>
      {head}
      {chain.value && chain.value.length > 1 && <Panel title={jobs.some((job) => job.state === 'running') ? 'What the others wait for' : 'Why nothing of this key runs'} note="the last is the cause" side={!isViewer() && <CauseAction links={chain.value} />}><Chain links={chain.value} /></Panel>}
      <Panel title="The line" class={`line-panel${isTable ? ' is-table' : ''}`} note="each job stands before the first gate that refuses it; the next to start is nearest the bar" side={<Segments label="The line as" value={isTable ? 'table' : 'line'} choices={[['line', 'Line'], ['table', 'Table only']]} choose={(as) => setParams({ as: as === 'table' ? 'table' : null }, 'replace')} />}>
        {!isTable && (jobs.length > drawn ? <Strip placed={placed} queue={queue} /> : <Line placed={placed} queue={queue} />)}
      </Panel>
      <section class="panel" aria-label="The line as a table">
        <Table name="The line" columns={columns} rows={isAll ? placed : placed.slice(0, tableRows)} id={(row) => `${row.place} ${nameText(row.job.id)}`} isSelected={(row) => nameText(row.job.id) === first}
          foot={!isAll ? <><span>{plural(placed.length - tableRows, 'more job', 'more jobs')}{read.value.next ? ' or more' : ''}</span><button type="button" class="link" onClick={() => setParams({ all: '1' }, 'replace')}>Show all</button></> : read.value.next ? <span>the first {count(most)}; <a href={withParams(href('jobs'), { queue, key: name })}>all of them</a></span> : undefined} />
      </section>
    </>
  );
}

interface Placed { place: number; job: Job }
const gateOf = (job: Job): Gate | 'ready' | 'running' => (job.state !== 'queued' ? 'running' : ((job.waits_for?.[0]?.what as Gate | undefined) ?? 'ready'));

function Line({ placed, queue }: { placed: Placed[]; queue: string }) {
  const at = (gate: string) => placed.filter(({ job }) => gateOf(job) === gate);
  const running = at('running');
  const shown = gates.filter((gate) => plainGates.includes(gate) || at(gate).length > 0);
  return (
    <div class="line-wrap" tabIndex={0} role="group" aria-label="The line; the table below says the same">
      <div class="line">
        {[...shown, 'ready' as const].map((gate) => {
          const here = at(gate);
          if (gate === 'ready' && !here.length) return null;
          return (
            <div key={gate} class={`line-gate ${here.length && gate !== 'ready' ? 'closed' : 'open'}`}>
              <div class="line-gate-name"><b>{gate}</b><small>{here.length && gate !== 'ready' ? 'closed' : 'open'}</small></div>
              <div class="line-jobs">{here.map(({ place, job }) => <a key={`${place}`} class={`line-job${place === 1 ? ' first' : ''}`} href={jobHref(queue, job.id, job.kind, job.key)}><small>{place}</small><span class="mono"><bdi>{middle(visible(nameText(job.id)), 16)}</bdi></span></a>)}</div>
              <div class="line-note">{here.length ? noteOf(gate, here) : ''}</div>
            </div>
          );
        })}
        <div class="line-runs">{running.length ? running.map(({ job }) => <a key={nameText(job.id)} href={jobHref(queue, job.id, job.kind, job.key)}><State job={job} /> <span class="mono"><bdi>{middle(visible(nameText(job.id)), 16)}</bdi></span></a>) : <b>no run now</b>}</div>
      </div>
    </div>
  );
}

function noteOf(gate: Gate | 'ready', here: Placed[]) {
  const holder = nameText(here[0].job.waits_for?.[0]?.held_by[0]);
  const name = nameText(here[0].job.waits_for?.[0]?.name);
  if (gate === 'key' && holder) return `${count(here.length)} behind ${middle(visible(holder), 18)}`;
  if (gate === 'time') return `${count(here.length)} later`;
  return `${count(here.length)} ${name ? `for ${middle(visible(name), 16)}` : ''}`;
}

/// Over 60 jobs: counts at each gate, with the first and the last.
function Strip({ placed, queue }: { placed: Placed[]; queue: string }) {
  const groups = [...gates, 'ready', 'running'].map((gate) => ({ gate, here: placed.filter(({ job }) => gateOf(job) === gate) })).filter(({ here }) => here.length > 0);
  return (
    <ol class="chain">
      {groups.map(({ gate, here }) => <li key={gate}><div class="chain-box"><b>{gate}</b><span>{plural(here.length, 'job')}</span><span>first <Id queue={queue} id={here[0].job.id} most={18} />{here.length > 1 && <>, last <Id queue={queue} id={here.at(-1)!.job.id} most={18} /></>}</span></div></li>)}
    </ol>
  );
}
