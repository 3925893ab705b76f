// /stats/history as plots: the last hour, from the serving process. What it does not know is left out.
import { useMemo } from 'preact/hooks';
import { get, query, type History } from './api';
import { useRead, useReadBy, each, type Read } from './data';
import { param } from './router';
import type { PanelOfLines, Line } from './parts/plots';
import { age, duration, rate, roundDuration } from './words';

export const spans: [string, string][] = [['15m', '15m'], ['1h', '1h']];
const seconds: Record<string, number> = { '15m': 900, '1h': 3600 };
export const spanOf = () => (param('span') in seconds ? param('span') : '1h');
const steps: Record<string, number> = { '15m': 10, '1h': 30 };

export const toSeconds = (at: string | number) => (typeof at === 'number' ? (at > 1e11 ? at / 1000 : at) : Date.parse(at) / 1000);

/// Counts come as sums of a step. The last step is not over yet, so it is left out.
export function perSecond(history: History, step: number): History {
  const whole = (values?: (number | null)[]) => values?.slice(0, -1);
  const rate = (values?: (number | null)[]) => whole(values)?.map((n) => (n === null ? null : n / step));
  return { ...history, times: history.times.slice(0, -1), pushed: rate(history.pushed), done: rate(history.done), failed: rate(history.failed), dead: rate(history.dead), lag: whole(history.lag), run_p50: whole(history.run_p50), run_p95: whole(history.run_p95), wait_p50: whole(history.wait_p50), wait_p95: whole(history.wait_p95) };
}

export function useHistory(queue?: string, kind?: string): Read<History> {
  const span = spanOf();
  const read = useRead<History>(`stats/history${query({ queue, kind, from: `-${seconds[span]}s`, step: `${steps[span]}s` })}`, 10_000);
  const value = useMemo(() => read.value && perSecond(read.value, steps[span]), [read.value]);
  return { ...read, value };
}

/// A line of each queue, for the small plots of tables.
export function useSparks(queues: string[], most = 24): Record<string, History> {
  const asked = queues.slice(0, most);
  const read = useReadBy(asked.length ? `sparks ${asked.join()}` : null, async (stop) => {
    const first = await get<History>(`stats/history${query({ queue: asked[0], from: '-3600s', step: '120s' })}`, stop);
    const rest = await each(asked.slice(1), (queue) => get<History>(`stats/history${query({ queue, from: '-3600s', step: '120s' })}`, stop));
    return Object.fromEntries([first, ...rest].map((history, i) => [asked[i], history]).filter(([, history]) => history)) as Record<string, History>;
  }, 60_000, 'late');
  return read.value ?? {};
}

const lastOf = (values?: (number | null)[]) => values?.findLast((v): v is number => v !== null) ?? null;
const isKnown = (values?: (number | null)[]): values is (number | null)[] => !!values?.some((v) => v !== null);

export function throughput(history: History, height = 96): PanelOfLines | null {
  const lines: Line[] = [];
  if (isKnown(history.done)) lines.push({ name: 'ended', values: history.done, tone: 'accent', fills: true, end: `ended ${rate(lastOf(history.done) ?? 0)}` });
  if (isKnown(history.pushed)) lines.push({ name: 'pushed', values: history.pushed, tone: 'mark', end: `pushed ${rate(lastOf(history.pushed) ?? 0)}` });
  if (isKnown(history.failed) && history.failed.some((v) => (v ?? 0) > 0)) lines.push({ name: 'failed', values: history.failed, tone: 'red', end: `failed ${rate(lastOf(history.failed) ?? 0)}` });
  return lines.length ? { name: 'Throughput', unit: 'jobs per second', lines, height, format: (v) => (v >= 10 || v === 0 ? String(Math.round(v)) : v.toFixed(1)) } : null;
}

export function lagOf(lines: { name: string; values?: (number | null)[]; tone?: Line['tone'] }[], height = 84): PanelOfLines | null {
  const known = lines.filter((line) => isKnown(line.values));
  if (!known.length) return null;
  return { name: 'Lag', unit: known.length > 1 ? 'by queue' : 'since the oldest run_at', height, format: roundDuration,
    lines: known.map((line) => ({ name: line.name, values: line.values!, tone: line.tone ?? 'ink', end: `${known.length > 1 ? `${line.name} ` : ''}${age(lastOf(line.values) ?? 0)}` })) };
}

export function runTimes(history: History, height = 84): PanelOfLines | null {
  const lines: Line[] = [];
  if (isKnown(history.run_p95)) lines.push({ name: '95 of 100', values: history.run_p95, tone: 'mark', end: `95 of 100: ${duration(lastOf(history.run_p95) ?? 0)}` });
  if (isKnown(history.run_p50)) lines.push({ name: 'half', values: history.run_p50, tone: 'accent', end: `half: ${duration(lastOf(history.run_p50) ?? 0)}` });
  return lines.length ? { name: 'Run time', unit: '', lines, height, format: roundDuration } : null;
}
