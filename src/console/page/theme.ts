// Dark or light: the system's setting or the user's choice, stored in this browser.
import { h } from './h.ts'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'

const KEY = 'kubenode-look'

const kept = (): string => {
  try {
    return localStorage.getItem(KEY) ?? ''
  } catch {
    return '' // Browsers may forbid storage.
  }
}

export function applyTheme(look = kept()): void {
  if (look === 'dark' || look === 'light') document.documentElement.dataset['look'] = look
  else delete document.documentElement.dataset['look']
}

export function ThemeChoice(): VNode {
  const [theme, setTheme] = useState(kept)
  const choose = (e: Event): void => {
    const next = (e.currentTarget as HTMLSelectElement).value
    setTheme(next)
    applyTheme(next)
    try {
      localStorage.setItem(KEY, next)
    } catch {
      // Without storage the choice lasts until the tab closes.
    }
  }
  return h(
    'select',
    { 'aria-label': 'Look', value: theme, onChange: choose },
    h('option', { value: '' }, 'Look: system'),
    h('option', { value: 'light' }, 'Light'),
    h('option', { value: 'dark' }, 'Dark'),
  )
}
