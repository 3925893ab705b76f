// Toasts, the dialog and the live region.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { dropToast, help, question, spoken, toasts, type Question } from '../notices';
import type { ComponentChildren } from 'preact';
import { keysOn } from '../keys';
import { now, zone } from '../words';
import { Button } from './bits';
import { Icon } from './icons';

export function Notices() {
  return (
    <>
      <div class="hidden" role="status" aria-live="polite">{spoken.value}</div>
      <div class="toasts">
        {toasts.value.map((each) => (
          <div class={`toast${each.isBad ? ' bad' : ''}`} key={each.id}>
            <span>{each.text}</span>
            {each.undo && <button type="button" onClick={() => { dropToast(each.id); each.undo!(); }}>Undo</button>}
            {each.undo ? <small>{Math.max(0, Math.ceil((each.until - now.value) / 1000))} s</small> : <button type="button" class="x" aria-label="dismiss" onClick={() => dropToast(each.id)}><Icon name="close" size={14} /></button>}
          </div>
        ))}
      </div>
      {question.value && <Dialog key={question.value.title} of={question.value} />}
      {help.value && <Help />}
    </>
  );
}

/// A modal part of the page: the focus goes in, stays in, and comes back.
export function Modal({ name, close, class: more = '', children }: { name: string; close: () => void; class?: string; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => { // an effect ends only after the dialog is gone
    const before = document.activeElement as HTMLElement | null;
    const dialog = box.current!;
    dialog.showModal();
    return () => {
      dialog.close(); // as long as it is open, nothing else can have the focus
      before?.focus?.({ preventScroll: true });
    };
  }, []);
  return (
    <dialog ref={box} class={`modal ${more}`} aria-label={name} onCancel={(event) => { event.preventDefault(); close(); }} onMouseDown={(event) => { if (event.target === box.current) close(); }}>
      {children}
    </dialog>
  );
}

/// A count may be typed with its commas or without.
export const isTyped = (text: string, wanted: string | undefined) => wanted === undefined || text.trim() === wanted || (/^[\d,]+$/.test(wanted) && text.trim() === wanted.replaceAll(',', ''));

function Dialog({ of }: { of: Question }) {
  const [values, setValues] = useState<Record<string, string>>(() => Object.fromEntries((of.fields ?? []).map((field) => [field.name, field.value ?? ''])));
  const [typed, setTyped] = useState('');
  const [failure, setFailure] = useState('');
  const [isBusy, setBusy] = useState(false);
  const close = () => { question.value = null; };
  const missing = (of.fields ?? []).some((field) => !field.isOptional && !values[field.name].trim());
  const isReady = !isBusy && !missing && isTyped(typed, of.typed);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!isReady) return;
    setBusy(true);
    setFailure('');
    try {
      await of.act(values);
      if (question.value === of) close();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Modal name={of.title} close={close}>
      <form onSubmit={submit}>
        <h2>{of.title}</h2>
        {of.text && <div class="modal-text">{of.text}</div>}
        {of.warning && <div class="warning">{of.warning}</div>}
        {(of.fields ?? []).map((field) => (
          <label class="field" key={field.name}>
            <span>{field.label}</span>
            {field.kind === 'area'
              ? <textarea rows={6} spellcheck={false} value={values[field.name]} onInput={(e) => setValues({ ...values, [field.name]: e.currentTarget.value })} />
              : field.kind === 'choice'
                ? <select value={values[field.name]} onChange={(e) => setValues({ ...values, [field.name]: e.currentTarget.value })}>{field.choices!.map((choice) => <option key={choice}>{choice}</option>)}</select>
                : <input value={values[field.name]} spellcheck={false} autocomplete="off" onInput={(e) => setValues({ ...values, [field.name]: e.currentTarget.value })} />}
            {field.hint && <small>{field.hint}</small>}
          </label>
        ))}
        {of.typed !== undefined && <label class="field typed"><span>Type <b>{of.typed}</b></span><input value={typed} autocomplete="off" spellcheck={false} onInput={(e) => setTyped(e.currentTarget.value)} /></label>}
        {failure && <div class="failure" role="alert">{failure}</div>}
        <footer><Button onClick={close}>Back</Button><button type="submit" class={`button ${of.isBad ? 'bad-main' : 'main'}`} aria-disabled={!isReady || undefined}>{isBusy ? 'Asked…' : of.verb}</button></footer>
      </form>
    </Modal>
  );
}

const keyList: [string, string][] = [
  ['Ctrl-K', 'find a queue, job, key or page, or act'], ['/', 'filter'], ['g then o q j d w l i r p n a', 'Overview, Queues, Jobs, Dead, Why not running, Limits, Windows, Responses, Periodic, Nodes, Audit'],
  ['j k', 'next and previous row'], ['x', 'select the row'], ['Shift-x', 'select from the last one to here'], ['Enter', 'open the row'], ['e', 'expand the row'],
  ['.', 'actions of this page'], ['y', 'copy a link to this page'], ['t', 'light or dark'], ['Esc', 'back'], ['?', 'this list'],
];

function Help() {
  const close = () => { help.value = false; };
  return (
    <Modal name="Keys" close={close}>
      <h2>Keys</h2>
      <dl class="keys">{keyList.map(([key, what]) => <div key={key}><dt>{key.split(' ').map((one) => (one === 'then' ? ' then ' : <kbd key={one}>{one}</kbd>))}</dt><dd>{what}</dd></div>)}</dl>
      <KeysChoice />
      <footer><Button onClick={close}>Back</Button></footer>
    </Modal>
  );
}

function KeysChoice() {
  return (
    <div class="choices">
      <label><input type="checkbox" checked={keysOn.value} onChange={(e) => { keysOn.value = e.currentTarget.checked; }} /> single keys act (Ctrl-K always does)</label>
      <label><input type="checkbox" checked={zone.value === 'local'} onChange={(e) => { zone.value = e.currentTarget.checked ? 'local' : 'utc'; }} /> times of this browser's zone instead of UTC</label>
    </div>
  );
}
