// Small parts that stand on every page.
import type { ComponentChildren, JSX } from 'preact';
import { count, fullTime, middle, ms, nameText, now, age, time, visible, type Name } from '../words';
import { href, withParams } from '../router';
import type { Job, WaitsFor } from '../api';
import { toast } from '../notices';
import { Icon } from './icons';

export function Panel({ title, note, side, children, class: more = '', id }: { title?: ComponentChildren; note?: ComponentChildren; side?: ComponentChildren; children?: ComponentChildren; class?: string; id?: string }) {
  return (
    <section class={`panel ${more}`} id={id}>
      {title !== undefined && <header class="panel-head"><h2>{title}</h2>{note && <span class="note">{note}</span>}<span class="grow" />{side}</header>}
      {children}
    </section>
  );
}

/// Zero is a dot that is read as 0.
export function Num({ n, strong, red }: { n: number | null | undefined; strong?: boolean; red?: boolean }) {
  if (n == null) return <Dot word="not known" />;
  if (n === 0) return <Dot />;
  return <span class={`num${strong ? ' strong' : ''}${red ? ' red' : ''}`}>{count(n)}</span>;
}
export const Dot = ({ word = '0' }: { word?: string }) => <span class="dot"><span aria-hidden="true">·</span><span class="hidden">{word}</span></span>;

export function State({ job, state, pill }: { job?: Job; state?: string; pill?: boolean }) {
  const word = state ?? stateOf(job!);
  const wasTried = job !== undefined && job.retry_count >= 0;
  const icon = word === 'due' && wasTried ? 'retrying' : word === 'paused' ? 'pause' : word;
  const attempt = pill && job && wasTried && word !== 'dead' ? `, attempt ${job.attempt ?? job.retry_count + 2}` : '';
  return <span class={`state s-${word}${pill ? ' pill' : ''}`}>{word === 'dead' ? <DeadMark /> : <Icon name={icon} size={14} />}<span>{word}{attempt}</span></span>;
}
const DeadMark = () => <Icon name="dead" size={14} />;

/// The API says queued for jobs that wait; what kind of waiting follows from run_at and retries.
export function stateOf(job: Job): string {
  if (job.state !== 'queued') return job.state;
  if (job.run_at && ms(job.run_at) > now.value + 500) return job.retry_count >= 0 ? 'retrying' : 'scheduled';
  return 'due';
}

export function Time({ at, before }: { at: string | number | null | undefined; before?: string }) {
  const value = typeof at === 'number' ? at : ms(at);
  if (!Number.isFinite(value)) return <Dot word="not known" />;
  return <time dateTime={new Date(value).toISOString()} title={fullTime(value)}>{before}{time(value)}</time>;
}
export function Since({ at }: { at: string | null | undefined }) {
  const value = ms(at);
  if (!Number.isFinite(value)) return <Dot word="not known" />;
  const seconds = (now.value - value) / 1000;
  return seconds <= 0 ? <Dot /> : <span title={fullTime(value)}>{age(seconds)}</span>;
}
export function Until({ at }: { at: string | null | undefined }) {
  const value = ms(at);
  if (!Number.isFinite(value)) return <span class="dim">not known</span>;
  const seconds = (value - now.value) / 1000;
  return <span title={fullTime(value)}>{seconds <= 0 ? 'now' : age(seconds)}</span>;
}

/// "in 3m 20s", or "now".
export const In = ({ at }: { at: string }) => <>{ms(at) > now.value ? 'in ' : ''}<Until at={at} /></>;

export const jobHref = (queue: string, id: Name, kind?: Name, key?: Name) =>
  withParams(href('queues', queue, 'jobs', nameText(id)), { kind: kind === undefined || nameText(kind) === queue ? '' : nameText(kind), key: key === undefined ? '' : nameText(key) });
export const keyHref = (queue: string, key: Name) => href('queues', queue, 'keys', nameText(key));

export function Id({ queue, id, kind, jobKey, opens, most = 28 }: { queue: string; id: Name; kind?: Name; jobKey?: Name; opens?: boolean; most?: number }) {
  const text = visible(nameText(id));
  return <a class="mono" href={jobHref(queue, id, kind, jobKey)} title={text.length > most ? text : undefined} data-open={opens ? '' : undefined}><bdi>{middle(text, most)}</bdi></a>;
}
export const Mono = ({ text, most = 40 }: { text: Name | null | undefined; most?: number }) => {
  const all = visible(nameText(text));
  return <span class="mono" title={all.length > most ? all : undefined}><bdi>{middle(all, most)}</bdi></span>;
};

/// The first gate that refuses a job, and who holds it.
export function Held({ queue, waits, isShort }: { queue: string; waits: WaitsFor[] | undefined; isShort?: boolean }) {
  const first = waits?.[0];
  if (!first) return <span class="dim">{isShort ? '' : '·'}</span>;
  return (
    <span class="held">
      <Icon name="closed" size={14} /><b>{first.what}</b>
      {nameText(first.name) && nameText(first.name) !== queue && <Mono text={first.name} most={24} />}
      {first.held_by.length > 0 && <><span class="dim">held by</span> {first.what === 'response' ? <Mono text={first.held_by[0]} /> : <Id queue={queue} id={first.held_by[0]} most={24} />}</>}
      {first.held_by.length === 0 && first.until && <span class="dim">until <Time at={first.until} /></span>}
    </span>
  );
}

export function Button({ kind = 'plain', why, icon, children, ...rest }: { kind?: 'plain' | 'main' | 'bad' | 'bare'; why?: string; icon?: string; children?: ComponentChildren } & Omit<JSX.IntrinsicElements['button'], 'type' | 'disabled' | 'icon' | 'kind'> & { disabled?: boolean; type?: 'button' | 'submit' }) {
  const isOff = !!why || rest.disabled === true;
  const { onClick, disabled: _disabled, class: more, ...others } = rest;
  // A button that may not be used can still be reached, and says why.
  return (
    <button type="button" {...others} class={`button ${kind}${more ? ` ${String(more)}` : ''}`} aria-disabled={isOff || undefined} title={why || rest.title as string | undefined} onClick={isOff ? (event) => event.preventDefault() : onClick}>
      {icon && <Icon name={icon} size={14} />}{children}{why && <span class="hidden">: {why}</span>}
    </button>
  );
}

export function Segments({ label, value, choices, choose }: { label: string; value: string; choices: [string, string][]; choose: (value: string) => void }) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {choices.map(([key, text]) => <button type="button" key={key} aria-pressed={key === value} onClick={() => choose(key)}>{text}</button>)}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return <div class="empty"><b>{title}</b><div>{children}</div></div>;
}
export const Command = ({ text }: { text: string }) => <code class="command" tabIndex={0}>{text}</code>;

/// Rows of the final height, shown only if an answer takes longer than 150 ms (styles).
export function Loading({ rows = 5, of = '' }: { rows?: number; of?: string }) {
  return <div class="loading" role="status"><span class="hidden">Loading {of}</span>{Array.from({ length: rows }, (_, i) => <div class="ghost" key={i}><i /><i /><i /></div>)}</div>;
}

export function Failure({ text, again }: { text: string; again?: () => void }) {
  return <div class="failure" role="alert"><span>{text}</span>{again && <Button onClick={again}>Try again</Button>}</div>;
}

export function copy(text: string, what: string) {
  navigator.clipboard?.writeText(text).then(() => toast(`${what} is copied`), () => toast(`${what} could not be copied: the browser refuses`, { isBad: true }));
}

export function Figure({ name, children, unit, note, red, title }: { name: string; children: ComponentChildren; unit?: string; note?: ComponentChildren; red?: boolean; title?: string }) {
  return <div class="figure" title={title}><div class="figure-name">{name}</div><div class={`figure-value${red ? ' red' : ''}`}>{children}{unit && <small> {unit}</small>}</div><div class="figure-note">{note}&#8203;</div></div>;
}
