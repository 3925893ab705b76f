// A cron rule in words, where it is one of the plain ones; else the rule as it is says enough.
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const names = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const monthNames = months.map((month) => month.slice(0, 3).toLowerCase());
const two = (n: string) => n.padStart(2, '0');
const isNumber = (text: string) => /^\d+$/.test(text);
const indexOf = (text: string, words: string[], from: number) => { const i = words.indexOf(text.toLowerCase()); return i >= 0 ? i : isNumber(text) ? Number(text) - from : NaN; };

function dayWords(text: string): string | null {
  if (text === '*') return '';
  const parts = text.split(',').map((part) => part.split('-').map((each) => days[indexOf(each, names, 0) % 7]));
  if (parts.some((part) => part.some((day) => day === undefined) || part.length > 2)) return null;
  return `on ${parts.map((part) => part.join(' to ')).join(', ')}`;
}

const ordinal = (n: number) => `${n}${n % 10 === 1 && n !== 11 ? 'st' : n % 10 === 2 && n !== 12 ? 'nd' : n % 10 === 3 && n !== 13 ? 'rd' : 'th'}`;

/// Null: it is none of the plain ones.
export function cronWords(rule: string): string | null {
  const fields = rule.trim().split(/\s+/);
  if (fields.length !== 5) return null;
  const [minute, hour, date, month, weekday] = fields;
  const week = dayWords(weekday);
  if (week === null) return null;
  let when: string;
  const every = /^\*\/(\d+)$/;
  if (minute === '*' && hour === '*') when = 'every minute';
  else if (every.test(minute) && hour === '*') when = `every ${every.exec(minute)![1]} minutes`;
  else if (isNumber(minute) && hour === '*') when = minute === '0' ? 'every hour' : `every hour at minute ${minute}`;
  else if (isNumber(minute) && every.test(hour)) when = `every ${every.exec(hour)![1]} hours at minute ${minute}`;
  else if (isNumber(minute) && hour.split(',').every(isNumber)) when = `at ${hour.split(',').map((h) => `${two(h)}:${two(minute)}`).join(' and ')}`;
  else return null;
  let which = '';
  if (date !== '*') {
    if (!date.split(',').every(isNumber)) return null;
    which = `on the ${date.split(',').map((n) => ordinal(Number(n))).join(' and ')}`;
    if (week) return null;
  }
  if (month !== '*') {
    const words = month.split(',').map((each) => months[indexOf(each, monthNames, 1)]);
    if (words.some((word) => word === undefined)) return null;
    which = `${which} ${which ? 'of' : 'in'} ${words.join(' and ')}`.trim();
  }
  const daily = when.startsWith('at ') && !which && !week ? ', daily' : '';
  return [when + daily, week, which].filter(Boolean).join(' ');
}
