// A payload as it is: JSON, bytes, hidden or redacted. Large ones are cut for the eye and copied whole.
import { useState } from 'preact/hooks';
import { bytes, visible } from '../words';
import { Button, copy } from './bits';

const shownLetters = 2_000;

export function payloadText(payload: unknown): string {
  if (payload === '') return '';
  if (isBytes(payload)) return payload.$base64;
  return JSON.stringify(payload);
}
const bytesOf = (base64: string) => Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
const isBytes = (payload: unknown): payload is { $base64: string } => typeof payload === 'object' && payload !== null && typeof (payload as { $base64?: unknown }).$base64 === 'string';
const isHidden = (payload: unknown): payload is { $hidden: number } => typeof payload === 'object' && payload !== null && typeof (payload as { $hidden?: unknown }).$hidden === 'number';

export function Payload({ payload, isShort }: { payload: unknown; isShort?: boolean }) {
  const [isWhole, setWhole] = useState(false);
  if (payload === undefined || payload === '') return <span class="dim">no payload</span>;
  if (isHidden(payload)) return <span class="dim">hidden, {bytes(payload.$hidden)}</span>;
  const text = payloadText(payload);
  if (isBytes(payload)) return <span class="payload"><span class="dim">{bytes(bytesOf(text))}, base64</span> <code><bdi>{text.slice(0, isShort ? 60 : 400)}{text.length > (isShort ? 60 : 400) ? '…' : ''}</bdi></code></span>;
  if (isShort) return <code class="payload one-line"><bdi>{visible(text.slice(0, 160))}</bdi></code>;
  const pretty = JSON.stringify(payload, null, 2);
  const isCut = pretty.length > shownLetters && !isWhole;
  return (
    <div class="payload">
      <pre tabIndex={0}><bdi>{visible(isCut ? pretty.slice(0, shownLetters) : pretty)}</bdi></pre>
      {pretty.length > shownLetters && <span class="dim">{isCut ? `the first ${shownLetters.toLocaleString('en-US')} of ` : ''}{bytes(new Blob([text]).size)} <button type="button" class="link" onClick={() => setWhole(!isWhole)}>{isCut ? 'Show all' : 'Show less'}</button></span>}
    </div>
  );
}
export const CopyPayload = ({ payload }: { payload: unknown }) => <Button kind="bare" class="small" onClick={() => copy(payloadText(payload), 'the payload')}>Copy</Button>;
