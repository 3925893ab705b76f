// A filter as tokens: what is typed after "key:" narrows by the key, and so on, several at once too; other words are looked for in the text.
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { parseFilters } from '../filter';
import { param, setParams } from '../router';
import { visible } from '../words';
import { Icon } from './icons';

export interface Filter { name: string; what: string; note: string }
interface Offer { pairs: [string, string][]; what: string; note: string }

export function FilterBar({ filters, fixed, text, side }: { filters: Filter[]; fixed?: [string, string][]; text?: Filter; side?: ComponentChildren }) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const all = text ? [...filters, text] : filters;
  const tokens = all.map((filter) => [filter.name, param(filter.name)] as const).filter(([, value]) => value);
  const pairs = parseFilters(typed, all.filter((filter) => filter !== text).map((filter) => filter.name), text?.name);
  const isNamed = pairs.some(([name]) => name !== text?.name);
  const offers = offersOf();
  const at = Math.min(chosen, offers.length - 1);
  const add = (offer: Offer) => {
    setTyped('');
    setChosen(0);
    setParams({ ...Object.fromEntries(offer.pairs), cursor: null });
  };
  /// All that is named at once; text alone may be meant for any filter.
  function offersOf(): Offer[] {
    const whatOf = (name: string) => all.find((filter) => filter.name === name)!;
    if (isNamed) return [{ pairs, what: pairs.length === 1 ? whatOf(pairs[0][0]).what : `${pairs.length} filters`, note: pairs.length === 1 ? whatOf(pairs[0][0]).note : 'all of them' }];
    if (!typed.trim()) return [];
    return all.filter(({ name }) => name !== 'queue' && name !== 'state').map((filter) => ({ ...filter, pairs: [[filter.name, typed.trim()]] }));
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' && offers.length) setChosen(Math.min(offers.length - 1, at + 1));
    else if (event.key === 'ArrowUp' && offers.length) setChosen(Math.max(0, at - 1));
    else if (event.key === 'Enter') { if (offers[at]) add(offers[at]); } else if (event.key === 'Backspace' && !typed && tokens.length) setParams({ [tokens.at(-1)![0]]: null, cursor: null });
    else return;
    event.preventDefault();
  };
  return (
    <div class="filterbar" onClick={(event) => { if (event.target === event.currentTarget) input.current?.focus(); }}>
      <Icon name="search" />
      {(fixed ?? []).map(([name, fixedValue]) => <span class="token fixed" key={name}><span>{name}</span> <b>{fixedValue}</b></span>)}
      {tokens.map(([name, tokenValue]) => (
        <span class="token" key={name}><span>{name}</span> <b><bdi>{visible(tokenValue)}</bdi></b><button type="button" aria-label={`take off ${name} ${tokenValue}`} onClick={() => setParams({ [name]: null, cursor: null })}><Icon name="close" size={10} /></button></span>
      ))}
      <input ref={input} data-filter value={typed} aria-label="Filter" role="combobox" aria-expanded={isOpen && offers.length > 0} aria-controls="filter-offers" spellcheck={false} autocomplete="off"
        placeholder={tokens.length ? 'add a filter' : `add ${filters.map((filter) => `${filter.name}:`).join(' ')}${text ? ' or text' : ''}`}
        onInput={(event) => { setTyped(event.currentTarget.value); setChosen(0); setOpen(true); }} onKeyDown={onKeyDown} onFocus={() => setOpen(true)} onBlur={() => setTimeout(() => setOpen(false), 150)} />
      <span class="filter-side">{side}</span>
      {isOpen && offers.length > 0 && (
        <div class="offers">
          <ul id="filter-offers" role="listbox" aria-label="Filters">
            {offers.map((offer, i) => <li key={offer.what} role="option" aria-selected={i === at} class={i === at ? 'chosen' : undefined} onMouseMove={() => setChosen(i)} onMouseDown={(event) => { event.preventDefault(); add(offer); }}><code>{offer.pairs.map(([name, value]) => `${name === text?.name ? 'text' : name}:${value}`).join(' ')}</code><span>{offer.what}</span><small>{offer.note}</small></li>)}
          </ul>
          <div class="offers-foot"><kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> add <kbd>Backspace</kbd> takes the last filter off</div>
        </div>
      )}
    </div>
  );
}
