// How numbers, times and names are written. Times are shown in UTC, or in the zone of the browser by choice.
import { signal } from '@preact/signals';
import { kept } from './storage';

export const zone = kept<'utc' | 'local'>('zone', 'utc');
/// The second in which the page shows ages; the ages of one page agree.
export const now = signal(Date.now());

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export const count = (n: number) => whole.format(n);
export const jobs = (n: number) => `${count(n)} ${n === 1 ? 'job' : 'jobs'}`;
export const plural = (n: number, word: string, many = word + 's') => `${count(n)} ${n === 1 ? word : many}`;

/// 22.4, 186, 0.1
export function rate(n: number) {
  if (n >= 100) return whole.format(n);
  const text = n >= 10 ? n.toFixed(0) : n.toFixed(1);
  return text === '0.0' && n > 0 ? '<0.1' : text;
}

/// "18m 27s", "3h 29m", "5.4s", "20 ms"
export function duration(seconds: number): string {
  const s = Math.max(0, seconds);
  if (s < 0.9995) return `${Math.round(s * 1000)} ms`;
  if (s < 9.95) return `${s.toFixed(1)}s`;
  if (s < 59.5) return `${Math.round(s)}s`;
  const t = Math.round(s);
  const two = (n: number) => String(n).padStart(2, '0');
  if (t < 3600) return `${Math.floor(t / 60)}m ${two(t % 60)}s`;
  if (t < 86400) return `${Math.floor(t / 3600)}h ${two(Math.floor((t % 3600) / 60))}m`;
  return `${Math.floor(t / 86400)}d ${Math.floor((t % 86400) / 3600)}h`;
}

/// Without the seconds that are none: for axes.
export const roundDuration = (seconds: number) => (seconds === 0 ? '0' : duration(seconds).replace(/ 00[sm]$|(?<=d) 0h$/, ''));

/// An age in whole seconds, which does not flicker: "3s", "9m 19s"
export const age = (seconds: number) => (seconds < 1 ? '0s' : seconds < 59.5 ? `${Math.round(seconds)}s` : duration(seconds));

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function fields(ms: number) {
  const at = new Date(zone.value === 'utc' ? ms : ms - new Date(ms).getTimezoneOffset() * 60_000);
  const two = (n: number) => String(n).padStart(2, '0');
  return {
    day: Math.floor(at.getTime() / 86_400_000),
    weekday: days[at.getUTCDay()],
    date: `${at.getUTCDate()} ${months[at.getUTCMonth()]}`,
    year: at.getUTCFullYear(),
    minutes: `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`,
    seconds: two(at.getUTCSeconds()),
    millis: String(at.getUTCMilliseconds()).padStart(3, '0'),
    iso: `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`,
  };
}

/// "14:28:44" today, "Mon 06:00" within six days, else "14 Mar 06:00", with the year if it is another one.
export function time(ms: number, from = now.value): string {
  const at = fields(ms);
  const today = fields(from);
  const distance = Math.abs(at.day - today.day);
  if (distance === 0) return `${at.minutes}:${at.seconds}`;
  if (distance <= 6) return `${at.weekday} ${at.minutes}`;
  return `${at.date}${at.year === today.year ? '' : ` ${at.year}`} ${at.minutes}`;
}

export const clock = (ms: number) => { const at = fields(ms); return `${at.weekday} ${at.minutes}:${at.seconds}`; };
export const minutes = (ms: number) => fields(ms).minutes;
export const zoneName = () => (zone.value === 'utc' ? 'UTC' : 'local');
/// The whole of it, for tooltips.
export const fullTime = (ms: number) => { const at = fields(ms); return `${at.iso} ${at.minutes}:${at.seconds}.${at.millis} ${zoneName()}`; };
/// What the API takes as a moment: today and yesterday begin at midnight of the zone that times are shown in.
export function momentOf(text: string, at = Date.now()) {
  const days = ['today', 'yesterday'].indexOf(text.trim().toLowerCase());
  if (days < 0) return text;
  const day = new Date(at);
  if (zone.value === 'utc') day.setUTCHours(-24 * days, 0, 0, 0);
  else { day.setHours(0, 0, 0, 0); day.setDate(day.getDate() - days); }
  return day.toISOString();
}
export const ms = (text: string | null | undefined) => (text ? Date.parse(text) : NaN);

export function bytes(n: number) {
  if (n < 1024) return plural(n, 'byte');
  if (n < 1000 * 1024) return `${(n / 1024).toFixed(1)} KiB`;
  return `${(n / 1024 / 1024).toFixed(1)} MiB`;
}

/// Long ids are cut in the middle: what tells them apart is often at the end.
export function middle(text: string, most = 28) {
  const letters = [...text];
  if (letters.length <= most) return text;
  const head = Math.ceil((most - 1) * 0.55);
  return letters.slice(0, head).join('') + '…' + letters.slice(letters.length - (most - 1 - head)).join('');
}

/// Text of others: letters that would turn or hide what stands around them are shown as what they are.
export function visible(text: string) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/// Names and ids that are not UTF-8 come as {"$base64": …}.
export type Name = string | { $base64: string };
export const nameText = (name: Name | null | undefined) => (name == null ? '' : typeof name === 'string' ? name : `base64:${name.$base64}`);
