// Dark or light, comfortable or tight: the system's setting or the user's choice, stored in this browser.
import { h } from './h.ts'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'

interface Setting {
  /** In the browser's storage. */
  readonly key: string
  /** Read by the style sheet. */
  readonly data: 'look' | 'density'
  readonly label: string
  /** The first one is the default. */
  readonly options: readonly (readonly [value: string, text: string])[]
}

const LOOK: Setting = {
  key: 'kubenode-look',
  data: 'look',
  label: 'Look',
  options: [
    ['', 'Look: system'],
    ['light', 'Light'],
    ['dark', 'Dark'],
  ],
}

const DENSITY: Setting = {
  key: 'kubenode-density',
  data: 'density',
  label: 'Density',
  options: [
    ['', 'Density: comfortable'],
    ['tight', 'Tight'],
  ],
}

const kept = ({ key }: Setting): string => {
  try {
    return localStorage.getItem(key) ?? ''
  } catch {
    return '' // Browsers may forbid storage.
  }
}

function apply({ data, options }: Setting, value: string): void {
  const isKnown = value !== '' && options.some(([known]) => known === value)
  if (isKnown) document.documentElement.dataset[data] = value
  else delete document.documentElement.dataset[data]
}

export function applyTheme(): void {
  for (const setting of [LOOK, DENSITY]) apply(setting, kept(setting))
}

function Chooser({ setting }: { readonly setting: Setting }): VNode {
  const [value, setValue] = useState(() => kept(setting))
  const choose = (e: Event): void => {
    const next = (e.currentTarget as HTMLSelectElement).value
    setValue(next)
    apply(setting, next)
    try {
      localStorage.setItem(setting.key, next)
    } catch {
      // Without storage the choice lasts until the tab closes.
    }
  }
  return h(
    'select',
    { 'aria-label': setting.label, value, onChange: choose, ...(setting === DENSITY && { class: 'long' }) },
    setting.options.map(([key, text]) => h('option', { key, value: key }, text)),
  )
}

export const themeChoices = (): readonly VNode[] =>
  [LOOK, DENSITY].map((setting) => h(Chooser, { key: setting.data, setting }))
