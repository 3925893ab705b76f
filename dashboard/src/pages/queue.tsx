// How does it do, where does it stick?
import { get, isViewer, query, seg, type Job, type Limit, type List, type QueueInfo } from '../api';
import { canSet, pauseQueue, pushJob, removeQueue, reshardQueue, resumeQueue, setLimit, whyNot } from '../actions';
import { useRead, useReadBy } from '../data';
import { standing } from '../gates';
import { lagOf, runTimes, spanOf, spans, throughput, toSeconds, useHistory } from '../history';
import { failure, rates, stats } from '../live';
import { Button, Command, Empty, Failure, Figure, Held, Loading, Num, Panel, Segments, Since, State, keyHref } from '../parts/bits';
import { GateBar, Slots } from '../parts/gatebar';
import { Icon } from '../parts/icons';
import { Menu } from '../parts/menu';
import { Plots, type PanelOfLines } from '../parts/plots';
import { Table } from '../parts/table';
import { href, setParams, withParams } from '../router';
import { count, duration, ms, middle, nameText, plural, rate, visible } from '../words';

const readJobs = 500;

export function QueuePage({ queue }: { queue: string }) {
  const info = useRead<QueueInfo>(`queues/${seg(queue)}`, 5_000);
  const counts = stats.value?.by_queue[queue] ?? info.value?.counts;
  if (info.isUnknown && !counts) return <><h1>{visible(queue)}</h1><Panel><Empty title="No queue has this name">Queues of the config and of the store are in <a href={href('queues')}>Queues</a>. <Command text="ordo queues" /></Empty></Panel></>;
  if (!counts) return <><h1>{visible(queue)}</h1>{info.failure || failure.value ? <Failure text={info.failure || failure.value} again={info.again} /> : <Loading rows={8} of="the queue" />}</>;
  const at = standing(counts);
  const isPaused = counts.paused === true;
  const mine = rates.value[queue];
  const runs = counts.processed + counts.failed;
  const dead = withParams(href('dead'), { queue });
  const own = info.value?.limits?.find(canSet);
  const moments = Object.entries(counts.oldest_due ?? {});
  return (
    <>
      <div class="page-head">
        <h1><bdi>{queue}</bdi></h1>
        <State state={isPaused ? 'paused' : 'running'} pill />
        {info.value && <span class="note">{plural(info.value.shards, 'shard')}{info.value.state !== 'running' && info.value.state !== 'paused' ? ` · ${info.value.state}` : ''}{counts.waits_for_newer > 0 ? ` · ${plural(counts.waits_for_newer, 'shard')} wait for a newer version` : ''}</span>}
        <span class="grow" />
        {!isViewer() && <div class="actions" data-actions>
          <Button why={whyNot('operator', queue)} onClick={() => pushJob(queue)}>Push a job…</Button>
          {own && <Button why={whyNot('admin', queue)} onClick={() => setLimit(own)}>{own.rate ? 'Set rate…' : 'Set limit…'}</Button>}
          <Button why={whyNot('operator', queue)} icon={isPaused ? 'running' : 'pause'} onClick={() => void (isPaused ? resumeQueue(queue) : pauseQueue(queue)).then(info.again)}>{isPaused ? 'Resume' : 'Pause'}</Button>
          <Menu name="more actions" items={[
            { name: 'Reshard…', why: whyNot('admin', queue), act: () => reshardQueue(queue, info.value?.shards ?? 1) },
            { name: 'Remove…', why: whyNot('admin', queue), isBad: true, act: () => removeQueue(queue) },
          ]} />
        </div>}
      </div>
      <section class="panel" aria-label="Counts">
        <div class="figures">
          <Figure name="Waiting" note={`${count(at.ready)} ready, ${count(at.held)} held`}>{count(at.waiting)}</Figure>
          <Figure name="Running">{count(counts.running)}</Figure>
          <Figure name="Awaiting" note="a response">{count(counts.awaiting)}</Figure>
          <Figure name="Dead" red={counts.dead > 0} note={counts.dead > 0 ? <a href={dead}>by error</a> : counts.dead_trimmed > 0 ? `${count(counts.dead_trimmed)} trimmed` : 'none trimmed'}>{count(counts.dead)}</Figure>
          <Figure name="Ended" unit={mine ? 'per s' : undefined} note={`${count(counts.processed)} in all`}>{mine ? rate(mine.ended) : '·'}</Figure>
          <Figure name="Failed runs" unit={mine ? 'per min' : undefined} note={runs > 0 ? `${((100 * counts.failed) / runs).toFixed(1)}% of runs` : ''}>{mine ? rate(mine.failed * 60) : '·'}</Figure>
          <Figure name="Lag" note={moments.length > 1 ? `priority ${moments.sort(([, a], [, b]) => b - a)[0][0]} waits longest` : ''}>{counts.lag > 0 ? duration(counts.lag) : '0s'}</Figure>
        </div>
        <GateBar at={at} hrefOf={(gate) => withParams(href('jobs'), gate === 'ready' ? { queue, state: 'due', waits_for: 'ready' } : { queue, waits_for: gate })}
          notes={counts.scheduled && counts.retrying ? { time: `${count(counts.scheduled)} scheduled, ${count(counts.retrying)} retrying` } : {}} />
      </section>
      <div class="two-thirds">
        <div class="column"><Trends queue={queue} /><LimitsOf limits={info.value?.limits ?? []} /></div>
        <div class="column"><Lines queue={queue} blocked={counts.blocked_by_key} /><Now queue={queue} running={counts.running + counts.awaiting} /></div>
      </div>
    </>
  );
}

function Trends({ queue }: { queue: string }) {
  const history = useHistory(queue);
  if (history.isUnknown || !history.value?.times.length) return null;
  const { value } = history;
  const panels = [throughput(value), lagOf([{ name: 'lag', values: value.lag }]), runTimes(value)].filter((panel): panel is PanelOfLines => panel !== null);
  if (!panels.length) return null;
  return <Panel title="Last hour" note="of this process" side={<Segments label="Span" value={spanOf()} choices={spans} choose={(span) => setParams({ span: span === '1h' ? null : span }, 'replace')} />}><Plots name={`queue-${queue}`} times={value.times.map(toSeconds)} panels={panels} /></Panel>;
}

export interface KeyLine { key: string; behind: number; oldest: string | undefined; first: Job; holder: string | undefined }

/// The longest lines among jobs that were read: a key and those that wait for it.
export function linesOf(jobs: Job[]): KeyLine[] {
  const lines = new Map<string, KeyLine>();
  for (const job of jobs) {
    if (job.waits_for?.[0]?.what !== 'key') continue;
    const key = nameText(job.key);
    const line = lines.get(key) ?? { key, behind: 0, oldest: job.run_at, first: job, holder: nameText(job.waits_for[0].held_by[0]) || undefined };
    line.behind++;
    if (job.run_at && (!line.oldest || ms(job.run_at) < ms(line.oldest))) line.oldest = job.run_at;
    lines.set(key, line);
  }
  return [...lines.values()].sort((a, b) => b.behind - a.behind);
}

function Lines({ queue, blocked }: { queue: string; blocked: number }) {
  const read = useReadBy(blocked > 0 ? `lines ${queue}` : null, async (stop) => get<List<Job>>(`queues/${seg(queue)}/jobs${query({ state: 'due', limit: readJobs })}`, stop), 10_000);
  if (blocked === 0 || read.isUnknown) return null;
  if (!read.value) return <Panel title="Longest lines"><Loading rows={4} of="lines" /></Panel>;
  const lines = linesOf(read.value.items);
  const isWhole = read.value.next === null;
  return (
    <Panel title="Longest lines" note={isWhole ? `${plural(blocked, 'job waits', 'jobs wait')} behind ${plural(lines.length, 'key')}` : `of the first ${count(readJobs)} due; ${plural(blocked, 'job waits', 'jobs wait')} for a key in all`}>
      <Table name="Longest lines" rows={lines.slice(0, 8)} id={(line) => line.key} columns={[
        { key: 'key', head: 'Key', phone: 'a', cell: (line) => <a class="mono" href={keyHref(queue, line.key)} data-open><bdi>{middle(visible(line.key))}</bdi></a> },
        { key: 'behind', head: 'Behind', num: true, phone: 'b', cell: (line) => <Num n={line.behind} strong /> },
        { key: 'oldest', head: 'Oldest', num: true, phone: 'd', cell: (line) => <Since at={line.oldest} /> },
        { key: 'held', head: 'Held by', phone: 'c', cell: (line) => (line.holder ? <a class="mono" href={href('queues', queue, 'jobs', line.holder)}><bdi>{middle(visible(line.holder))}</bdi></a> : <span class="dim">not known</span>) },
      ]} />
    </Panel>
  );
}

function Now({ queue, running }: { queue: string; running: number }) {
  const read = useReadBy(running > 0 ? `now ${queue}` : null, async (stop) => {
    const states = await Promise.all(['running', 'awaiting'].map((state) => get<List<Job>>(`queues/${seg(queue)}/jobs${query({ state, limit: 8 })}`, stop)));
    return states.flatMap((list) => list.items).slice(0, 8);
  }, 3_000);
  if (running === 0 || !read.value?.length) return null;
  return (
    <Panel title="Now" note={`${plural(read.value.length, 'job')} of ${count(Math.max(running, read.value.length))} that run or await`} side={<a href={withParams(href('jobs'), { queue, state: 'running' })}>All</a>}>
      <Table name="Running now" rows={read.value} id={(job) => `${nameText(job.id)} ${nameText(job.key)} ${nameText(job.kind)}`} columns={[
        { key: 'state', head: 'State', phone: 'c', cell: (job) => <State job={job} /> },
        { key: 'id', head: 'Id', phone: 'a', cell: (job) => <a class="mono" data-open href={withParams(href('queues', queue, 'jobs', nameText(job.id)), { key: nameText(job.key) })}><bdi>{middle(visible(nameText(job.id)))}</bdi></a> },
        { key: 'key', head: 'Key', cell: (job) => <a class="mono" href={keyHref(queue, job.key)}><bdi>{middle(visible(nameText(job.key)), 24)}</bdi></a> },
        { key: 'held', head: 'Waits for', phone: 'd', class: 'c-rest', cell: (job) => <Held queue={queue} waits={job.waits_for} isShort /> },
      ]} />
    </Panel>
  );
}

function LimitsOf({ limits }: { limits: Limit[] }) {
  if (!limits.length) return null;
  return (
    <Panel title="Limits" side={<a href={href('limits')}><Icon name="limits" size={14} /> All limits and locks</a>}>
      <Table name="Limits of this queue" rows={limits} id={(limit) => `${limit.name} ${nameText(limit.partition)}`} columns={[
        { key: 'name', head: 'Name', phone: 'a', cell: (limit) => <span>{limit.name}{nameText(limit.partition) && <span class="mono dim"> {visible(nameText(limit.partition))}</span>}</span> },
        { key: 'used', head: 'Used', phone: 'c', cell: (limit) => (limit.used !== undefined ? <Slots used={limit.used} of={limit.limit ?? 0} /> : limit.rate ? <span class="dim">{count(limit.rate.limit)} per {limit.rate.per}</span> : <span class="dim">closed by the penalty of a rate</span>) },
        { key: 'of', head: 'Of', num: true, phone: 'b', cell: (limit) => (limit.used !== undefined ? <span><b>{limit.used}</b> of {limit.limit}</span> : '') },
        { key: 'waiting', head: 'Waiting', num: true, phone: 'd', cell: (limit) => <Num n={limit.waiting} strong /> },
      ]} />
    </Panel>
  );
}
