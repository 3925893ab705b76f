// Where is the job?
import { useEffect, useMemo, useState } from 'preact/hooks';
import { get, isViewer, query, seg, type Counts, type Job, type List } from '../api';
import { change, changeSome, countOf, exportHref, whyNot } from '../actions';
import { each, useReadBy } from '../data';
import { gates, standing, sum, plainGates } from '../gates';
import { find, isScan, records, scanRows, serverFilter, type Found, type Wanted } from '../joblist';
import { stats } from '../live';
import { Bulk } from '../parts/bulk';
import { Button, Command, Dot, Empty, Failure, Held, Id, Loading, Mono, Num, Panel, Since, State, Time, keyHref } from '../parts/bits';
import { FilterBar, type Filter } from '../parts/filterbar';
import { Icon } from '../parts/icons';
import { Table, type Column, type Selection } from '../parts/table';
import { go, href, param, params, setParams, withParams } from '../router';
import { kept } from '../storage';
import { ask, toast } from '../notices';
import { count, jobs as jobsWord, nameText, time, plural, visible } from '../words';

const filters: Filter[] = [
  { name: 'queue', what: 'jobs of a queue', note: 'exact' }, { name: 'state', what: 'state', note: 'exact' },
  { name: 'id', what: 'the id', note: 'exact' }, { name: 'key', what: 'the key', note: 'exact' }, { name: 'kind', what: 'the kind', note: 'exact' },
  { name: 'error', what: 'text in the last error', note: 'exact' }, { name: 'waits_for', what: 'the gate that refuses it', note: `looks at ${count(scanRows)} rows` },
];
const textFilter: Filter = { name: 'q', what: 'text in id, key, payload or error', note: `scans ${count(scanRows)} rows a page` };
const liveStates = ['due', 'scheduled', 'retrying', 'running', 'awaiting'] as const;
const queued = ['', 'due', 'scheduled', 'retrying', 'queued'];

const views = kept<{ name: string; query: string }[]>('views', []);
export const rowId = (job: Job) => `${job.queue} ${nameText(job.kind)} ${nameText(job.key)} ${nameText(job.id)}${job.ended ? ` ${job.ended}` : ''}`;

function wantedOf(): Wanted {
  return { queue: param('queue'), state: param('state'), waitsFor: param('waits_for'), id: param('id'), key: param('key'), kind: param('kind'), error: param('error'), q: param('q'), sort: param('sort').replace('-', ''), desc: param('sort').startsWith('-') ? 'true' : '', cursor: param('cursor') };
}

export function Jobs() {
  const wanted = wantedOf();
  const now = stats.value;
  const counts = wanted.queue ? now?.by_queue[wanted.queue] : now?.total;
  const side = <>{counts && !isScan(wanted) && !hasNarrow(wanted) && <span class="note">{matching(counts, wanted.state)}</span>}<Button class="small" onClick={saveView}>Save view</Button></>;
  return (
    <>
      <h1 class="hidden">Jobs</h1>
      <FilterBar filters={filters} text={textFilter} side={side} />
      <div class="jobs-body">
        <Facets wanted={wanted} counts={counts} />
        {wanted.queue ? <OfQueue key={wanted.queue} wanted={wanted} counts={counts} /> : <OfAll wanted={wanted} />}
      </div>
    </>
  );
}

const hasNarrow = (wanted: Wanted) => !!(wanted.id || wanted.key || wanted.kind || wanted.error);
function matching(counts: Counts, state: string) {
  if (records.includes(state)) return `${count(counts.kept)} records are kept`;
  const n = state === '' ? counts.length + counts.running + counts.awaiting : state === 'queued' ? counts.length : (counts as unknown as Record<string, number>)[state];
  return n === undefined ? '' : `${count(n)} match`;
}

function saveView() {
  const text = params.value.toString();
  ask({ title: 'Save this view', verb: 'Save', text: 'Kept in this browser. A link to it shows others the same.', fields: [{ name: 'name', label: 'Name' }],
    act: async ({ name }) => { views.value = [...views.value.filter((view) => view.name !== name), { name, query: text }]; toast(`${name} is saved`); } });
}

function Facets({ wanted, counts }: { wanted: Wanted; counts: Counts | undefined }) {
  const [isOpen, setOpen] = useState(false);
  const at = wanted.queue ? counts && standing(counts) : sum(Object.values(stats.value?.by_queue ?? {}).map(standing)); // a total knows no pauses
  const one = (name: string, value: string, text: string, n: number | undefined, icon: string) => {
    const isOn = param(name) === value;
    return <li key={value}><button type="button" aria-pressed={isOn} onClick={() => setParams({ [name]: isOn ? null : value, cursor: null, ...(name === 'state' && records.includes(value) ? { waits_for: null } : {}) })}><Icon name={icon} size={14} /><span>{text}</span>{n !== undefined && <Num n={n} />}</button></li>;
  };
  const queues = Object.entries(stats.value?.by_queue ?? {});
  return (
    <aside class={`facets${isOpen ? ' is-open' : ''}`} aria-label="Narrow down">
      <button type="button" class="button plain facets-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>Narrow down</button>
      <div class="facets-all">
        <h2>State</h2>
        <ul>{liveStates.map((state) => one('state', state, state, counts?.[state], state))}<li><a href={withParams(href('dead'), { queue: wanted.queue })}><Icon name="dead" size={14} /><span>dead</span><Num n={counts?.dead ?? 0} /></a></li></ul>
        {counts && counts.kept > 0 && <><h2>Kept records, {count(counts.kept)}</h2><ul>{records.map((state) => one('state', state, state, undefined, state))}</ul></>}
        <h2>Waits for</h2>
        <ul>{gates.filter((gate) => plainGates.includes(gate) || (at && at[gate] > 0)).map((gate) => one('waits_for', gate, gate, at?.[gate], 'closed'))}{one('waits_for', 'ready', 'ready', at?.ready, 'open')}</ul>
        {!wanted.queue && queues.length > 0 && <><h2>Queue</h2><ul>{queues.slice(0, 12).map(([name, each]) => one('queue', name, name, each.length + each.running + each.awaiting, 'queues'))}</ul>{queues.length > 12 && <a class="more" href={href('queues')}>all {queues.length}</a>}</>}
        {views.value.length > 0 && <><h2>Saved views</h2><ul>{views.value.map((view) => <li key={view.name} class="view"><a href={`${href('jobs')}?${view.query}`}><span>{view.name}</span></a><button type="button" class="icon-button" aria-label={`forget ${view.name}`} onClick={() => { views.value = views.value.filter((other) => other !== view); }}><Icon name="close" size={10} /></button></li>)}</ul></>}
      </div>
    </aside>
  );
}

function columnsOf(isRecord: boolean, withQueue: boolean): Column<Job>[] {
  const first: Column<Job>[] = [
    { key: 'state', head: 'State', phone: 'd', class: 'c-state', cell: (job) => <State job={job} /> },
    { key: 'id', head: 'Id', phone: 'a', cell: (job) => <Id queue={job.queue} id={job.id} kind={job.kind} jobKey={job.key} opens /> },
    ...(withQueue ? [{ key: 'queue', head: 'Queue', cell: (job: Job) => <a class="plain" href={href('queues', job.queue)}>{job.queue}</a> }] : []),
    { key: 'kind', head: 'Kind', wide: true, cell: (job) => (nameText(job.kind) === job.queue ? <Dot word="the queue's own" /> : <bdi>{visible(nameText(job.kind))}</bdi>) },
    { key: 'key', head: 'Key', cell: (job) => <a class="mono plain" href={keyHref(job.queue, job.key)}><Mono text={job.key} most={24} /></a> },
  ];
  if (isRecord) return [...first,
    { key: 'ended', head: 'Ended', num: true, phone: 'b', cell: (job) => <Time at={job.ended} /> },
    { key: 'ran', head: 'Started', num: true, wide: true, cell: (job) => <Time at={job.started} /> },
    { key: 'node', head: 'Node', wide: true, cell: (job) => job.node ?? '' },
    { key: 'error', head: 'Error', phone: 'c', class: 'c-rest', cell: (job) => (job.error ? <Mono text={job.error.split('\n')[0]} most={60} /> : <Dot word="none" />) }];
  return [...first,
    { key: 'run_at', head: 'Run at', num: true, cell: (job) => <Time at={job.run_at} /> },
    { key: 'waits', head: 'Waits', num: true, phone: 'b', cell: (job) => (job.state === 'queued' ? <Since at={job.run_at} /> : <Dot />) },
    { key: 'attempts', head: 'Attempts', num: true, wide: true, cell: (job) => <Num n={job.retry_count + 1} /> },
    { key: 'held', head: 'Waits for', phone: 'c', class: 'c-rest', cell: (job) => <Held queue={job.queue} waits={job.waits_for} /> }];
}

function OfQueue({ wanted, counts }: { wanted: Wanted; counts: Counts | undefined }) {
  const read = useReadBy<Found>(`jobs ${JSON.stringify(wanted)}`, (stop) => find(wanted, stop));
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [isAll, setAll] = useState(false);
  const [last, setLast] = useState(-1);
  const version = counts ? [counts.length, counts.running, counts.awaiting, counts.processed, counts.failed, counts.dead] : [];
  const [seen, setSeen] = useState<number[]>([]);
  useEffect(() => { setSeen(version); setChosen(new Set()); setAll(false); }, [read.at]);
  const changed = seen.length ? version.reduce((n, value, i) => Math.max(n, Math.abs(value - (seen[i] ?? value))), 0) : 0;
  const filterOnServer = { ...serverFilter(wanted), state: wanted.state || 'queued' };
  const isQueued = queued.includes(wanted.state);
  const meantRead = useReadBy(isAll && !isScan(wanted) && isQueued ? `count ${JSON.stringify(filterOnServer)} ${read.at}` : null, () => countOf(wanted.queue, 'jobs', filterOnServer));
  const rows = read.value?.jobs ?? [];
  const some = useMemo(() => rows.filter((job) => chosen.has(rowId(job))), [rows, chosen]);
  if (read.isUnknown) return <Panel><Empty title="No queue has this name"><a href={href('queues')}>All queues</a></Empty></Panel>;
  if (read.failure && !read.value) return <Panel><Failure text={read.failure} again={read.again} /></Panel>;
  if (!read.value) return <Panel><Loading rows={14} of="jobs" /></Panel>;
  const isRecord = records.includes(wanted.state);
  const clear = () => { setChosen(new Set()); setAll(false); };
  const selection: Selection<Job> | undefined = isViewer() || isRecord ? undefined : {
    has: (job) => isAll || chosen.has(rowId(job)),
    all: isAll || (rows.length > 0 && some.length === rows.length) ? 'all' : some.length ? 'some' : 'none',
    toggleAll: () => { if (isAll || some.length === rows.length) clear(); else if (isScan(wanted) || !isQueued) setChosen(new Set(rows.map(rowId))); else setAll(true); },
    toggle: (job, isRange) => {
      const at = rows.indexOf(job);
      const next = new Set(isAll ? rows.map(rowId) : chosen);
      const from = isRange && last >= 0 ? Math.min(last, at) : at;
      const to = isRange && last >= 0 ? Math.max(last, at) : at;
      const isOn = !next.has(rowId(job));
      for (const each of rows.slice(from, to + 1)) if (isOn) next.add(rowId(each)); else next.delete(rowId(each));
      setAll(false);
      setChosen(next);
      setLast(at);
    },
  };
  const foot = (
    <>
      <span>{rows.length ? `${count(rows.length)} ${isRecord ? 'records' : 'jobs'}` : 'none'}{isScan(wanted) ? ` found in ${count(read.value.read)} rows${read.value.isWhole ? '' : ', not complete'}` : read.value.next ? ', more follow' : ', all that match'}{wanted.cursor ? ' from here on' : ''}</span>
      {wanted.cursor && <a href={withParams(href('jobs'), { ...Object.fromEntries(params.value), cursor: '' })}>First page</a>}
      {read.value.next && <button type="button" class="link" onClick={() => setParams({ cursor: read.value!.next })}>{isScan(wanted) ? 'Go on' : `Next ${rows.length}`}</button>}
      <span class="grow" />
      {changed > 0 && <span class="dim">{jobsWord(changed)} or more changed since this page was read</span>}
      {changed > 0 ? <button type="button" class="link" onClick={read.again}>Show them</button> : <span class="dim">read at <Time at={read.at} /></span>}
    </>
  );
  return (
    <div class="jobs-list">
      <section class="panel" aria-label="Jobs">
        {rows.length ? <Table name="jobs" columns={columnsOf(isRecord, false)} rows={rows} id={rowId} selection={selection} foot={foot} />
          : <><Empty title={isScan(wanted) ? 'No job found' : 'No job fits'}>{isScan(wanted) || hasNarrow(wanted) || wanted.state ? <>Take a filter off, or look in <a href={withParams(href('jobs'), { queue: wanted.queue })}>all jobs of {wanted.queue}</a>.</> : <>Jobs of {wanted.queue} are listed here. <Command text={`ordo push ${wanted.queue} --payload '{"n":1}'`} /></>}</Empty><div class="table-foot">{foot}</div></>}
      </section>
      {(isAll || some.length > 0) && <Bulk
        number={isAll ? meantRead.value?.count ?? null : some.length}
        text={isAll ? (meantRead.failure ? `could not be counted: ${meantRead.failure}` : `all that match, not only the ${rows.length} on this page`) : 'by hand'}
        tokens={isAll ? Object.entries({ queue: wanted.queue, ...filterOnServer }) : [['queue', wanted.queue]]}
        asOf={read.at} clear={clear}>
        {(n) => <>
          {isAll && <a class="button plain" href={exportHref(wanted.queue, 'jobs', filterOnServer)} download={`${wanted.queue}-jobs.ndjson`}>Export {n}</a>}
          {isQueued && <Button why={whyNot('operator', wanted.queue) || runNowRefused(wanted.waitsFor)} onClick={() => (isAll ? meantRead.value && change('jobs/run-now', [meantRead.value], () => { clear(); read.again(); }) : changeSome('jobs/run-now', some, () => { clear(); read.again(); }))}>Run now {n}…</Button>}
          <Button kind="bad" why={whyNot('operator', wanted.queue)} onClick={() => (isAll ? meantRead.value && change('jobs/cancel', [meantRead.value], () => { clear(); read.again(); }) : changeSome('jobs/cancel', some, () => { clear(); read.again(); }))}>Cancel {n}…</Button>
        </>}
      </Bulk>}
    </div>
  );
}

const runNowRefused = (gate: string) => (gate && !['time', 'window', 'ready'].includes(gate) ? `run now changes run_at only and does not open a ${gate}` : '');
const perQueue = 8;
const askedQueues = 24;

/// Without a queue: the first few of each, as an order over all queues does not exist.
function OfAll({ wanted }: { wanted: Wanted }) {
  const now = stats.value;
  const numberOf = (counts: Counts) => { const n = wanted.state && !isScan(wanted) ? (counts as unknown as Record<string, number>)[wanted.state] ?? counts.kept : counts.length + counts.running + counts.awaiting; return wanted.waitsFor ? (standing(counts) as unknown as Record<string, number>)[wanted.waitsFor] ?? n : n; };
  const all = Object.entries(now?.by_queue ?? {}).filter(([, counts]) => numberOf(counts) > 0 || wanted.id !== '');
  const asked = all.slice(0, askedQueues).map(([name]) => name);
  const read = useReadBy(now ? `all ${JSON.stringify(wanted)} ${asked.join()}` : null, async (stop) => {
    const lists = await each(asked, async (queue) => (isScan(wanted) ? find({ ...wanted, queue }, stop) : get<List<Job>>(`queues/${seg(queue)}/jobs${query({ ...serverFilter(wanted), limit: perQueue })}`, stop).then((list): Found => ({ jobs: list.items, next: list.next, read: list.items.length, isWhole: list.next === null }))));
    return lists.map((list, i) => ({ queue: asked[i], found: list })).filter((one) => one.found && one.found.jobs.length > 0);
  });
  if (read.failure && !read.value) return <Panel><Failure text={read.failure} again={read.again} /></Panel>;
  if (!read.value) return <Panel><Loading rows={14} of="jobs" /></Panel>;
  const rows = read.value.flatMap(({ found }) => found!.jobs.slice(0, perQueue));
  const isRecord = records.includes(wanted.state);
  const foot = <><span>the first {perQueue} of {plural(read.value.length, 'queue')}{all.length > askedQueues ? `, of ${count(all.length)} that have such jobs` : ''}; choose a queue for all of them</span><span class="grow" /><span class="dim">read at {time(read.at)}</span><button type="button" class="link" onClick={read.again}>Read again</button></>;
  return (
    <div class="jobs-list"><section class="panel" aria-label="Jobs">
      {rows.length ? <Table name="jobs" columns={columnsOf(isRecord, true)} rows={rows} id={rowId} foot={foot} /> : <Empty title="No job fits">{params.value.size ? <>Take a filter off, or look at <button type="button" class="link" onClick={() => go(href('jobs'))}>all jobs</button>.</> : <>Jobs of all queues are listed here. <Command text={'ordo push QUEUE --payload \'{"n":1}\''} /></>}</Empty>}
    </section></div>
  );
}
