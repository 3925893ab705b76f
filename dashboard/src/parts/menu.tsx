// A button that opens a few more verbs.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './bits';
import { Icon } from './icons';

export interface Item { name: string; why?: string; isBad?: boolean; act: () => void }

export function Menu({ name, items }: { name: string; items: Item[] }) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    box.current?.querySelector<HTMLElement>('.menu-items button')?.focus();
    const close = (event: Event) => { if (!box.current?.contains(event.target as Node)) setOpen(false); };
    document.addEventListener('mousedown', close);
    return () => document.removeEventListener('mousedown', close);
  }, [isOpen]);
  const shut = () => { setOpen(false); box.current?.querySelector<HTMLElement>('button')?.focus(); };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen) return;
    const all = [...box.current!.querySelectorAll<HTMLElement>('.menu-items button')];
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === 'Escape') shut();
    else if (event.key === 'ArrowDown') all[(at + 1) % all.length].focus();
    else if (event.key === 'ArrowUp') all[(at - 1 + all.length) % all.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" ref={box} onKeyDown={onKeyDown}>
      <button type="button" class="button plain square" aria-haspopup="true" aria-expanded={isOpen} aria-label={name} onClick={() => setOpen(!isOpen)}><Icon name="more" size={14} /></button>
      {isOpen && <div class="menu-items">{items.map((item) => <Button key={item.name} kind={item.isBad ? 'bad' : 'bare'} why={item.why} onClick={() => { shut(); item.act(); }}>{item.name}</Button>)}</div>}
    </div>
  );
}
