// The line of gates: what waits stands left of the gate that refuses it.
import { questions, shownGates, type Gate, type Standing } from '../gates';
import { count } from '../words';
import type { ComponentChildren } from 'preact';

export function GateBar({ at, hrefOf, notes }: { at: Standing; hrefOf: (gate: Gate | 'ready') => string; notes?: Partial<Record<Gate, ComponentChildren>> }) {
  return (
    <ol class="gatebar" aria-label="Where waiting jobs stand, gate by gate">
      {shownGates(at).map((gate) => (
        <li key={gate} class={`gate ${at[gate] > 0 ? 'closed' : 'open'}`}>
          <a href={hrefOf(gate)} title={`${gate}: ${questions[gate]}`}><span class="gate-name">{gate}</span><span class="gate-count">{count(at[gate])}{notes?.[gate] && <small> {notes[gate]}</small>}</span></a>
        </li>
      ))}
      <li class="gate ready"><a href={hrefOf('ready')}><span class="gate-name">ready</span><span class="gate-count">{count(at.ready)}{at.unsorted > 0 && <small title="pushed a moment ago, or of a shard without an owner"> {count(at.unsorted)} not sorted yet</small>}</span></a></li>
    </ol>
  );
}

/// A row's share at each gate as one small bar: most held darkest.
export function ShareBar({ at }: { at: Standing }) {
  const all = at.waiting;
  if (all === 0) return <span class="share" aria-hidden="true" />;
  const pieces = [...shownGates(at).map((gate) => [gate, at[gate]] as const), ['ready', at.ready + at.unsorted] as const].filter(([, n]) => n > 0);
  const most = Math.max(...pieces.map(([, n]) => n));
  let x = 0;
  return (
    <svg class="share" width="76" height="8" viewBox="0 0 76 8" aria-hidden="true" focusable="false">
      {pieces.map(([gate, n]) => {
        const width = Math.max(1.5, (n / all) * 76);
        const piece = <rect key={gate} x={x} width={Math.max(1, Math.min(width, 76 - x) - 1)} height="8" rx="1" class={gate === 'ready' ? 'ready' : n === most ? 'most' : 'less'} />;
        x += width;
        return piece;
      })}
    </svg>
  );
}

/// Up to ten boxes, above that a bar.
export function Slots({ used, of }: { used: number; of: number }) {
  if (of > 10 || !Number.isInteger(of) || !Number.isInteger(used)) {
    const share = of > 0 ? Math.min(1, used / of) : 0;
    return <svg class="slots" width="180" height="9" viewBox="0 0 180 9" role="img" aria-label={`${used} of ${of} used`}><rect width="180" height="9" rx="1.5" class="track" /><rect width={share * 180} height="9" rx="1.5" class="used" /></svg>;
  }
  return (
    <svg class="slots" width={of * 18} height="9" viewBox={`0 0 ${of * 18} 9`} role="img" aria-label={`${used} of ${of} used`}>
      {Array.from({ length: of }, (_, i) => <rect key={i} x={i * 18 + 0.5} y="0.5" width="15" height="8" rx="1.5" class={i < used ? 'used' : 'free'} />)}
    </svg>
  );
}

export function Meter({ share, strong }: { share: number; strong?: boolean }) {
  return <svg class="meter" width="84" height="8" viewBox="0 0 84 8" aria-hidden="true" focusable="false"><rect width="82" height="8" rx="1.5" class="track" /><rect width={Math.min(1, Math.max(0, share)) * 82} height="8" rx="1.5" class={strong ? 'used' : 'mark'} /></svg>;
}

export function Spark({ values }: { values: (number | null)[] }) {
  const known = values.filter((v): v is number => v !== null);
  if (known.length < 2) return null;
  const top = Math.max(...known, 1e-9);
  const step = 62 / Math.max(1, values.length - 1);
  let isDown = false;
  const line = values.map((v, i) => {
    if (v === null) { isDown = false; return ''; }
    const text = `${isDown ? 'L' : 'M'}${(i * step).toFixed(1)} ${(12 - (v / top) * 10).toFixed(1)}`;
    isDown = true;
    return text;
  }).join('');
  const last = known[known.length - 1];
  return <svg class="spark" width="68" height="14" viewBox="0 0 68 14" aria-hidden="true" focusable="false"><path d={line} fill="none" stroke="currentColor" stroke-width="1.1" /><circle cx="62" cy={12 - (last / top) * 10} r="1.8" fill="currentColor" /></svg>;
}
