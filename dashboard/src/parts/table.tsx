// Tables: real ones, whose rows become two lines on a phone. j and k move between rows (keys.ts).
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { setParams, param } from '../router';
import { Icon } from './icons';

export interface Column<Row> {
  key: string;
  head: ComponentChildren;
  cell: (row: Row) => ComponentChildren;
  num?: boolean;
  /// Where it stands on a phone: first or second line, left or right. Nothing: it is left out there.
  phone?: 'a' | 'b' | 'c' | 'd';
  /// Said behind a number that has no head on a phone.
  phoneWord?: string;
  /// Left out below 1,200 px.
  wide?: boolean;
  /// What rows are sorted by when its head is pressed.
  sort?: (row: Row) => number | string;
  class?: string;
}

export interface Selection<Row> { has: (row: Row) => boolean; toggle: (row: Row, isRange: boolean) => void; all: 'all' | 'some' | 'none'; toggleAll: () => void }

interface Properties<Row> {
  name: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  id: (row: Row) => string;
  selection?: Selection<Row>;
  isSelected?: (row: Row) => boolean;
  below?: (row: Row) => ComponentChildren;
  /// Sorting is in the address, as sort=-lag.
  sorts?: boolean;
  foot?: ComponentChildren;
  totals?: ComponentChildren;
  class?: string;
}

export function sorted<Row>(rows: readonly Row[], columns: Column<Row>[], by: string): readonly Row[] {
  const isDown = by.startsWith('-');
  const column = columns.find((each) => each.key === by.replace('-', ''));
  if (!column?.sort) return rows;
  const sort = column.sort;
  return [...rows].sort((a, b) => {
    const [x, y] = [sort(a), sort(b)];
    const order = typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y));
    return isDown ? -order : order;
  });
}

/// The columns that are left out first where a table is wider than its place: those for wide screens, those that a phone lacks, and the
/// last of a phone's, each from the right.
export function leastNeeded<Row>(columns: readonly Column<Row>[]): string[] {
  const from = (fits: (column: Column<Row>) => boolean) => columns.filter(fits).map((column) => column.key).reverse();
  return [...from((column) => !!column.wide), ...from((column) => !column.wide && !column.phone && column.class?.includes('c-act') !== true), ...from((column) => !column.wide && column.phone === 'd')];
}

/// Leaves out columns until the table fits; they come back when the place becomes wider, so nothing flickers while numbers change.
function useFit(order: string[]) {
  const box = useRef<HTMLDivElement>(null);
  const [left, setLeft] = useState(0);
  const [, setTurn] = useState(0); // so that it is measured again where no column was left out either
  useEffect(() => {
    let width = box.current!.clientWidth;
    const watch = new ResizeObserver(() => {
      const next = box.current?.clientWidth ?? width;
      if (next > width) { setLeft(0); setTurn((n) => n + 1); }
      else if (next < width) setLeft((n) => n + Number(isCut(box.current)));
      width = next;
    });
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => { if (left < order.length && isCut(box.current)) setLeft(left + 1); });
  return { box, out: new Set(order.slice(0, left)) };
}
const isCut = (box: HTMLElement | null) => box !== null && box.scrollWidth > box.clientWidth;

export function Table<Row>({ name, columns, rows, id, selection, isSelected, below, sorts, foot, totals, class: more = '' }: Properties<Row>) {
  const by = sorts ? param('sort') : '';
  const shown = sorts ? sorted(rows, columns, by) : rows;
  const span = columns.length + (selection ? 1 : 0);
  const { box, out } = useFit(leastNeeded(columns));
  const cellClass = (column: Column<Row>) => classes(column) + (out.has(column.key) ? ' out' : '');
  return (
    <div class="table-scroll" ref={box}>
      <table class={`table${selection ? ' selectable' : ''} ${more}`} role="table" aria-label={name}>
        <thead role="rowgroup">
          <tr role="row">
            {selection && <th class="check" role="columnheader"><Check label={`select all of ${name}`} state={selection.all} toggle={selection.toggleAll} /></th>}
            {columns.map((column) => <Head key={column.key} column={column} class={cellClass(column)} by={sorts ? by : null} />)}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {shown.map((row) => {
            const key = id(row);
            const isChosen = selection?.has(row) || isSelected?.(row);
            const more = below?.(row);
            return [
              <tr key={key} role="row" data-row={key} tabIndex={-1} class={isChosen ? 'selected' : undefined} aria-selected={selection ? !!isChosen : undefined}>
                {selection && <td class="check" role="cell"><Check label={`select ${key}`} state={isChosen ? 'all' : 'none'} toggle={(isRange) => selection.toggle(row, isRange)} /></td>}
                {columns.map((column) => <td key={column.key} role="cell" class={cellClass(column)} data-word={column.phoneWord}>{column.cell(row)}</td>)}
              </tr>,
              more && <tr key={`${key} below`} role="row" class="below"><td role="cell" colSpan={span}>{more}</td></tr>,
            ];
          })}
          {totals}
        </tbody>
      </table>
      {foot && <div class="table-foot">{foot}</div>}
    </div>
  );
}

function classes<Row>(column: Column<Row>) {
  return [column.num && 'r', column.phone ? `p-${column.phone}` : 'p-no', column.wide && 'wide', column.class].filter(Boolean).join(' ');
}

function Head<Row>({ column, by, class: more }: { column: Column<Row>; by: string | null; class: string }) {
  const isThis = by !== null && by.replace('-', '') === column.key;
  const isDown = isThis && by.startsWith('-');
  const next = isThis ? (isDown ? column.key : null) : `-${column.key}`;
  return (
    <th class={more} role="columnheader" scope="col" aria-sort={isThis ? (isDown ? 'descending' : 'ascending') : undefined}>
      {by !== null && column.sort
        ? <button type="button" class="sort" onClick={() => setParams({ sort: next }, 'replace')}>{column.head}{isThis && <span aria-hidden="true">{isDown ? ' ↓' : ' ↑'}</span>}</button>
        : column.head}
    </th>
  );
}

export function Check({ label, state, toggle }: { label: string; state: 'all' | 'some' | 'none'; toggle: (isRange: boolean) => void }) {
  return (
    <label class="check-box">
      <input type="checkbox" aria-label={label} checked={state === 'all'} ref={(box) => { if (box) box.indeterminate = state === 'some'; }}
        onClick={(event) => { toggle((event as MouseEvent).shiftKey); }} />
      <span aria-hidden="true">{state === 'all' ? <Icon name="done" size={12} /> : state === 'some' ? '−' : ''}</span>
    </label>
  );
}
