// The keyboard shortcuts: a table, and a pure function for the meaning of a key after the previous ones.
import { defined } from '#lib/defined.ts'
import type { View } from './router.ts'

/** `g` followed by one of these opens the view. */
export const CHORDS: Readonly<Record<string, View>> = {
  h: 'home',
  p: 'pipeline',
  f: 'machines',
  r: 'rollouts',
  b: 'budgets',
  i: 'repairs',
  c: 'clusters',
  m: 'maintenance',
  d: 'commits',
  t: 'past',
  w: 'why',
  e: 'health',
  u: 'utilization',
  y: 'reliability',
}

export type Action =
  | { readonly do: 'go'; readonly view: View }
  | { readonly do: 'search' | 'palette' | 'keys' | 'table' | 'wall' | 'copy' | 'next' | 'previous' | 'close' }

export interface Pressed {
  readonly key: string
  /** With Control, Alt or Meta, a key belongs to the browser. */
  readonly isModified: boolean
  /** In a field, keys are text. */
  readonly isTyping: boolean
}

/** The pending part of a chord: whether `g` came before. */
export type Pending = 'g' | undefined

const SINGLE: Readonly<Record<string, Action>> = {
  '/': { do: 'search' },
  '?': { do: 'keys' },
  t: { do: 'table' },
  w: { do: 'wall' },
  y: { do: 'copy' },
  j: { do: 'next' },
  J: { do: 'previous' },
  k: { do: 'palette' },
}

export function decide(
  pending: Pending,
  { key, isModified, isTyping }: Pressed,
): { readonly pending: Pending; readonly action?: Action } {
  if (isModified) return { pending: undefined }
  // Outside a field there is nothing to leave, and the focus stays.
  if (isTyping) return { pending: undefined, ...(key === 'Escape' && { action: { do: 'close' } as const }) }
  if (pending === 'g') {
    const view = CHORDS[key]
    return view === undefined ? { pending: undefined } : { pending: undefined, action: { do: 'go', view } }
  }
  if (key === 'g') return { pending: 'g' }
  const action = SINGLE[key]
  return { pending: undefined, ...defined({ action }) }
}
