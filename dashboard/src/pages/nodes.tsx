// Who does the work?
import { isViewer, type List, type NodeInfo } from '../api';
import { quietNode, stopNode, whyNot } from '../actions';
import { useRead } from '../data';
import { stats } from '../live';
import { Button, Command, Dot, Empty, Failure, Id, Loading, Num, Panel, Since, Time } from '../parts/bits';
import { Sign } from '../parts/icons';
import { Menu } from '../parts/menu';
import { Table, type Column } from '../parts/table';
import { href } from '../router';
import { age, count, duration, nameText, plural, visible } from '../words';

const shownQueues = 6;

export function Nodes() {
  const read = useRead<List<NodeInfo>>('nodes', 2_000);
  const rows = (read.value?.items ?? []).toSorted((a, b) => Number(b.alive) - Number(a.alive));
  const alive = rows.filter((node) => node.alive);
  const failing = new Map((stats.value?.failing_nodes ?? []).map((node) => [node.id, node]));
  const threads = alive.reduce((n, node) => n + node.threads, 0);
  const versions = new Set(alive.map((node) => node.version).filter(Boolean));
  const columns: Column<NodeInfo>[] = [
    { key: 'id', head: 'Node', phone: 'a', sort: (node) => node.id, cell: (node) => <><span class="queue-name"><span class="queue-mark">{failing.has(node.id) ? <Sign severity="person" /> : null}</span><b class="mono">{node.id}</b></span><small class="indent" title={visible(node.host)}>{visible(node.host)}, pid {node.pid}</small></> },
    { key: 'state', head: 'State', phone: 'b', cell: (node) => (!node.alive ? <span class="dim">gone</span> : node.lost ? <b>lost</b> : node.quiet ? 'quiet' : 'takes jobs') },
    { key: 'version', head: 'Version', wide: true, cell: (node) => node.version ?? <span class="dim">not known</span> },
    { key: 'threads', head: 'Threads', num: true, phone: 'd', phoneWord: 'threads', sort: (node) => node.threads, cell: (node) => <Num n={node.threads} /> },
    { key: 'shards', head: 'Shards', num: true, sort: (node) => node.shards, cell: (node) => <Num n={node.shards} /> },
    { key: 'queues', head: 'Queues', phone: 'c', class: 'c-rest', cell: (node) => (node.queues.length ? <>{node.queues.slice(0, shownQueues).map((queue, i) => <span key={queue}>{i > 0 && ', '}<a class="plain" href={href('queues', queue)}>{queue}</a></span>)}{node.queues.length > shownQueues && <span class="dim" title={node.queues.join(', ')}> and {node.queues.length - shownQueues} more</span>}</> : <Dot word="none" />) },
    { key: 'clock', head: 'Clock', num: true, wide: true, cell: (node) => (node.clock === null ? <span class="dim">not known</span> : Math.abs(node.clock) < 0.5 ? <Dot word="right" /> : <span title="how far it is ahead of the store's">{node.clock > 0 ? '+' : '−'}{duration(Math.abs(node.clock))}</span>) },
    { key: 'heartbeat', head: 'Heard of', num: true, wide: true, sort: (node) => node.heartbeat_age, cell: (node) => <span title="since it renewed its leases last">{age(node.heartbeat_age)} ago</span> },
    { key: 'up', head: 'Up', num: true, wide: true, sort: (node) => node.started, cell: (node) => <Since at={node.started} /> },
    ...(isViewer() ? [] : [{ key: 'act', head: <span class="hidden">Actions</span>, class: 'c-act p-e', cell: (node: NodeInfo) => (node.alive ? <span class="row-actions">
      <Button class="small" why={whyNot('admin') || (node.quiet ? 'it is quiet already' : '')} aria-label={`Quiet ${node.id}`} onClick={() => quietNode(node.id)}>Quiet…</Button>
      <Menu name={`more for ${node.id}`} items={[{ name: 'Stop…', why: whyNot('admin'), isBad: true, act: () => stopNode(node.id, node.threads) }]} />
    </span> : null) }]),
  ];
  return (
    <>
      <div class="page-head"><h1>{read.value ? plural(alive.length, 'node') : 'Nodes'}</h1><span class="note">{count(stats.value?.total.running ?? 0)} of {count(threads)} threads busy{versions.size > 1 ? `, ${versions.size} versions` : ''}{rows.length > alive.length ? `, ${count(rows.length - alive.length)} gone` : ''}</span></div>
      {[...failing.values()].map((node) => <Panel key={node.id} class="problems" title={<span class="wrong"><Sign severity="person" /><span>{node.id} cannot do all its work</span></span>} side={!isViewer() && <Button kind="bad" why={whyNot('admin')} onClick={() => stopNode(node.id, rows.find((row) => row.id === node.id)?.threads ?? 0)}>Stop…</Button>}>
        <ul class="lines one">
          {node.commit_error && <li><span>What has ended there cannot be written, since <Time at={node.commit_error_since} />: {visible(node.commit_error)}</span></li>}
          {node.cannot_start.map((each) => <li key={each.queue + each.kind}><span>The program of <a href={href('queues', each.queue)}>{each.queue}</a>{each.kind !== each.queue ? `, kind ${visible(each.kind)},` : ''} cannot be started there: {visible(each.why)}</span></li>)}
          {node.stuck_runs.map((run) => <li key={nameText(run.id) + run.queue}><span><Id queue={run.queue} id={run.id} kind={run.kind} jobKey={run.key} /> of {run.queue} was asked to stop <Since at={run.since} /> ago, and goes on.</span></li>)}
        </ul>
      </Panel>)}
      {read.failure && !read.value ? <Failure text={read.failure} again={read.again} /> : !read.value ? <Panel><Loading rows={4} of="nodes" /></Panel>
        : !rows.length ? <Panel><Empty title="No node">Processes that run jobs are listed here: <Command text="ordo work" /></Empty></Panel>
          : <section class="panel two-rows" aria-label="Nodes"><Table name="Nodes" columns={columns} rows={rows} id={(node) => node.id} sorts /></section>}
    </>
  );
}
