// The equivalent terminal commands of a view, behind one small button.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Terminal } from './terminal.ts'

export function Shell({ commands }: { readonly commands: readonly string[] }): VNode | null {
  const box = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const leave = ({ target }: Event): void => {
      if (box.current !== null && target instanceof Node && !box.current.contains(target)) box.current.open = false
    }
    addEventListener('pointerdown', leave)
    addEventListener('focusin', leave)
    return () => {
      removeEventListener('pointerdown', leave)
      removeEventListener('focusin', leave)
    }
  }, [])
  const press = ({ key }: KeyboardEvent): void => {
    if (key !== 'Escape' || box.current?.open !== true) return
    box.current.open = false
    box.current.querySelector('summary')?.focus()
  }
  if (commands.length === 0) return null
  return h(
    'details',
    { class: 'shell', ref: box, onKeyDown: press },
    h('summary', { title: 'The same in a terminal (y copies)' }, 'Terminal'),
    h(
      'div',
      { class: 'sheet shell-box' },
      h('p', { class: 'small soft' }, 'The same in a terminal'),
      commands.map((command) => h(Terminal, { key: command, command })),
    ),
  )
}
