// Open now, and when next?
import { get, seg, type WindowRule, type Windows as WindowsOf, type WindowView } from '../api';
import { each, useReadBy } from '../data';
import { stats } from '../live';
import { Command, Empty, Failure, In, Loading, Num, Panel, Segments, State, Time } from '../parts/bits';
import { Icon } from '../parts/icons';
import { Table } from '../parts/table';
import { href, param, setParams } from '../router';
import { jobs, minutes, ms, nameText, now, plural, time, visible } from '../words';

const spans: Record<string, number> = { '24h': 24, '48h': 48, '7d': 168 };
const askedQueues = 200;
interface Row { queue: string; view: WindowView; waiting: number; isFirst: boolean }

export const daysText = (days: string[]) => (days.length === 7 || days.length === 0 ? 'daily' : days.join(' '));
const ruleText = (rule: WindowRule) => `${rule.start}–${rule.end} ${daysText(rule.days)}`;

export function Windows() {
  const ahead = param('ahead') in spans ? param('ahead') : '24h';
  const now = stats.value;
  const queues = Object.keys(now?.by_queue ?? {}).slice(0, askedQueues);
  const read = useReadBy(now ? `windows ${ahead} ${queues.join()}` : null, async (stop) => {
    const views = await each(queues, (queue) => get<WindowsOf>(`queues/${seg(queue)}/windows?ahead=${ahead}`, stop));
    return { isKnown: queues.length === 0 || views.some((view) => view !== null), rows: views.flatMap((one) => (one?.items ?? []).filter((view) => view.windows.length > 0).map((view, i): Row => ({ queue: one!.queue, view, waiting: one!.waiting, isFirst: i === 0 }))) };
  }, 30_000);
  const rows = read.value?.rows ?? [];
  const waiting = Object.values(now?.by_queue ?? {}).reduce((n, counts) => n + counts.blocked_by_window, 0);
  const open = rows.filter(({ view }) => view.open).length;
  const next = rows.map(({ view }) => ms(view.opens)).filter((at) => Number.isFinite(at) && at > Date.now()).sort((a, b) => a - b)[0];
  const order = rows.toSorted((a, b) => Number(b.view.never_opens) - Number(a.view.never_opens));
  return (
    <>
      <div class="page-head"><h1>{now ? `${jobs(waiting)} wait${waiting === 1 ? 's' : ''} for a window` : 'Windows'}</h1>{rows.length > 0 && <span class="note">{plural(rows.length, 'rule')}, {open} open now{next ? `, next opening ${time(next)}` : ''}</span>}<span class="grow" /><Segments label="Ahead" value={ahead} choices={[['24h', '24h'], ['48h', '48h'], ['7d', '7d']]} choose={(value) => setParams({ ahead: value === '24h' ? null : value }, 'replace')} /></div>
      {read.failure && !read.value ? <Failure text={read.failure} again={read.again} />
        : !read.value ? <Panel><Loading rows={4} of="windows" /></Panel>
          : !rows.length ? <Panel><Empty title={read.value.isKnown ? 'No windows' : 'Windows are not known'}>{read.value.isKnown ? <>Queues whose jobs start only at certain hours are shown here: <Command text={'[queue.calls] windows = [{ start = "05:00", end = "07:00", tz = "Europe/Moscow" }]'} /></> : 'This server does not tell them.'}</Empty></Panel>
            : <section class="panel two-rows" aria-label="Windows"><WindowTable rows={order} hours={spans[ahead]} /></section>}
      <ClockChanges rows={order} />
    </>
  );
}

function WindowTable({ rows, hours }: { rows: Row[]; hours: number }) {
  const from = now.value - (now.value % 3_600_000) - 3_600_000;
  return (
    <Table name="Windows" rows={rows} id={(row) => `${row.queue} ${nameText(row.view.kind)}`} columns={[
      { key: 'queue', head: 'Queue', phone: 'a', cell: (row) => <><a class="row-link" data-open href={href('queues', row.queue)}>{row.queue}</a><small>{row.view.kind ? `kind ${visible(nameText(row.view.kind))}` : 'queue'}</small></> },
      { key: 'rule', head: 'Wall clock, days, zone', phone: 'c', cell: (row) => row.view.windows.map((rule) => <div key={ruleText(rule) + rule.tz}>{ruleText(rule)}<small>{rule.tz}</small></div>) },
      { key: 'now', head: 'Now', cell: (row) => <span class="state">{row.view.never_opens ? <State state="cancelled" /> : <><Icon name={row.view.open ? 'open' : 'closed'} size={14} />{row.view.open ? 'open' : 'closed'}</>}</span> },
      { key: 'strip', head: <StripHead from={from} hours={hours} />, class: 'c-strip', wide: true, cell: (row) => <Strip view={row.view} from={from} hours={hours} /> },
      { key: 'waiting', head: 'Waiting', num: true, phone: 'b', cell: (row) => (row.isFirst ? <Num n={row.waiting} strong /> : <span class="dim">as above</span>) },
      { key: 'next', head: 'Next change', num: true, phone: 'd', cell: (row) => <NextChange view={row.view} /> },
    ]} />
  );
}

function NextChange({ view }: { view: WindowView }) {
  if (view.never_opens) return <b class="red">never opens</b>;
  const at = view.open ? view.closes : view.opens;
  return at ? <><Time at={at} before={view.open ? 'closes ' : ''} /><small><In at={at} /></small></> : <span class="dim">{view.open ? 'stays open' : 'not known'}</span>;
}

const width = 590;
const xOf = (at: number, from: number, hours: number) => Math.min(width, Math.max(0, ((at - from) / (hours * 3_600_000)) * width));
const ticksOf = (from: number, hours: number) => { const step = hours / 4 * 3_600_000; return [0, 1, 2, 3].map((i) => from + i * step); };

function StripHead({ from, hours }: { from: number; hours: number }) {
  return <div class="strip-head">{ticksOf(from, hours).map((at) => <span key={at} style={{ left: `${(xOf(at, from, hours) / width) * 100}%` }}>{hours > 24 ? time(at, from - 86_400_000) : minutes(at)}</span>)}</div>;
}

function Strip({ view, from, hours }: { view: WindowView; from: number; hours: number }) {
  const at = now.value;
  const spansOpen = view.openings.map((opening) => [ms(opening.from), ms(opening.until)] as const);
  const words = view.never_opens ? 'never opens' : spansOpen.map(([start, end]) => `open ${time(start)} to ${time(end)}`).join('; ');
  return (
    <svg class="strip" viewBox={`0 0 ${width} 34`} preserveAspectRatio="none" role="img" aria-label={words}>
      {ticksOf(from, hours).map((tick) => <path key={tick} class="grid" d={`M${xOf(tick, from, hours)} 0V34`} />)}
      <rect class="closed" y="10" width={width} height="14" rx="2" />
      {spansOpen.map(([start, end]) => <rect key={start} class={`opening${start <= at && at < end ? ' is-now' : ''}`} x={xOf(start, from, hours)} y="10" width={Math.max(0, xOf(end, from, hours) - xOf(start, from, hours))} height="14" rx="2" />)}
      <path class="now" d={`M${xOf(at, from, hours)} 0V34`} />
    </svg>
  );
}

function ClockChanges({ rows }: { rows: Row[] }) {
  const changes = new Map<string, { at: string; zones: Set<string>; queues: Set<string> }>();
  for (const { queue, view } of rows) for (const at of view.clock_changes) {
    const one = changes.get(at) ?? { at, zones: new Set(), queues: new Set() };
    view.windows.forEach((rule) => one.zones.add(rule.tz));
    one.queues.add(queue);
    changes.set(at, one);
  }
  const never = rows.filter(({ view }) => view.never_opens);
  if (!changes.size && !never.length) return null;
  return (
    <Panel title="Clock changes and odd windows">
      <ul class="lines">
        {never.map((row) => <li key={`${row.queue} ${nameText(row.view.kind)}`}><b class="red">never</b><span>{row.queue}{row.view.kind ? `, kind ${visible(nameText(row.view.kind))}` : ''}: no window opens within a year</span></li>)}
        {[...changes.values()].sort((a, b) => ms(a.at) - ms(b.at)).map((one) => <li key={one.at}><Time at={one.at} /><span>{[...one.zones].join(', ')}: the clock changes, and with it the windows of {[...one.queues].join(', ')} in UTC</span></li>)}
      </ul>
    </Panel>
  );
}
