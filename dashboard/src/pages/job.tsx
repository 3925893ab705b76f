// What happened, why not now?
import { isViewer, query, seg, type Attempt, type Job, type List, type WaitsFor } from '../api';
import { answerByHand, asPush, cancelJob, changeSome, killJob, pushJob, reschedule, runNow, whyNot } from '../actions';
import { useRef } from 'preact/hooks';
import { chainOf } from '../chain';
import { useRead, useReadBy } from '../data';
import { gates, plainGates } from '../gates';
import { stats } from '../live';
import { Button, Command, copy, Dot, Empty, Failure, Held, Id, Loading, Mono, Num, Panel, Since, State, Time, keyHref } from '../parts/bits';
import { CauseAction, Chain } from '../parts/chain';
import { Icon } from '../parts/icons';
import { Menu } from '../parts/menu';
import { CopyPayload, Payload } from '../parts/payload';
import { Table } from '../parts/table';
import { href, param, withParams } from '../router';
import { age, duration, minutes, ms, nameText, now, plural, time, visible } from '../words';

const live = ['queued', 'running', 'awaiting', 'dead'];

export function JobPage({ queue, id }: { queue: string; id: string }) {
  const read = useRead<List<Job>>(`queues/${seg(queue)}/jobs/${seg(id)}${query({ kind: param('kind'), key: param('key') })}`, 2_000);
  const dead = useRead<List<Job>>(read.isUnknown || (read.value && !read.value.items.some((job) => job.state !== 'dead' && live.includes(job.state))) ? `queues/${seg(queue)}/dead${query({ id, kind: param('kind'), key: param('key'), limit: 5 })}` : null, 5_000);
  const known = useRef<Job | null>(null);
  const items = [...(read.value?.items ?? []), ...(dead.value?.items ?? []).map((job) => ({ ...job, state: 'dead' }))];
  if (!items.length) {
    if (read.failure) return <><h1 class="mono"><bdi>{visible(id)}</bdi></h1><Failure text={read.failure} again={read.again} /></>;
    if (read.isUnknown && (dead.value || dead.isUnknown)) return <Gone queue={queue} id={id} last={known.current} again={() => { read.again(); dead.again(); }} />;
    return <><h1 class="mono"><bdi>{visible(id)}</bdi></h1><Loading rows={8} of="the job" /></>;
  }
  const alive = items.filter((job) => live.includes(job.state));
  const job = alive[0] ?? items[0];
  known.current = job;
  const others = items.filter((each) => each !== job);
  return (
    <>
      <Head job={job} again={read.again} />
      <div class="two-thirds job">
        <div class="column">
          <Cause job={job} />
          <TimeLine job={job} />
          <Attempts job={job} />
          <Payloads job={job} />
          <Others jobs={others} />
        </div>
        <div class="column side">
          {job.state === 'queued' || job.state === 'awaiting' ? <Gates job={job} /> : null}
          {job.error && <Panel title={job.state === 'queued' ? 'Error of the last attempt' : 'Error'} note={job.error_kind ?? ''} side={<Button kind="bare" class="small" onClick={() => copy(job.error!, 'the error')}>Copy</Button>}><pre class="error" tabIndex={0}><bdi>{visible(job.error)}</bdi></pre></Panel>}
        </div>
      </div>
    </>
  );
}

/// A job that is not stored: `last` is what this page knew of it.
function Gone({ queue, id, last, again }: { queue: string; id: string; last: Job | null; again: () => void }) {
  const key = last?.key ?? (param('key') || null);
  return (
    <>
      <div class="page-head"><h1 class="mono"><bdi>{visible(id)}</bdi></h1><span class="grow" /><div class="actions"><Button onClick={again}>Look again</Button>{last && <Button onClick={() => copy(asPush(last), 'the push')}>Copy as push</Button>}</div></div>
      <Panel><Empty title={last ? 'Not stored any more: it ended or was cancelled' : 'No such job is stored'}>
        <span>{last ? '' : 'It was never pushed, or it ended or was cancelled. '}No record of it is kept: the queue’s <code>keep</code> says for how long records of ended jobs are kept. </span>
        <span>{key !== null && <><a href={keyHref(queue, key)}>The line of {visible(nameText(key))}</a>, </>}<a href={withParams(href('jobs'), { queue })}>jobs of {queue}</a>. On a machine with the config: <Command text={`ordo job ${queue} ${id} show`} /></span>
      </Empty></Panel>
      {last && <><h2 class="last-known">What this page knew of it</h2><dl class="facts">
        <div><dt>state</dt><dd><State job={last} /></dd></div>
        <div><dt>kind</dt><dd>{visible(nameText(last.kind))}</dd></div>
        {last.run_at && <div><dt>run at</dt><dd><Time at={last.run_at} /></dd></div>}
        {last.waits_for?.[0] && <div><dt>waited for</dt><dd><Held queue={queue} waits={last.waits_for} /></dd></div>}
      </dl><Payloads job={last} /></>}
    </>
  );
}

function Head({ job, again }: { job: Job; again: () => void }) {
  const id = nameText(job.id);
  const first = job.waits_for?.[0];
  const isQueued = job.state === 'queued';
  const isDead = job.state === 'dead';
  const isLive = isQueued || job.state === 'running' || job.state === 'awaiting';
  const may = whyNot('operator', job.queue);
  const runNowWhy = may || (first && first.what !== 'time' && first.what !== 'window' ? `it waits for ${first.what}; run now changes run_at only and does not open that` : isQueued && !first ? 'it is due already' : '');
  const facts: [string, preact.ComponentChildren][] = [
    ['queue', <a href={href('queues', job.queue)}>{job.queue}</a>],
    ['kind', visible(nameText(job.kind))],
    ['key', <a class="mono" href={keyHref(job.queue, job.key)}><Mono text={job.key} /></a>],
  ];
  if (job.priority !== undefined) facts.push(['priority', job.priority]);
  if (job.max_retries !== undefined) facts.push(['failed attempts', <span title={`retry_count ${job.retry_count}, max_retries ${job.max_retries}`}>{job.retry_count + 1} of at most {job.max_retries + 1}</span>]);
  if (job.crashes !== undefined) facts.push(['crashes', job.crashes]);
  if (job.timeout) facts.push(['timeout', job.timeout]);
  if (job.node) facts.push(['node', job.node]);
  if (job.expires) facts.push(['expires', <Time at={job.expires} />]);
  if (job.weight !== undefined) facts.push(['weight', String(job.weight)]);
  if (job.partition !== undefined) facts.push(['partition', <Mono text={job.partition} />]);
  if (job.lock !== undefined) facts.push(['lock', <Mono text={job.lock} />]);
  if (job.critical) facts.push(['critical', 'true']);
  return (
    <>
      <div class="page-head">
        <h1 class="mono"><bdi>{visible(id)}</bdi></h1><State job={job} pill />
        <span class="grow" />
        <div class="actions" data-actions>
          <Button onClick={() => copy(asPush(job), 'the push')}>Copy as push</Button>
          {!isViewer() && isQueued && <Button why={runNowWhy} onClick={() => void runNow(job).then(again)}>Run now</Button>}
          {!isViewer() && isDead && <Button kind="main" why={may} onClick={() => changeSome('dead/retry', [job], again)}>Retry…</Button>}
          {!isViewer() && isDead && <Button kind="bad" why={may} onClick={() => changeSome('dead/delete', [job], again)}>Delete…</Button>}
          {!isViewer() && isLive && <Button kind="bad" why={may} onClick={() => cancelJob(job)}>Cancel…</Button>}
          {!isViewer() && (isQueued || !isLive) && <Menu name="more actions" items={[
            ...(isQueued ? [{ name: 'Reschedule…', why: may, act: () => reschedule(job) }, { name: 'Move to the dead…', why: may, isBad: true, act: () => killJob(job) }] : []),
            { name: 'Push one like it…', why: may, act: () => pushJob(job.queue, { payload: JSON.stringify(job.payloads?.at(-1) ?? {}, null, 2) }) },
          ]} />}
        </div>
      </div>
      <dl class="facts">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
    </>
  );
}

const opens: Record<string, (job: Job) => string> = {
  pause: () => 'the queue runs',
  code: () => 'a living node has it',
  time: (job) => (job.run_at ? `due since ${time(ms(job.run_at))}` : 'due'),
};
const whatCloses: Record<string, string> = {
  pause: 'The queue is paused. It starts when somebody resumes it.', code: 'No living node has code for its kind. It waits and burns no attempt.', time: 'It starts by itself at its time.',
  window: 'It starts by itself when a window opens.', key: 'Jobs of one key run one after the other. It starts by itself when those before it have ended.', lock: 'It starts by itself when the lock frees, without a poll.',
  limit: 'It starts by itself when a slot of the limit frees.', rate: 'It starts by itself when the rate has a token.', throttler: 'The throttler of the queue refuses it for now.', suspect: 'A job that may have killed its node runs alone first.',
  response: 'It has run, and goes on when the response comes.', group: 'It waits for its group.',
};

function Gates({ job }: { job: Job }) {
  const first = job.waits_for?.[0];
  const isPaused = stats.value?.by_queue[job.queue]?.paused === true;
  const refused = new Map((job.waits_for ?? []).map((waits) => [waits.what, waits]));
  const order: string[] = job.state === 'awaiting' ? ['response'] : gates.filter((gate) => plainGates.includes(gate) || refused.has(gate));
  const firstAt = first ? order.indexOf(first.what) : order.length;
  if (first && firstAt < 0) order.push(first.what);
  const title = first ? `Waits for ${first.what}${nameText(first.name) && nameText(first.name) !== job.queue ? ` ${visible(nameText(first.name))}` : ''}` : job.state === 'awaiting' ? 'Awaits a response' : 'Ready';
  const since = job.run_at && ms(job.run_at) < now.value ? <Since at={job.run_at} /> : null;
  const note = first ? whatCloses[first.what] : 'Every gate is open; it waits for a free thread.';
  return (
    <Panel title={title} side={<span class="note">{since}</span>} class="gates">
      <p class="gates-note">{note}</p>
      <ul class="gate-list">
        {order.map((gate) => {
          const waits = refused.get(gate) ?? (gate === 'pause' && isPaused ? { what: 'pause', name: '', held_by: [], until: null } : undefined);
          const isFirst = first !== undefined && gate === first.what;
          return (
            <li key={gate} class={isFirst ? 'is-first' : waits ? 'is-closed' : undefined}>
              <Icon name={waits ? 'closed' : 'open'} size={14} /><span class="gate-list-name">{gate}<span class="hidden">, {waits ? 'closed' : 'open'}</span></span>
              <div class="gate-list-text">{waits ? <Closed job={job} waits={waits} isFirst={isFirst} /> : <span class="dim">{opens[gate]?.(job) ?? 'open'}</span>}</div>
            </li>
          );
        })}
      </ul>
      {nameText(job.key) && <p class="gates-foot">{first && first.what !== 'time' && first.what !== 'window' ? 'Run now changes run_at only, so it would do nothing here. ' : ''}<a href={keyHref(job.queue, job.key)}>The line of {visible(nameText(job.key))}</a></p>}
    </Panel>
  );
}

/// Shown where the holder itself waits: one step is in the gates already.
function Cause({ job }: { job: Job }) {
  const first = job.waits_for?.[0];
  const chain = useReadBy(first && first.what !== 'time' && first.held_by.length > 0 ? `chain ${nameText(job.id)} ${first.what} ${nameText(first.held_by[0])}` : null, (stop) => chainOf(job, stop), 5_000);
  if (!chain.value || chain.value.length < 4) return null;
  return <Panel title="What it waits for" note="the last is the cause" side={!isViewer() && <CauseAction links={chain.value} />}><Chain links={chain.value.slice(1)} /></Panel>;
}

function Closed({ job, waits, isFirst }: { job: Job; waits: WaitsFor; isFirst: boolean }) {
  const name = nameText(waits.name);
  const isResponse = waits.what === 'response';
  return (
    <>
      <span>{name && name !== job.queue ? <><Mono text={name} most={30} /> </> : null}
        {isResponse ? 'is awaited' : waits.held_by.length > 0 ? <>held by {waits.held_by.map((holder, i) => <span key={i}>{i > 0 && ', '}<Id queue={job.queue} id={holder} /></span>)}</> : waits.until || waits.why ? '' : 'closed; by whom is not known'}</span>
      {waits.why?.map((line) => <span key={line}> {visible(line)}</span>)}
      {waits.until && <span> until <Time at={waits.until} /></span>}
      {isFirst && (waits.held_by.length > 0 || isResponse) && !isViewer() && <div class="gate-list-act">
        {!isResponse && <a class="button plain" href={href('queues', job.queue, 'jobs', nameText(waits.held_by[0]))}>Open holder</a>}
        {isResponse && <Button why={whyNot('operator', job.queue)} onClick={() => answerByHand(job.queue, waits.name || waits.held_by[0])}>Answer by hand…</Button>}
      </div>}
      {isFirst && !waits.held_by.length && !isResponse && <div class="gate-list-act"><CauseAction links={[{ kind: 'gate', queue: job.queue, waits, others: 0 }]} /></div>}
    </>
  );
}

interface Mark { at: number; what: string; kind: 'point' | 'run' | 'wait'; until?: number }

export function marksOf(job: Job, from: number): Mark[] {
  const marks: Mark[] = [];
  if (job.pushed) marks.push({ at: ms(job.pushed), what: 'pushed', kind: 'point' });
  const tries = (job.attempts ?? []).filter((attempt) => Number.isFinite(ms(attempt.ended)));
  tries.forEach((attempt, i) => {
    const end = ms(attempt.ended);
    marks.push({ at: attempt.started ? ms(attempt.started) : end, until: end, what: `${i + 1} ${attempt.error_kind}`, kind: 'run' });
    const next = tries[i + 1]?.started ?? job.started ?? null;
    const until = next ? ms(next) : job.run_at && ms(job.run_at) > end ? Math.min(ms(job.run_at), from) : NaN;
    if (until > end) marks.push({ at: end, until, what: `back-off ${duration((until - end) / 1000)}`, kind: 'wait' });
  });
  if (job.started && (job.state === 'running' || job.ended)) marks.push({ at: ms(job.started), until: job.ended ? ms(job.ended) : from, what: job.ended ? job.state : 'running', kind: 'run' });
  const first = job.waits_for?.[0];
  if (job.state === 'queued' && first && job.run_at && ms(job.run_at) < from) marks.push({ at: ms(job.run_at), until: from, what: `${first.what}, ${age((from - ms(job.run_at)) / 1000)}`, kind: 'wait' });
  else if (job.run_at && job.state === 'queued') marks.push({ at: ms(job.run_at), what: 'run_at', kind: 'point' });
  return marks;
}

function TimeLine({ job }: { job: Job }) {
  const at = now.value;
  const marks = marksOf(job, at);
  if (!marks.length) return null;
  const isEnded = job.ended !== undefined;
  const ends = marks.flatMap((mark) => [mark.at, mark.until ?? mark.at]).filter(Number.isFinite);
  const [from, to] = [Math.min(...ends, isEnded ? Infinity : at), Math.max(...ends, isEnded ? -Infinity : at)];
  const span = Math.max(1000, to - from);
  const x = (ms: number) => 90 + ((ms - from) / span) * 600;
  const rows = (['point', 'run', 'wait'] as const).filter((kind) => marks.some((mark) => mark.kind === kind));
  const names = { point: 'times', run: 'attempts', wait: 'between' };
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => from + share * span);
  const height = rows.length * 42 + 28;
  return (
    <Panel title="Time line" note={`${age(span / 1000)}${isEnded ? ', ended' : ''}`}>
      <div class="scroll-x" tabIndex={0} role="group" aria-label="Time line, as a picture; the tables below say the same">
        <svg class="timeline" width="720" height={height} viewBox={`0 0 720 ${height}`} role="img" aria-label={marks.map((mark) => `${mark.what} at ${time(mark.at)}`).join('; ')}>
          {ticks.map((tick) => <g key={tick}><path d={`M${x(tick)} 4V${height - 22}`} class="tl-grid" /><text x={x(tick)} y={height - 6} text-anchor="middle" class="tl-tick">{span < 3_600_000 ? time(tick, at) : minutes(tick)}</text></g>)}
          {rows.map((kind, r) => (
            <g key={kind} transform={`translate(0 ${r * 42 + 8})`}>
              <text x="0" y="17" class="tl-row">{names[kind]}</text>
              {marks.filter((mark) => mark.kind === kind).map((mark, i) => {
                const width = Math.max(4, x(mark.until ?? mark.at) - x(mark.at));
                const anchor = x(mark.at) > 560 ? 'end' : 'start';
                return (
                  <g key={i}>
                    {kind === 'point' ? <path d={`M${x(mark.at) - 5} 6h10l-5 8z`} class="tl-point" /> : <rect x={x(mark.at)} y="4" width={width} height="15" rx="2" class={kind === 'run' ? 'tl-run' : 'tl-wait'} />}
                    <text x={anchor === 'end' ? x(mark.at) + width : x(mark.at)} y="33" text-anchor={anchor} class="tl-label">{mark.what}</text>
                  </g>
                );
              })}
            </g>
          ))}
          {!isEnded && <path d={`M${x(at)} 2V${height - 20}`} class="tl-now" />}
        </svg>
      </div>
    </Panel>
  );
}

function Attempts({ job }: { job: Job }) {
  const tries = job.attempts ?? [];
  if (!tries.length) return null;
  const ran = (attempt: Attempt) => (attempt.started ? duration((ms(attempt.ended) - ms(attempt.started)) / 1000) : '');
  return (
    <Panel title="Attempts" note={`${plural(tries.length, 'failed one is', 'failed ones are')} kept${job.max_retries !== undefined ? `, of at most ${job.max_retries + 1}` : ''}`}>
      <Table name="Attempts" rows={tries.map((attempt, i) => ({ ...attempt, n: i + 1 }))} id={(row) => String(row.n)} columns={[
        { key: 'n', head: '#', num: true, cell: (row) => <span class="dim">{row.n}</span> },
        { key: 'started', head: 'Started', phone: 'a', cell: (row) => <Time at={row.started ?? row.ended} /> },
        { key: 'ran', head: 'Ran', num: true, phone: 'b', cell: (row) => ran(row) || <Dot word="not known" /> },
        { key: 'node', head: 'Node', wide: true, cell: (row) => row.node },
        { key: 'kind', head: 'Ended as', phone: 'd', cell: (row) => row.error_kind },
        { key: 'error', head: 'Error', phone: 'c', class: 'c-rest', cell: (row) => <Mono text={row.error.split('\n')[0]} most={64} /> },
      ]} />
    </Panel>
  );
}

function Payloads({ job }: { job: Job }) {
  const payloads = (job.payloads ?? []).map((payload, i) => ({ payload, score: job.scores?.[i], i }));
  if (!payloads.length) return null;
  if (payloads.length === 1) return <Panel title="Payload" note={payloads[0].score !== undefined ? `score ${payloads[0].score}` : ''} side={<CopyPayload payload={payloads[0].payload} />}><div class="panel-body"><Payload payload={payloads[0].payload} /></div></Panel>;
  return (
    <Panel title="Payload versions" note={`${payloads.length} kept, by score`}>
      <Table name="Payload versions" rows={payloads.toReversed()} id={(row) => String(row.i)} columns={[
        { key: 'score', head: 'Score', num: true, phone: 'a', cell: (row) => <b>{row.score ?? ''}</b> },
        { key: 'payload', head: 'Payload', phone: 'c', class: 'c-rest', cell: (row) => <Payload payload={row.payload} /> },
        { key: 'copy', head: <span class="hidden">Copy</span>, phone: 'b', cell: (row) => <CopyPayload payload={row.payload} /> },
      ]} />
    </Panel>
  );
}

function Others({ jobs }: { jobs: Job[] }) {
  if (!jobs.length) return null;
  return (
    <Panel title="Others of this id" note="live ones, then records of ended ones, newest first">
      <Table name="Others of this id" rows={jobs} id={(job) => `${job.state} ${nameText(job.kind)} ${nameText(job.key)} ${job.ended ?? ''}`} columns={[
        { key: 'state', head: 'State', phone: 'a', cell: (job) => <State job={job} /> },
        { key: 'kind', head: 'Kind', cell: (job) => visible(nameText(job.kind)) },
        { key: 'key', head: 'Key', phone: 'c', cell: (job) => <a class="mono" href={withParams(href('queues', job.queue, 'jobs', nameText(job.id)), { kind: nameText(job.kind), key: nameText(job.key) })}><Mono text={job.key} /></a> },
        { key: 'ended', head: 'Ended', num: true, phone: 'b', cell: (job) => <Time at={job.ended} /> },
        { key: 'attempts', head: 'Attempts', num: true, phone: 'd', cell: (job) => <Num n={job.retry_count + 1} /> },
        { key: 'error', head: 'Error', class: 'c-rest', cell: (job) => (job.error ? <Mono text={job.error.split('\n')[0]} most={50} /> : <Dot word="none" />) },
      ]} />
    </Panel>
  );
}
