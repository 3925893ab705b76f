// A filter as tokens: what is typed after "key:" narrows by the key, and so on; other words are looked for in the text.
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { param, setParams } from '../router';
import { visible } from '../words';
import { Icon } from './icons';

export interface Filter { name: string; what: string; note: string }

export function FilterBar({ filters, fixed, text, side }: { filters: Filter[]; fixed?: [string, string][]; text?: Filter; side?: ComponentChildren }) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const [isOpen, setOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const all = text ? [...filters, text] : filters;
  const tokens = all.map((filter) => [filter.name, param(filter.name)] as const).filter(([, value]) => value);
  const [, named, rest] = /^([a-z_]+):\s*(.*)$/.exec(typed) ?? [];
  const value = (named ? rest : typed).trim();
  const offers = !value ? [] : named ? all.filter((filter) => filter.name === named) : all.filter((filter) => filter.name !== 'queue' && filter.name !== 'state');
  const at = Math.min(chosen, offers.length - 1);
  const add = (filter: Filter) => {
    setTyped('');
    setChosen(0);
    setParams({ [filter.name]: value, cursor: null });
  };
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
            {offers.map((filter, i) => <li key={filter.name} role="option" aria-selected={i === at} class={i === at ? 'chosen' : undefined} onMouseMove={() => setChosen(i)} onMouseDown={(event) => { event.preventDefault(); add(filter); }}><code>{filter === text ? 'text' : filter.name}:{value}</code><span>{filter.what}</span><small>{filter.note}</small></li>)}
          </ul>
          <div class="offers-foot"><kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> add <kbd>Backspace</kbd> takes the last filter off</div>
        </div>
      )}
    </div>
  );
}
