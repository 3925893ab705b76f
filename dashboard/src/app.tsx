// The frame of every page: rail, bar, the page itself, and what stands above it.
import { useEffect, useRef, useState } from 'preact/hooks';
import { loggedOut, me, post } from './api';
import { firstReads } from './data';
import { ageMs, by, failure, isStale, problems, start, stats, statsAt } from './live';
import { help, palette } from './notices';
import { pages, type Page } from './pages';
import { Loading } from './parts/bits';
import { Logo, Icon } from './parts/icons';
import { Notices } from './parts/notices';
import { Palette } from './parts/palette';
import { href, parts } from './router';
import { flipTheme, theme } from './theme';
import { clock, now, visible, zoneName, middle } from './words';
import { Audit } from './pages/audit';
import { Dead } from './pages/dead';
import { JobPage } from './pages/job';
import { Jobs } from './pages/jobs';
import { KeyPage } from './pages/key';
import { Limits } from './pages/limits';
import { Login } from './pages/login';
import { Missing } from './pages/missing';
import { More } from './pages/more';
import { Nodes } from './pages/nodes';
import { Overview } from './pages/overview';
import { PeriodicPage } from './pages/periodic';
import { QueuePage } from './pages/queue';
import { Queues } from './pages/queues';
import { Responses } from './pages/responses';
import { Sources } from './pages/sources';
import { Why } from './pages/why';
import { Windows } from './pages/windows';

interface Shown { rail: string; crumbs: [string, string?][]; body: preact.JSX.Element }

function shown(at: string[]): Shown {
  const [first = '', queue = '', what = '', name = ''] = at;
  const page = pages.find((each) => each.path === first);
  if (first === 'queues' && queue) {
    const inQueues: [string, string?][] = [['Queues', href('queues')]];
    if (!what) return { rail: 'queues', crumbs: [...inQueues, [queue]], body: <QueuePage key={queue} queue={queue} /> };
    if (what === 'keys' && name) return { rail: 'queues', crumbs: [...inQueues, [queue, href('queues', queue)], ['Keys'], [name]], body: <KeyPage key={`${queue} ${name}`} queue={queue} name={name} /> };
    if (what === 'jobs' && name) return { rail: 'jobs', crumbs: [['Jobs', href('jobs')], [queue, href('queues', queue)], [name]], body: <JobPage key={`${queue} ${name}`} queue={queue} id={name} /> };
  } else if (at.length <= 1) {
    const bodies: Record<string, () => preact.JSX.Element> = {
      '': () => <Overview />, queues: () => <Queues />, jobs: () => <Jobs />, dead: () => <Dead />, why: () => <Why />, limits: () => <Limits />, windows: () => <Windows />,
      responses: () => <Responses />, periodic: () => <PeriodicPage />, sources: () => <Sources />, nodes: () => <Nodes />, audit: () => <Audit />, more: () => <More />,
    };
    if (Object.hasOwn(bodies, first)) return { rail: first, crumbs: [[page?.name ?? 'More']], body: bodies[first]() };
  }
  return { rail: '', crumbs: [['Not found']], body: <Missing /> };
}

const mostHeld = 1_000;
const quietFor = 34; // two frames: what is read next begins in them

/// Holds a new page back until all that it asks first has come, so that it appears at once and nothing moves; from a slow server it appears
/// piece by piece after a second.
function useHold(page: string): boolean {
  const [shown, setShown] = useState<string | null>(null);
  const since = useRef({ page: '', at: 0 });
  if (since.current.page !== page || !since.current.at) since.current = { page, at: Date.now() };
  const isQuiet = firstReads.value === 0 && problems.value !== undefined && (stats.value !== null || failure.value !== '');
  useEffect(() => {
    if (shown === page) return;
    const left = Math.max(0, since.current.at + mostHeld - Date.now());
    const timer = window.setTimeout(() => setShown(page), isQuiet ? Math.min(quietFor, left) : left);
    return () => clearTimeout(timer);
  }, [page, isQuiet, shown]);
  return shown !== page;
}

export function App() {
  const { rail, crumbs, body } = shown(parts.value);
  const name = crumbs.at(-1)![0];
  useEffect(() => { document.title = `${visible(name)} · Ordo`; }, [name]);
  const isHeld = useHold(parts.value.join('/'));
  if (loggedOut.value) return <><Login /><Notices /></>;
  return (
    <div class={`shell${isStale.value ? ' stale' : ''}`}>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById('main')?.focus(); }}>Skip to the page</a>
      <Rail current={rail} />
      <Bar crumbs={crumbs} />
      <main id="main" tabIndex={-1}>
        {isHeld && <div class="page-loading"><Loading rows={12} of="the page" /></div>}
        <div class={isHeld ? 'held-back' : undefined}>{body}</div>
      </main>
      <Tabs current={rail} />
      <Notices />
      {palette.value && <Palette />}
    </div>
  );
}

function Rail({ current }: { current: string }) {
  const groups = ['', 'What holds jobs', 'System'] as const;
  return (
    <nav class="rail" aria-label="Pages">
      <a class="brand" href={href()}><Logo /><b>Ordo</b></a>
      {groups.map((group) => (
        <div key={group} class="rail-group">
          {group && <div class="rail-title">{group}</div>}
          <ul>{pages.filter((page) => page.group === group).map((page) => <li key={page.path}><RailLink page={page} isCurrent={page.path === current} /></li>)}</ul>
        </div>
      ))}
      <div class="rail-foot">
        <div class="rail-host">{location.host}</div>
        <div class="rail-who">{me.value && <span>{me.value.name ? `${me.value.name} · ${me.value.role}` : 'no log-in needed'}{me.value.read_only ? ' · read_only' : ''}</span>}
          {me.value?.csrf && <button type="button" class="icon-button" title="log out" aria-label="log out" onClick={() => { void post('logout').catch(() => {}).then(() => { loggedOut.value = true; }); }}><Icon name="out" size={14} /></button>}
        </div>
        <button type="button" class="kbd-button" aria-label="keys" title="keys" onClick={() => { help.value = true; }}>?</button>
      </div>
    </nav>
  );
}

function RailLink({ page, isCurrent }: { page: Page; isCurrent: boolean }) {
  const badge = stats.value && page.badge?.(stats.value);
  return <a href={page.path ? href(page.path) : href()} aria-current={isCurrent ? 'page' : undefined} title={page.name}><Icon name={page.icon} /><span class="rail-name">{page.name}</span>{badge && <span class="rail-badge">{badge}</span>}</a>;
}

function Bar({ crumbs }: { crumbs: [string, string?][] }) {
  return (
    <header class="bar">
      <a class="bar-logo" href={href()} aria-label="Overview"><Logo /></a>
      <nav class="crumbs" aria-label="Where you are">
        {crumbs.map(([name, link], i) => <span key={i} class={i === crumbs.length - 1 ? 'here' : 'above'}>{i > 0 && <i aria-hidden="true">/</i>}{link ? <a href={link}>{visible(name)}</a> : <bdi>{middle(visible(name), 40)}</bdi>}</span>)}
      </nav>
      <span class="grow" />
      <button type="button" class="find" aria-label="Find a queue, job, key or page" onClick={() => { palette.value = true; }}><Icon name="search" /><span>Find a queue, job, key or page</span><kbd aria-hidden="true" /></button>
      <Live />
      <span class="clock">{clock(now.value)} {zoneName()}</span>
      <button type="button" class="icon-button" aria-label={theme.value === 'dark' ? 'light theme' : 'dark theme'} title="theme (t)" onClick={flipTheme}><Icon name={theme.value === 'dark' ? 'sun' : 'moon'} /></button>
    </header>
  );
}

function Live() {
  const seconds = Math.round(ageMs.value / 1000);
  if (!statsAt.value) return <span class="live off"><i />{failure.value ? <><b>No answer</b> <button type="button" class="link" onClick={start}>try again</button></> : 'connecting'}</span>;
  if (isStale.value) return <span class="live off" title={failure.value}><i />{seconds} s old, reconnecting</span>;
  return <span class="live"><i />{by.value === 'events' ? 'Live' : 'Polling'}<span class="live-age"> · {seconds} s ago</span></span>;
}

function Tabs({ current }: { current: string }) {
  const tabs = ['', 'queues', 'jobs', 'why'].map((path) => pages.find((page) => page.path === path)!);
  const isMore = !tabs.some((page) => page.path === current);
  return (
    <nav class="tabs" aria-label="Main pages">
      {tabs.map((page) => <a key={page.path} href={page.path ? href(page.path) : href()} aria-current={page.path === current ? 'page' : undefined}><Icon name={page.icon} size={18} />{page.short ?? page.name}</a>)}
      <a href={href('more')} aria-current={isMore ? 'page' : undefined}><Icon name="more" size={18} />More</a>
    </nav>
  );
}
