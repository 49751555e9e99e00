// A button that copies a command, and says so.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp } from '../app.ts'

interface Props {
  readonly text: string
  readonly name: string
  /** For screen readers, if the name alone says too little. */
  readonly label?: string
  readonly isMain?: boolean
}

export function CopyButton({ text, name, label = `${name}: ${text}`, isMain = false }: Props): VNode {
  const { announce } = useApp()
  const copy = async (event: Event): Promise<void> => {
    const code = (event.currentTarget as HTMLElement).parentElement?.querySelector('code')
    try {
      await navigator.clipboard.writeText(text)
      announce('Copied')
    } catch {
      // Without clipboard permission, selects the text; the usual keys copy it.
      if (code instanceof HTMLElement) getSelection()?.selectAllChildren(code)
      announce('Selected; copy it with the keys of your browser')
    }
  }
  return h(
    'button',
    {
      type: 'button',
      'data-copy': '',
      'aria-label': label,
      ...(isMain && { class: 'main' }),
      onClick: (e: Event) => void copy(e),
    },
    name,
  )
}
