import './styles/fonts.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/parts.css';
import './styles/pages.css';
import './theme';
import { render } from 'preact';
import { readMe } from './api';
import { App } from './app';
import { onKey } from './keys';
import { start, watchVisibility } from './live';
import { followLinks } from './router';

// The address of the icon is relative to the first page that was opened; it must not follow the addresses of later ones.
for (const icon of document.querySelectorAll<HTMLLinkElement>('link[rel=icon]')) icon.setAttribute('href', icon.href);
document.addEventListener('click', followLinks);
document.addEventListener('keydown', onKey);
void readMe();
start();
watchVisibility();
render(<App />, document.getElementById('app')!);
