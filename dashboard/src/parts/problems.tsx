// Problems: what needs a person first, each with its effect, since when, and one action. Dismissing is this browser's own, and ends
// when the problem worsens.
import type { ProblemRow } from '../api';
import { cleared, problemName as nameOf, problems } from '../live';
import { say } from '../notices';
import { resumeQueue } from '../actions';
import { base, href } from '../router';
import { kept } from '../storage';
import { age, count, jobs, minutes, ms, now, plural, visible } from '../words';
import { Button, Panel } from './bits';
import { Icon, Sign } from './icons';
import { useEffect } from 'preact/hooks';

const dismissed = kept<Record<string, number>>('dismissed', {});
/// How bad it is: the jobs that it holds up, or else the largest number that it names.
const weight = (row: ProblemRow) => row.jobs || Math.max(0, ...(`${row.what} ${row.effect ?? ''}`.match(/\d[\d,]*/g) ?? []).map((text) => Number(text.replaceAll(',', ''))));

interface Shown extends ProblemRow { queues?: string[] }

/// One line for what several queues have in common, with the same advice: its place is that of the first.
export function grouped(rows: ProblemRow[]): Shown[] {
  const cause = (row: ProblemRow) => row.what.split(': ').at(-1)!;
  const like = new Map<string, ProblemRow[]>();
  for (const row of rows) {
    const key = row.queue && row.what.includes(': ') ? `${row.severity} ${cause(row)} ${row.advice}` : nameOf(row) + row.what;
    like.set(key, [...(like.get(key) ?? []), row]);
  }
  return [...like.values()].map((some): Shown => {
    const queues = [...new Set(some.map((row) => row.queue!))];
    if (queues.length < 2) return some[0];
    const all = some.reduce((n, row) => n + (row.jobs ?? 0), 0);
    const since = some.map((row) => row.since).filter((at) => at !== null).sort((a, b) => ms(a) - ms(b))[0] ?? null;
    return { ...some[0], queue: null, queues, what: `${jobs(all)} of ${plural(queues.length, 'queue')}: ${cause(some[0])}`, effect: null, since, jobs: all, action: { label: 'show queues', href: '/queues' } };
  });
}

export const shownProblems = (all: Shown[]) => all.filter((row) => { const at = dismissed.value[nameOf(row)]; return at === undefined || weight(row) > at; });

export function Problems() {
  const all = grouped(problems.value ?? []);
  const rows = shownProblems(all);
  const people = rows.filter((row) => row.severity === 'person').length;
  const hidden = all.length - rows.length;
  useEffect(() => { say(rows.length ? `${plural(rows.length, 'problem')}, ${people} need a person` : 'no problems'); }, [rows.length, people]);
  const side = <>{cleared.value && <Cleared at={cleared.value.at} row={cleared.value.row} />}{hidden > 0 && <button type="button" class="link" onClick={() => { dismissed.value = {}; }}>{hidden} dismissed, show</button>}</>;
  if (!rows.length) return <Panel class="calm"><p><Icon name="done" /> No problems: nothing needs a person.<span class="grow" />{side}</p></Panel>;
  return (
    <Panel class="problems" title={plural(rows.length, 'problem')} note={`${people} ${people === 1 ? 'needs' : 'need'} a person, ${rows.length - people} to watch`} side={side}>
      <ul>
        {rows.map((row) => (
          <li key={nameOf(row)} class={`problem ${row.severity}`} data-row={nameOf(row)} tabIndex={-1}>
            <Sign severity={row.severity} />
            <div class="problem-text"><b><bdi>{titled(row)}</bdi></b><span>{row.queues && <><QueueLinks names={row.queues} /> · </>}<bdi><Sentence text={below(row)} /></bdi></span></div>
            <div class="problem-age">{Number.isFinite(ms(row.since)) && <><span>{age((now.value - ms(row.since)) / 1000)}</span><small>since {minutes(ms(row.since))}</small></>}</div>
            <div class="problem-act"><Act row={row} />
              <button type="button" class="icon-button dismiss" title="dismiss until it worsens" aria-label={`dismiss: ${row.what}`} onClick={() => { dismissed.value = { ...dismissed.value, [nameOf(row)]: weight(row) }; }}><Icon name="close" size={12} /></button></div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Cleared({ at, row }: { at: number; row: ProblemRow }) {
  const text = titled(row);
  return <span class="note cleared" title={`${text}, since this page was opened`}>Last cleared {minutes(at)}: <bdi>{text}</bdi></span>;
}

/// The effect, unless the title has said it, and the advice.
const below = (row: Shown) => [whyOf(row.what)[1], row.effect && row.jobs && row.what.includes(String(row.jobs)) ? null : row.effect, row.advice].filter(Boolean).join(' · ');

/// What a node cannot do, and why not: the reason may be long, and does not belong into a title.
export function whyOf(what: string): [string, string] {
  const found = /^(node \S+ cannot [^:]*): (.*)$/s.exec(what);
  return found ? [found[1], found[2]] : [what, ''];
}

/// What stands between backticks is a command.
function Sentence({ text }: { text: string }) {
  return <>{visible(text).split('`').map((part, i) => (i % 2 ? <code key={i}>{part}</code> : withCommas(part)))}</>;
}
const withCommas = (text: string) => text.replace(/\d{4,}(?= (due )?(job|payload))/g, (digits) => count(Number(digits)));
const verb = (label: string) => label.charAt(0).toUpperCase() + label.slice(1);

const named = 6;
function QueueLinks({ names }: { names: string[] }) {
  return <>{names.slice(0, named).map((name, i) => <span key={name}>{i > 0 && ', '}<a href={href('queues', name)}>{name}</a></span>)}{names.length > named && ` and ${names.length - named} more`}</>;
}

const titled = (row: ProblemRow) => withCommas(visible(row.queue && !row.what.includes(row.queue) ? `${row.queue}: ${row.what}` : whyOf(row.what)[0]));

function Act({ row }: { row: ProblemRow }) {
  if (!row.action) return null;
  if (/^resume/i.test(row.action.label) && row.queue) return <Button onClick={() => void resumeQueue(row.queue!)}>{verb(row.action.label)}</Button>;
  return <a class="button plain" href={base + row.action.href.replace(/^\//, '')} data-open>{verb(row.action.label)}</a>;
}
