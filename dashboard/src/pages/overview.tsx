// Is all well? If not, what first?
import { sum, standing } from '../gates';
import { useHistory, lagOf, spanOf, spans, throughput, useSparks } from '../history';
import { get, seg, type Job, type Limit, type List, type NodeInfo, type Periodic, type Stats, type Wait } from '../api';
import { each, useRead, useReadBy } from '../data';
import { happenings, problems, rates, stats, type Happening } from '../live';
import { Empty, Command, Failure, Figure, Loading, Panel, Segments, Time } from '../parts/bits';
import { GateBar } from '../parts/gatebar';
import { Plots } from '../parts/plots';
import { Problems } from '../parts/problems';
import { QueueTable, rowsOf } from '../parts/queue-table';
import { failure, readStats } from '../live';
import { toSeconds } from '../history';
import { href, setParams, withParams } from '../router';
import { count, duration, ms, nameText, rate, visible } from '../words';
import type { PanelOfLines } from '../parts/plots';

export function Overview() {
  const now = stats.value;
  if (!now || problems.value === undefined) return <><h1 class="hidden">Overview</h1>{!now && failure.value ? <Failure text={`The counts could not be read: ${failure.value}`} again={() => void readStats()} /> : <Loading rows={9} of="counts" />}</>;
  const rows = rowsOf(now.by_queue);
  if (!rows.length) return <><h1 class="hidden">Overview</h1><Panel><Empty title="No queues yet">Queues of the config and of the store are listed here. <Command text="ordo init --python" /> writes a config and a first worker.</Empty></Panel></>;
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <div class="overview-top">{problems.value && <Problems />}<LastHour now={now} /></div>
      <Counts now={now} />
      <section class="panel" aria-label="Queues"><QueueTable rows={rows} /></section>
      <div class="halves"><Happened /><Next now={now} /></div>
    </>
  );
}

function LastHour({ now }: { now: Stats }) {
  const history = useHistory();
  const behind = Object.entries(now.by_queue).filter(([, counts]) => counts.lag > 1 && !counts.paused).sort(([, a], [, b]) => b.lag - a.lag).slice(0, 4).map(([name]) => name);
  const byQueue = useSparks(behind);
  if (history.isUnknown) return null;
  if (!history.value?.times.length) return <Panel title="Last hour" class="last-hour"><Loading rows={6} of="the last hour" /></Panel>;
  const { value } = history;
  const worst = new Set((problems.value ?? []).filter((each) => each.severity === 'person').map((each) => each.queue));
  const panels = [throughput(value), lagOf([{ name: 'all', values: value.lag }])].filter((panel): panel is PanelOfLines => panel !== null);
  const lines = behind.filter((name) => byQueue[name]?.lag);
  const times = value.times.map(toSeconds);
  if (lines.length && panels[1]) {
    const spread = (name: string) => resample(byQueue[name].times.map(toSeconds), byQueue[name].lag!, times);
    const lag = lagOf(lines.map((name) => ({ name, values: spread(name), tone: worst.has(name) ? 'red' as const : 'ink' as const })));
    if (lag) panels[1] = lag;
  }
  return (
    <Panel class="last-hour" title="Last hour" note="of this process, one time axis" side={<Segments label="Span" value={spanOf()} choices={spans} choose={(span) => setParams({ span: span === '1h' ? null : span }, 'replace')} />}>
      <Plots name="overview" times={times} panels={panels} />
    </Panel>
  );
}

/// Values of other times, at these: the last known before each, never beyond the ends.
export function resample(from: number[], values: (number | null)[], to: number[]): (number | null)[] {
  let i = -1;
  return to.map((at) => {
    while (i + 1 < from.length && from[i + 1] <= at) i++;
    return i < 0 ? null : values[i];
  });
}

function Counts({ now }: { now: Stats }) {
  const { total } = now;
  const at = sum(Object.values(now.by_queue).map(standing));
  const all = rates.value[''];
  const nodes = useRead<List<NodeInfo>>('nodes', 10_000);
  const threads = nodes.value?.items.filter((node) => node.alive).reduce((n, node) => n + node.threads, 0);
  const slowest = Object.entries(now.by_queue).sort(([, a], [, b]) => b.lag - a.lag)[0];
  const ended = total.processed + total.failed;
  return (
    <section class="panel" aria-label="Counts">
      <div class="figures">
        <Figure name="Waiting" note={`${count(at.ready)} ready, ${count(at.held)} held`}>{count(at.waiting)}</Figure>
        <Figure name="Running" unit={threads ? `of ${count(threads)} threads` : undefined}>{count(total.running)}</Figure>
        <Figure name="Awaiting" note={total.dead_letters > 0 ? `${count(total.dead_letters)} late or unknown` : 'a response'}>{count(total.awaiting)}</Figure>
        <Figure name="Dead" red={total.dead > 0} note={total.dead_trimmed > 0 ? `${count(total.dead_trimmed)} trimmed` : 'none trimmed'}>{count(total.dead)}</Figure>
        <Figure name="Ended" unit={all ? 'per s' : undefined} note={`${count(total.processed)} in all`}>{all ? rate(all.ended) : '·'}</Figure>
        <Figure name="Failed runs" unit={all ? 'per min' : undefined} note={ended > 0 ? `${((100 * total.failed) / ended).toFixed(1)}% of all runs` : ''}>{all ? rate(all.failed * 60) : '·'}</Figure>
        <Figure name="Lag, maximum" note={slowest && slowest[1].lag > 0 ? `${slowest[0]}${slowest[1].paused ? ', paused' : ''}` : ''}>{total.lag > 0 ? duration(total.lag) : '0s'}</Figure>
      </div>
      <GateBar at={at} hrefOf={(gate) => withParams(href('why'), { gate })} />
    </section>
  );
}

const sentences: Record<string, (data: Record<string, unknown>) => string> = {
  job_dead: (data) => `${String(data.id ?? 'a job')} of ${String(data.queue ?? '')} died: ${String(data.error ?? '').split('\n')[0]}`,
  queue_running: (data) => `${String(data.queue)} runs again`,
  queue_paused: (data) => `${String(data.queue)} is paused`,
  node_up: (data) => `node ${String(data.id ?? '')} came`,
  node_down: (data) => `node ${String(data.id ?? '')} went`,
  shard_moved: (data) => `shard ${String(data.shard)} of ${String(data.queue)} moved`,
};
const sentence = (each: Happening) => sentences[each.name]?.(each.data) ?? `${each.name.replaceAll('_', ' ')} ${String(each.data.queue ?? each.data.node ?? each.data.id ?? '')}`;

function Happened() {
  const rows = happenings.value.slice(0, 5);
  return <Panel title="What happened" note="since this page was opened">{!rows.length && <p class="quiet">No node came or went, no queue was paused, no job died.</p>}<ul class="lines">{rows.map((each, i) => <li key={i}><Time at={each.at} /><span><bdi>{visible(sentence(each))}</bdi></span></li>)}</ul></Panel>;
}

interface Coming { at: number; queue: string; what: string; link: string }
const most = 8;

/// Openings that are known: schedules, retries, deadlines of responses, slots.
export async function comings(now: Stats, stop: AbortSignal): Promise<Coming[]> {
  const queues = Object.entries(now.by_queue);
  const some = (fits: (counts: Stats['total']) => boolean) => queues.filter(([, counts]) => fits(counts)).slice(0, most).map(([name]) => name);
  const [periodic, limits] = await each(['periodic', 'limits'], (path) => get<List<Periodic | Limit>>(path, stop));
  const found: Coming[] = [];
  for (const schedule of (periodic?.items ?? []) as Periodic[]) {
    if (schedule.stated && !schedule.paused && schedule.next[0]) found.push({ at: ms(schedule.next[0]), queue: schedule.queue, what: `${schedule.name} ticks`, link: href('periodic') });
  }
  for (const limit of (limits?.items ?? []) as Limit[]) if (limit.next_free && limit.waiting > 0) found.push({ at: ms(limit.next_free), queue: limit.name, what: `room for one of ${count(limit.waiting)}`, link: href('limits') });
  const first = (state: string) => async (queue: string) => (await get<List<Job>>(`queues/${seg(queue)}/jobs?state=${state}&sort=start&limit=1`, stop)).items[0];
  const retrying = some((counts) => counts.retrying > 0);
  const scheduled = some((counts) => counts.scheduled > 0);
  const awaiting = some((counts) => counts.awaiting > 0);
  const [retries, starts, waits] = await Promise.all([
    each(retrying, first('retrying'), 3), each(scheduled, first('scheduled'), 3),
    each(awaiting, (queue) => get<List<Wait>>(`responses/${seg(queue)}?state=expected`, stop), 3),
  ]);
  retrying.forEach((queue, i) => { const job = retries[i]; if (job?.run_at) found.push({ at: ms(job.run_at), queue, what: `the next of ${count(now.by_queue[queue].retrying)} in back-off`, link: withParams(href('jobs'), { queue, state: 'retrying' }) }); });
  scheduled.forEach((queue, i) => { const job = starts[i]; if (job?.run_at) found.push({ at: ms(job.run_at), queue, what: `the next of ${count(now.by_queue[queue].scheduled)} scheduled`, link: withParams(href('jobs'), { queue, state: 'scheduled' }) }); });
  awaiting.forEach((queue, i) => {
    const wait = waits[i]?.items.toSorted((a, b) => ms(a.deadline) - ms(b.deadline))[0];
    if (wait) found.push({ at: ms(wait.deadline), queue, what: `response ${nameText(wait.key)} reaches its deadline`, link: href('responses') });
  });
  return found.filter((one) => Number.isFinite(one.at)).sort((a, b) => a.at - b.at);
}

function Next({ now }: { now: Stats }) {
  const read = useReadBy('comings', (stop) => comings(now, stop), 15_000, 'late');
  const rows = (read.value ?? []).filter((one) => one.at > Date.now() - 1000).slice(0, 5);
  return <Panel title="What comes next">{read.value && !rows.length && <p class="quiet">No tick, retry or deadline is known.</p>}<ul class="lines">{rows.map((one, i) => <li key={i}><Time at={one.at} /><span><a class="plain" href={one.link}><b>{one.queue}</b>: <bdi>{visible(one.what)}</bdi></a></span></li>)}</ul></Panel>;
}
