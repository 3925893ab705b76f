// Ctrl-K: finds pages, queues, jobs and keys, and acts.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, isViewer, query, refusal, seg, type Job, type List } from '../api';
import { pauseQueue, pushJob, resumeQueue } from '../actions';
import { each } from '../data';
import { stats } from '../live';
import { palette } from '../notices';
import { pages } from '../pages';
import { go, href, withParams } from '../router';
import { flipTheme } from '../theme';
import { count, nameText, visible } from '../words';
import { jobHref, keyHref, stateOf } from './bits';
import { Icon } from './icons';
import { Modal } from './notices';

interface Entry { icon: string; name: string; note: string; isMono?: boolean; act: () => void }
const most = 12;
const askedQueues = 40;

function found(text: string): Entry[] {
  const words = text.toLowerCase();
  const fits = (name: string) => name.toLowerCase().includes(words);
  const entries: Entry[] = pages.filter((page) => fits(page.name)).map((page) => ({ icon: page.icon, name: page.name, note: `g ${page.key}`, act: () => go(page.path ? href(page.path) : href()) }));
  for (const [name, counts] of Object.entries(stats.value?.by_queue ?? {})) {
    const verb = counts.paused ? 'resume' : 'pause';
    if (fits(name)) entries.push({ icon: 'queues', name, note: `queue, ${count(counts.length)} wait`, act: () => go(href('queues', name)) });
    if (words && !isViewer() && !refusal('operator', name)) {
      if (fits(`${verb} ${name}`) && words.length > 2) entries.push({ icon: 'pause', name: `${verb} ${name}`, note: `${count(counts.length)} wait`, act: () => void (counts.paused ? resumeQueue(name) : pauseQueue(name)) });
      if (fits(`push to ${name}`) && words.length > 2) entries.push({ icon: 'arrow', name: `push to ${name}…`, note: '', act: () => pushJob(name) });
    }
  }
  if (fits('light or dark theme') && words) entries.push({ icon: 'moon', name: 'light or dark theme', note: 't', act: flipTheme });
  return entries;
}

/// Jobs of that id or key, in any queue; "order 4711" finds 4711, too.
async function jobsOf(text: string, stop: AbortSignal): Promise<Entry[]> {
  const queues = Object.keys(stats.value?.by_queue ?? {}).slice(0, askedQueues);
  const ask = (queue: string, filter: Record<string, string>) => get<List<Job>>(`queues/${seg(queue)}/jobs${query({ ...filter, limit: 3 })}`, stop);
  const answers = await each(queues, async (queue): Promise<Entry[]> => {
    const byId = await ask(queue, { id: text });
    const byKey = await ask(queue, { key: text });
    const jobs = byId.items.map((job): Entry => ({ icon: 'jobs', name: nameText(job.id), note: `${queue}, ${stateOf(job)}`, isMono: true, act: () => go(jobHref(queue, job.id, job.kind, job.key)) }));
    if (byKey.items.length && (byKey.items.length > 1 || nameText(byKey.items[0].id) !== text)) jobs.push({ icon: 'why', name: text, note: `key in ${queue}`, isMono: true, act: () => go(keyHref(queue, text)) });
    return jobs;
  });
  return answers.flatMap((entries) => entries ?? []);
}

async function namedIn(text: string, stop: AbortSignal): Promise<Entry[]> {
  const whole = await jobsOf(text, stop);
  const last = text.split(/\s+/).at(-1)!;
  return whole.length || last === text ? whole : jobsOf(last, stop);
}

export function Palette() {
  const [text, setText] = useState('');
  const wanted = text.trim();
  const [chosen, setChosen] = useState(0);
  const [jobs, setJobs] = useState<Entry[]>([]);
  /// The text whose jobs are known.
  const [answered, setAnswered] = useState('');
  const isDue = useRef(false);
  const input = useRef<HTMLInputElement>(null);
  const close = () => { palette.value = false; };
  useEffect(() => { input.current?.focus(); }, []);
  useEffect(() => {
    setJobs([]);
    isDue.current = false;
    if (!wanted) return;
    const stop = new AbortController();
    const timer = setTimeout(() => { namedIn(wanted, stop.signal).then(setJobs, () => {}).finally(() => { if (!stop.signal.aborted) setAnswered(wanted); }); }, 180);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [wanted]);
  const isAsking = wanted !== '' && answered !== wanted;
  const entries = [...jobs, ...found(wanted)].slice(0, most);
  if (wanted) entries.push({ icon: 'search', name: `jobs with “${wanted}” in payload or error`, note: 'scans', act: () => go(withParams(href('jobs'), { q: wanted })) });
  const at = Math.min(chosen, entries.length - 1);
  // Enter that is quicker than the answer means what will be found.
  useEffect(() => { if (!isAsking && isDue.current && entries[at]) use(entries[at]); }, [isAsking]);
  const use = (entry: Entry) => { close(); setTimeout(entry.act); };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setChosen(Math.min(entries.length - 1, at + 1));
    else if (event.key === 'ArrowUp') setChosen(Math.max(0, at - 1));
    else if (event.key === 'Enter') { if (isAsking && chosen === 0) isDue.current = true; else if (entries[at]) use(entries[at]); } else return;
    event.preventDefault();
  };
  return (
    <Modal name="Find or act" close={close} class="palette">
      <div class="palette-field"><Icon name="search" /><input ref={input} value={text} placeholder="Find a queue, job, key or page, or act" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={`palette-${at}`} aria-label="Find or act" autocomplete="off" spellcheck={false}
        onInput={(event) => { setText(event.currentTarget.value); setChosen(0); }} onKeyDown={onKeyDown} /></div>
      <ul id="palette-list" role="listbox" aria-label="Found">
        {entries.map((entry, i) => <li key={`${entry.name} ${entry.note}`} id={`palette-${i}`} role="option" aria-selected={i === at} class={i === at ? 'chosen' : undefined} onMouseMove={() => setChosen(i)} onClick={() => use(entry)}><Icon name={entry.icon} /><span class={entry.isMono ? 'mono' : undefined}><bdi>{visible(entry.name)}</bdi></span><small>{entry.note}</small></li>)}
      </ul>
      <footer class="palette-foot"><kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close{isAsking && <span class="dim"> asking the queues…</span>}</footer>
    </Modal>
  );
}
