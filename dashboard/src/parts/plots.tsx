// Stacked panels on one time axis. Lines are named at their ends; what is not known stays a gap; hovering reads all panels at once.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { minutes, time } from '../words';
import { theme } from '../theme';

export type Tone = 'accent' | 'ink' | 'mark' | 'red';
export interface Line { name: string; values: (number | null)[]; tone: Tone; fills?: boolean; end: string }
export interface PanelOfLines { name: string; unit: string; lines: Line[]; height: number; format: (value: number) => string }

const gutter = 116;
const axis = 48;

function color(tone: Tone | 'line' | 'soft' | 'ink3') {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${tone === 'ink' ? 'ink2' : tone}`).trim();
}

export function Plots({ times, panels, name }: { times: number[]; panels: PanelOfLines[]; name: string }) {
  const [at, setAt] = useState<number | null>(null);
  const index = at ?? -1;
  return (
    <div class="plots" role="group" aria-label={name}>
      {panels.map((panel, i) => (
        <figure key={panel.name} class="plot">
          <figcaption><b>{panel.name}</b> {panel.unit}{index >= 0 && times[index] !== undefined && <span class="plot-read">{i === 0 && `${time(times[index] * 1000)}  `}{panel.lines.map((line) => { const v = line.values[index]; return `${line.name} ${v == null ? 'not known' : panel.format(v)}`; }).join(' · ')}</span>}</figcaption>
          <Canvas times={times} panel={panel} isLast={i === panels.length - 1} hover={setAt} sync={name} />
        </figure>
      ))}
      <details class="plot-table"><summary>As a table</summary><PlotTable times={times} panels={panels} /></details>
    </div>
  );
}

function PlotTable({ times, panels }: { times: number[]; panels: PanelOfLines[] }) {
  const every = Math.max(1, Math.ceil(times.length / 12));
  const picked = times.map((_, i) => i).filter((i) => (times.length - 1 - i) % every === 0);
  const lines = panels.flatMap((panel) => panel.lines.map((line) => ({ panel, line })));
  return (
    <table>
      <thead><tr><th scope="col">Time</th>{lines.map(({ panel, line }) => <th scope="col" key={panel.name + line.name}>{panel.name}, {line.name}</th>)}</tr></thead>
      <tbody>{picked.map((i) => <tr key={i}><th scope="row">{minutes(times[i] * 1000)}</th>{lines.map(({ panel, line }) => <td key={panel.name + line.name}>{line.values[i] == null ? 'not known' : panel.format(line.values[i]!)}</td>)}</tr>)}</tbody>
    </table>
  );
}

interface End { text: string; tone: Tone; y: number }

/// Ends that would cover each other are moved apart, in their order.
export function apart(ends: End[], least: number, height: number): End[] {
  const sorted = [...ends].sort((a, b) => a.y - b.y);
  for (let i = 1; i < sorted.length; i++) sorted[i].y = Math.max(sorted[i].y, sorted[i - 1].y + least);
  for (let i = sorted.length - 1; i >= 0; i--) sorted[i].y = Math.min(sorted[i].y, i === sorted.length - 1 ? height : sorted[i + 1].y - least);
  return sorted;
}

function Canvas({ times, panel, isLast, hover, sync }: { times: number[]; panel: PanelOfLines; isLast: boolean; hover: (index: number | null) => void; sync: string }) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [ends, setEnds] = useState<End[]>([]);
  const latest = useRef(panel);
  latest.current = panel;
  const shape = `${panel.lines.map((line) => line.name + line.tone).join()} ${theme.value} ${isLast}`;
  const data = [times, ...panel.lines.map((line) => line.values)] as uPlot.AlignedData;

  const placeEnds = (u: uPlot) => {
    const height = u.bbox.height / devicePixelRatio;
    const found = latest.current.lines.flatMap((line): End[] => {
      const last = line.values.findLast((v): v is number => v !== null);
      return last === undefined ? [] : [{ text: line.end, tone: line.tone, y: u.valToPos(last, 'y') }];
    });
    setEnds(apart(found, 15, height));
  };

  useEffect(() => {
    const box = host.current!;
    const font = `11px ${getComputedStyle(document.documentElement).getPropertyValue('--sans')}`;
    const grid = { stroke: color('line'), width: 1 };
    const u = new uPlot({
      width: Math.max(120, box.clientWidth - gutter), height: panel.height + (isLast ? 24 : 6),
      legend: { show: false }, padding: [6, 4, isLast ? 0 : 6, 0],
      cursor: { sync: { key: sync }, points: { show: false }, drag: { x: false, y: false }, y: false },
      scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, Math.max(max * 1.08, 1e-6)] } },
      series: [{}, ...panel.lines.map((line): uPlot.Series => ({
        stroke: color(line.tone), width: line.tone === 'mark' ? 1.1 : 1.5, points: { show: false }, spanGaps: false,
        ...(line.fills ? { fill: color('soft') } : {}),
      }))],
      axes: [
        { show: isLast, grid: { show: false }, ticks: { show: false }, stroke: color('ink3'), font, size: 24, gap: 4, space: 70, values: (_u, splits) => splits.map((s) => minutes(s * 1000)) },
        { grid, ticks: { show: false }, stroke: color('ink3'), font, size: axis, gap: 6, space: 26, values: (_u, splits) => splits.map((s) => latest.current.format(s)) },
      ],
      hooks: { draw: [placeEnds], setCursor: [(one) => hover(one.cursor.idx ?? null)] },
    }, data, box);
    plot.current = u;
    const watch = new ResizeObserver(() => { if (box.clientWidth > 0) u.setSize({ width: Math.max(120, box.clientWidth - gutter), height: u.height }); });
    watch.observe(box);
    return () => { watch.disconnect(); u.destroy(); plot.current = null; };
  }, [shape]);

  useEffect(() => { plot.current?.setData(data); }, [times, panel]);

  return (
    <div class={`canvas ${isLast ? 'last' : ''}`} ref={host} style={{ minHeight: `${panel.height + (isLast ? 24 : 6)}px` }} role="img" aria-label={`${panel.name} ${panel.unit}: ${panel.lines.map((line) => line.end).join(', ')}`}>
      <div class="ends" aria-hidden="true">{ends.map((end) => <span key={end.text} class={`end t-${end.tone}`} style={{ top: `${end.y - 8 + 6}px` }}>{end.text}</span>)}</div>
    </div>
  );
}
