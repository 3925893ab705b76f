import type { ComponentChildren } from 'preact';

const shapes: Record<string, ComponentChildren> = {
  overview: <><rect x="2" y="2.5" width="5" height="4" rx="1" /><rect x="9" y="2.5" width="5" height="6" rx="1" /><rect x="2" y="8.5" width="5" height="5" rx="1" /><rect x="9" y="10.5" width="5" height="3" rx="1" /></>,
  queues: <path d="M2 4h12M2 8h9M2 12h6" />,
  jobs: <><path d="M6 4h8M6 8h8M6 12h8" /><path d="M2.6 4h.8M2.6 8h.8M2.6 12h.8" stroke-width="2" /></>,
  dead: <><rect x="2.5" y="2.5" width="11" height="11" rx="2" /><path d="m6 6 4 4m0-4-4 4" /></>,
  why: <><path d="M1.5 8H6M4 5.8 6.2 8 4 10.2" /><path d="M9.5 2v12M13.5 2v12" /></>,
  limits: <><path d="M2.2 12a6.2 6.2 0 1 1 11.6 0" /><path d="m8 9.5 2.6-3" /></>,
  windows: <><circle cx="8" cy="8" r="6" /><path d="M8 4.5V8l2.3 1.6" /></>,
  responses: <path d="M13.5 5H3m3-3L3 5l3 3M2.5 11H13m-3-3 3 3-3 3" />,
  periodic: <><path d="M13.5 7A5.7 5.7 0 0 0 3 5M2.5 9A5.7 5.7 0 0 0 13 11" /><path d="M3 2v3h3M13 14v-3h-3" /></>,
  nodes: <><rect x="2.5" y="2.5" width="11" height="4.5" rx="1.2" /><rect x="2.5" y="9" width="11" height="4.5" rx="1.2" /><path d="M5 4.8h.5M5 11.2h.5" stroke-width="1.8" /></>,
  sources: <><path d="M8 1.8v7.4M5 6.4 8 9.4l3-3" /><path d="M2.5 9.5v3.7h11V9.5" /></>,
  audit: <><path d="M4 1.8h5.5L12.5 5v9.2H4z" /><path d="M6.2 7.5h4M6.2 10.5h4" /></>,
  more: <path d="M3 8h.6M7.7 8h.6M12.4 8h.6" stroke-width="2.2" />,
  search: <><circle cx="7" cy="7" r="4.5" /><path d="m10.5 10.5 3.3 3.3" /></>,
  moon: <path d="M13.2 9.6A5.8 5.8 0 0 1 6.4 2.8a5.8 5.8 0 1 0 6.8 6.8z" />,
  sun: <><circle cx="8" cy="8" r="2.8" /><path d="M8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M12.8 3.2l-1.1 1.1M4.3 11.7l-1.1 1.1" /></>,
  close: <path d="m4 4 8 8m0-8-8 8" />,
  right: <path d="m6 3.5 4.5 4.5L6 12.5" />,
  down: <path d="M3.5 6 8 10.5 12.5 6" />,
  left: <path d="M10 3.5 5.5 8l4.5 4.5" />,
  arrow: <path d="M1.5 8h12.5M10.5 4.5 14 8l-3.5 3.5" />,
  link: <><path d="M6.8 9.2 9.8 6.2" /><path d="M7.5 4.6 9 3.1a2.7 2.7 0 0 1 3.9 3.9l-1.5 1.5M8.5 11.4 7 12.9A2.7 2.7 0 0 1 3.1 9l1.5-1.5" /></>,
  pause: <path d="M5.2 3.5v9M10.8 3.5v9" stroke-width="2" />,
  closed: <><path d="M2 8h6.5M6.2 5.6 8.6 8l-2.4 2.4" /><path d="M12 2.5v11" stroke-width="2.4" /></>,
  open: <><path d="M2 8h12" /><path d="M8 2.5V5M8 11v2.5" /></>,
  out: <path d="M6.5 2.5h-3v11h3M7 8h7m-2.5-2.5L14 8l-2.5 2.5" />,
  // states: shape and word carry the meaning
  due: <circle cx="8" cy="8" r="4.6" />,
  retrying: <><path d="M12.6 8A4.6 4.6 0 1 1 10.8 4.3" /><path d="M11 1.8v2.8H8.2" /></>,
  scheduled: <><circle cx="8" cy="8" r="5" stroke-dasharray="2.2 1.7" /><path d="M8 5.3V8l1.7 1" /></>,
  running: <path d="M5 3.4v9.2L12.4 8z" fill="currentColor" stroke-width="1" />,
  awaiting: <><circle cx="8" cy="8" r="4.8" /><path d="M8 3.2a4.8 4.8 0 0 1 0 9.6z" fill="currentColor" /></>,
  done: <path d="m3 8.5 3.2 3.2L13 4.5" stroke-width="1.8" />,
  discarded: <><circle cx="8" cy="8" r="5" /><path d="M5.5 8h5" /></>,
  cancelled: <><circle cx="8" cy="8" r="5" /><path d="m4.6 11.4 6.8-6.8" /></>,
  expired: <path d="M4 2.5h8M4 13.5h8M5 2.5c0 3 2.6 3.8 3 5.5.4-1.7 3-2.5 3-5.5M5 13.5c0-3 2.6-3.8 3-5.5.4 1.7 3 2.5 3 5.5" />,
  failed: <><path d="M12.6 8A4.6 4.6 0 1 1 10.8 4.3" /><path d="M11 1.8v2.8H8.2" /></>,
};

export function Icon({ name, size = 16 }: { name: string; size?: number }) {
  return (
    <svg class={`icon i-${name}`} width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">
      {shapes[name]}
    </svg>
  );
}

/// Octagon: a person is needed. Triangle: watch.
export function Sign({ severity }: { severity: 'person' | 'watch' }) {
  return severity === 'person'
    ? <svg class="sign person" width="16" height="16" viewBox="0 0 16 16" role="img" aria-label="needs a person"><path d="M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3z" fill="currentColor" /><path d="M8 4.5v4.2" stroke="var(--panel)" stroke-width="1.8" stroke-linecap="round" /><circle cx="8" cy="11.2" r="1.05" fill="var(--panel)" /></svg>
    : <svg class="sign watch" width="16" height="16" viewBox="0 0 16 16" role="img" aria-label="to watch"><path d="M8 2 14.6 13.6H1.4z" fill="none" stroke="currentColor" stroke-width="1.4" stroke-linejoin="round" /><path d="M8 6.3v3.4" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" /><circle cx="8" cy="11.6" r=".8" fill="currentColor" /></svg>;
}

export function Logo() {
  return (
    <svg class="logo" width="20" height="20" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d="M2 5h7M2 15h7" stroke="var(--mark)" stroke-width="2.4" stroke-linecap="round" />
      <path d="M2 10h10" stroke="var(--accent)" stroke-width="2.4" stroke-linecap="round" />
      <path d="M16.5 3v14" stroke="var(--ink)" stroke-width="2.4" stroke-linecap="round" />
    </svg>
  );
}
