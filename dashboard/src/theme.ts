import { computed, effect, signal } from '@preact/signals';
import { kept } from './storage';

export const wanted = kept<'system' | 'light' | 'dark'>('theme', 'system');
const system = matchMedia('(prefers-color-scheme: dark)');
const isSystemDark = signal(system.matches);
system.addEventListener('change', (event) => { isSystemDark.value = event.matches; });

export const theme = computed<'light' | 'dark'>(() => (wanted.value === 'system' ? (isSystemDark.value ? 'dark' : 'light') : wanted.value));
effect(() => { document.documentElement.dataset.theme = theme.value; });

export const flipTheme = () => { wanted.value = theme.value === 'dark' ? 'light' : 'dark'; };
