import { answerByHand } from '../actions';
import { refusal } from '../api';
import type { Link } from '../chain';
import { age, ms, nameText, now, time, visible, middle } from '../words';
import { Button, State, jobHref, keyHref } from './bits';
import { Icon } from './icons';
import { href } from '../router';

export function Chain({ links }: { links: Link[] }) {
  return (
    <ol class="chain">
      {links.map((link, i) => (
        <li key={i} class={i === links.length - 1 ? 'cause' : undefined}>
          {i > 0 && <span class="chain-arrow"><Icon name="arrow" size={18} /></span>}
          <div class="chain-box">{link.kind === 'job' ? <JobBox link={link} isFirst={i === 0} /> : <GateBox link={link} isFirst={i === 0} />}</div>
        </li>
      ))}
    </ol>
  );
}

function JobBox({ link, isFirst }: { link: Link & { kind: 'job' }; isFirst: boolean }) {
  const { job } = link;
  const since = job.state === 'queued' ? ms(job.run_at) : ms(job.started);
  return <><span>{isFirst ? 'first in line' : 'held by'}</span><a class="mono" href={jobHref(job.queue, job.id, job.kind, job.key)}><bdi>{middle(visible(nameText(job.id)), 22)}</bdi></a><span><State job={job} /> {Number.isFinite(since) && since < now.value && <span class="dim">for {age((now.value - since) / 1000)}</span>}</span></>;
}

function GateBox({ link, isFirst }: { link: Link & { kind: 'gate' }; isFirst: boolean }) {
  const { waits, queue } = link;
  const name = nameText(waits.name);
  return <><span>{isFirst ? 'it' : 'which'} waits for {waits.what}</span>{waits.what === 'key' && name ? <a class="mono" href={keyHref(queue, name)}><bdi>{middle(visible(name), 22)}</bdi></a> : <span class="mono"><bdi>{middle(visible(name || queue), 22)}</bdi></span>}<span>{waits.until ? `until ${time(ms(waits.until))}` : link.others > 0 ? `and ${link.others} more hold it` : waits.held_by.length ? 'until that ends' : 'holder not known'}</span></>;
}

/// The one thing that can be done at the last cause.
export function CauseAction({ links }: { links: Link[] }) {
  const last = links.at(-1);
  if (!last) return null;
  if (last.kind === 'gate') {
    const { waits, queue } = last;
    const name = nameText(waits.name);
    if (waits.what === 'response') return <Button kind="main" why={refusal('operator', queue)} onClick={() => answerByHand(queue, waits.name)}>Answer {middle(name, 20)}…</Button>;
    if (waits.what === 'pause') return <a class="button plain" href={href('queues', queue)}>Open queue</a>;
    if (waits.what === 'limit' || waits.what === 'rate' || waits.what === 'lock') return <a class="button plain" href={href('limits')}>Open limits and locks</a>;
    if (waits.what === 'window') return <a class="button plain" href={href('windows')}>Open windows</a>;
    if (waits.what === 'code') return <a class="button plain" href={href('nodes')}>Open nodes</a>;
    return null;
  }
  return <a class="button plain" href={jobHref(last.job.queue, last.job.id, last.job.kind, last.job.key)}>Open holder</a>;
}
