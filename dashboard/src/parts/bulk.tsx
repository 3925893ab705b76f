// With a selection: count, filter and "as of" stand before any verb; each verb repeats the count.
import type { ComponentChildren } from 'preact';
import { count, time, visible } from '../words';
import { Button } from './bits';
import { Icon } from './icons';

export function Bulk({ number, text, tokens, asOf, clear, children }: { number: number | null; text: string; tokens: [string, string][]; asOf: number; clear: () => void; children: (n: string) => ComponentChildren }) {
  const n = number === null ? '' : count(number);
  return (
    <div class="bulk" role="region" aria-label="Selection">
      <span class="bulk-mark"><Icon name="done" size={12} /></span>
      <b>{number === null ? 'counting…' : `${n} selected`}</b>
      <span>{text}</span>
      <span class="bulk-tokens">{tokens.map(([name, value]) => <span class="token" key={name}><span>{name}</span> <b><bdi>{visible(value)}</bdi></b></span>)}</span>
      <span class="dim">as of {time(asOf)}</span>
      <span class="grow" />
      <span class="bulk-verbs"><Button kind="bare" onClick={clear}>Clear</Button>{number !== null && children(n)}</span>
    </div>
  );
}
