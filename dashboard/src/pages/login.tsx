// One field. If it is refused: why, and when to try again.
import { useEffect, useRef, useState } from 'preact/hooks';
import { loggedOut, post, readMe, Refused } from '../api';
import { start } from '../live';
import { Logo } from '../parts/icons';
import { clock, now } from '../words';

export function Login() {
  const [token, setToken] = useState('');
  const [failure, setFailure] = useState('');
  const [again, setAgain] = useState(0);
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => { field.current?.focus(); }, []);
  const wait = Math.ceil((again - now.value) / 1000);
  const isReady = !isBusy && token.trim() !== '' && wait <= 0;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!isReady) return;
    setBusy(true);
    setFailure('');
    try {
      await post('login', { token: token.trim() });
      await readMe();
      if (!loggedOut.value) start();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      if (error instanceof Refused && error.retryAfter) setAgain(Date.now() + error.retryAfter * 1000);
      field.current?.focus();
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="login" id="main">
      <form class="panel" onSubmit={submit}>
        <div class="login-brand"><Logo /><b>Ordo</b></div>
        <h1>Log in</h1>
        <label class="field"><span>Token</span><input ref={field} type="password" autocomplete="current-password" value={token} onInput={(event) => setToken(event.currentTarget.value)} aria-describedby="login-note" aria-invalid={failure ? true : undefined} /></label>
        {failure && <div class="failure" role="alert">{failure}{wait > 0 && <>; try again at {clock(again)}, in {wait} s</>}</div>}
        <button type="submit" class="button main wide-button" aria-disabled={!isReady || undefined}>{isBusy ? 'Asked…' : 'Log in'}</button>
        <p id="login-note" class="dim">An administrator makes tokens with <code>ordo token</code>. The session ends after 12 h, or with its token.</p>
      </form>
    </main>
  );
}
