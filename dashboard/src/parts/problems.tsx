// Problems: what needs a person first, each with its effect, since when, and one action. Dismissing is this browser's own, and ends
// when the problem worsens.
import type { ProblemRow } from '../api';
import { problems } from '../live';
import { say } from '../notices';
import { resumeQueue } from '../actions';
import { base } from '../router';
import { kept } from '../storage';
import { age, minutes, ms, now, plural, visible } from '../words';
import { Button, Panel } from './bits';
import { Icon, Sign } from './icons';
import { useEffect } from 'preact/hooks';

const dismissed = kept<Record<string, number>>('dismissed', {});
const nameOf = (row: ProblemRow) => `${row.severity} ${row.queue ?? ''} ${row.what.replace(/[\d.,]+/g, '#')}`;
/// How bad it is: the jobs that it holds up, or else the largest number that it names.
const weight = (row: ProblemRow) => row.jobs || Math.max(0, ...(`${row.what} ${row.effect ?? ''}`.match(/\d[\d,]*/g) ?? []).map((text) => Number(text.replaceAll(',', ''))));

export const shownProblems = (all: ProblemRow[]) => all.filter((row) => { const at = dismissed.value[nameOf(row)]; return at === undefined || weight(row) > at; });

export function Problems() {
  const all = problems.value ?? [];
  const rows = shownProblems(all);
  const people = rows.filter((row) => row.severity === 'person').length;
  const hidden = all.length - rows.length;
  useEffect(() => { say(rows.length ? `${plural(rows.length, 'problem')}, ${people} need a person` : 'no problems'); }, [rows.length, people]);
  const side = hidden > 0 && <button type="button" class="link" onClick={() => { dismissed.value = {}; }}>{hidden} dismissed, show</button>;
  if (!rows.length) return <Panel class="calm"><p><Icon name="done" /> No problems: nothing needs a person.<span class="grow" />{side}</p></Panel>;
  return (
    <Panel class="problems" title={plural(rows.length, 'problem')} note={`${people} ${people === 1 ? 'needs' : 'need'} a person, ${rows.length - people} to watch`} side={side}>
      <ul>
        {rows.map((row) => (
          <li key={nameOf(row)} class={`problem ${row.severity}`} data-row={nameOf(row)} tabIndex={-1}>
            <Sign severity={row.severity} />
            <div class="problem-text"><b><bdi>{titled(row)}</bdi></b><span><bdi>{visible(row.effect ? (row.advice ? `${row.effect} · ${row.advice}` : row.effect) : row.advice ?? '')}</bdi></span></div>
            <div class="problem-age">{Number.isFinite(ms(row.since)) && <><span>{age((now.value - ms(row.since)) / 1000)}</span><small>since {minutes(ms(row.since))}</small></>}</div>
            <div class="problem-act"><Act row={row} />
              <button type="button" class="icon-button dismiss" title="dismiss until it worsens" aria-label={`dismiss: ${row.what}`} onClick={() => { dismissed.value = { ...dismissed.value, [nameOf(row)]: weight(row) }; }}><Icon name="close" size={12} /></button></div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

const titled = (row: ProblemRow) => visible(row.queue && !row.what.includes(row.queue) ? `${row.queue}: ${row.what}` : row.what);

function Act({ row }: { row: ProblemRow }) {
  if (!row.action) return null;
  if (/^resume/i.test(row.action.label) && row.queue) return <Button onClick={() => void resumeQueue(row.queue!)}>{row.action.label}</Button>;
  return <a class="button plain" href={base + row.action.href.replace(/^\//, '')} data-open>{row.action.label}</a>;
}
