// What a person is told after a deed: toasts with an undo, one dialog at a time, and the one polite live region.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

export interface Toast { id: number; text: string; isBad: boolean; undo?: () => void; until: number }
export const toasts = signal<Toast[]>([]);
export const spoken = signal('');
const undoFor = 10_000;
let last = 0;

export const say = (text: string) => { spoken.value = text; };

export function toast(text: string, more: { undo?: () => void; isBad?: boolean } = {}) {
  const mine: Toast = { id: ++last, text, isBad: more.isBad ?? false, undo: more.undo, until: Date.now() + undoFor };
  toasts.value = [...toasts.value.slice(-2), mine];
  say(text);
  setTimeout(() => dropToast(mine.id), undoFor);
}
export const dropToast = (id: number) => { toasts.value = toasts.value.filter((each) => each.id !== id); };

export interface Question {
  title: string;
  /// What will be, in sentences.
  text?: ComponentChildren;
  /// What should make one think again.
  warning?: ComponentChildren;
  /// Has to be typed before the deed.
  typed?: string;
  fields?: Field[];
  verb: string;
  isBad?: boolean;
  /// Its text is shown where it fails, and the dialog stays.
  act: (values: Record<string, string>) => Promise<void>;
}
export interface Field { name: string; label: string; value?: string; hint?: string; kind?: 'text' | 'area' | 'choice'; choices?: string[]; isOptional?: boolean }
export const question = signal<Question | null>(null);
export const ask = (next: Question) => { question.value = next; };
export const palette = signal(false);
export const help = signal(false);
