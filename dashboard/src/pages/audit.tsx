// Who did what?
import { get, query, type AuditEntry, type List } from '../api';
import { useRead, useReadBy } from '../data';
import { Button, Empty, Failure, Loading, Mono, Num, Panel, Time } from '../parts/bits';
import { Table } from '../parts/table';
import { href, param, setParams } from '../router';
import { count } from '../words';

const page = 50;
const entryId = (entry: AuditEntry) => `${entry.at} ${entry.who} ${entry.action} ${entry.queue ?? ''} ${JSON.stringify(entry.filter)}`;

function filterText(filter: unknown): string {
  if (filter === null || filter === undefined) return '';
  if (typeof filter !== 'object') return String(filter);
  return Object.entries(filter as Record<string, unknown>).map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`).join(', ');
}

export function Audit() {
  const cursor = param('cursor');
  const read = useReadBy(`audit ${cursor}`, (stop) => get<List<AuditEntry>>(`audit${query({ limit: page, cursor })}`, stop));
  const newest = useRead<List<AuditEntry>>(read.value && !cursor ? `audit?limit=${page}` : null, 5_000);
  const rows = read.value?.items ?? [];
  const known = new Set(rows.map(entryId));
  const fresh = cursor ? 0 : (newest.value?.items ?? []).filter((entry) => !known.has(entryId(entry))).length;
  const save = () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob(rows.map((row) => `${JSON.stringify(row)}\n`), { type: 'application/x-ndjson' }));
    link.download = 'ordo-audit.ndjson';
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <>
      <div class="page-head"><h1>Audit</h1><span class="note">changes by people and programs, newest first; no payloads</span><span class="grow" />{rows.length > 0 && <Button onClick={save}>Export {count(rows.length)}</Button>}</div>
      {fresh > 0 && <button type="button" class="new-line" onClick={read.again}>{count(fresh)} new, show</button>}
      {read.isUnknown ? <Panel><Empty title="The audit is not known">This server keeps none.</Empty></Panel>
        : read.failure && !read.value ? <Failure text={read.failure} again={read.again} />
          : !read.value ? <Panel><Loading rows={10} of="the audit" /></Panel>
            : !rows.length ? <Panel><Empty title="Nothing was changed yet">Pausing, cancelling, retrying and all other changes are listed here, with who asked for them.</Empty></Panel>
              : <section class="panel" aria-label="Audit"><Table name="Audit" rows={rows.map((entry, i) => ({ entry, i }))} id={(row) => `${row.i} ${entryId(row.entry)}`}
                foot={<><span>{count(rows.length)}{read.value.next ? ', older ones follow' : ', to the oldest'}</span>{read.value.next && <button type="button" class="link" onClick={() => setParams({ cursor: read.value!.next })}>Next {page}</button>}{cursor && <button type="button" class="link" onClick={() => setParams({ cursor: null })}>Newest</button>}</>} columns={[
                  { key: 'at', head: 'Time', phone: 'b', cell: ({ entry }) => <Time at={entry.at} /> },
                  { key: 'who', head: 'Who', phone: 'c', cell: ({ entry }) => <Mono text={entry.who} most={30} /> },
                  { key: 'action', head: 'Action', phone: 'a', cell: ({ entry }) => <b>{entry.action}</b> },
                  { key: 'queue', head: 'Queue', cell: ({ entry }) => (entry.queue ? <a class="plain" href={href('queues', entry.queue)}>{entry.queue}</a> : '') },
                  { key: 'filter', head: 'Of what', class: 'c-rest', cell: ({ entry }) => <Mono text={filterText(entry.filter)} most={100} /> },
                  { key: 'count', head: 'Count', num: true, wide: true, cell: ({ entry }) => <Num n={entry.count ?? 0} /> },
                  { key: 'result', head: 'Result', phone: 'd', cell: ({ entry }) => entry.result },
                ]} /></section>}
    </>
  );
}
