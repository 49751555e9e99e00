// The same in a terminal: a command that can be copied.
import { h } from '../h.ts'
import type { ComponentChildren, VNode } from 'preact'
import { useApp } from '../app.ts'

/** A name from a cluster that ends up in a shell stays one word there, whatever it contains. */
export const word = (text: string): string =>
  /^[\w./@:=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

interface Props {
  readonly command: string
  /** What a screen reader calls the button, where the command is too long to be heard. */
  readonly label?: string
}

/** A line is not broken within `--context`: half of a flag looks like another one. */
const pieceOf = (piece: string, at: number): ComponentChildren[] => [
  ...(at === 0 ? [] : [' ']),
  h('span', { key: at }, piece),
]

export function Terminal({ command, label = command }: Props): VNode {
  const { speak } = useApp()
  const copy = async (event: Event): Promise<void> => {
    const code = (event.currentTarget as HTMLElement).previousElementSibling
    try {
      await navigator.clipboard.writeText(command)
      speak('Copied')
    } catch {
      // Without the right to the clipboard the text is selected; the usual keys copy it.
      if (code !== null) getSelection()?.selectAllChildren(code)
      speak('Selected; copy it with the keys of your browser')
    }
  }
  return h(
    'div',
    { class: 'terminal' },
    h('code', {}, command.split(' ').flatMap(pieceOf)),
    h(
      'button',
      { type: 'button', 'data-copy': '', 'aria-label': `Copy: ${label}`, onClick: (e: Event) => void copy(e) },
      'Copy',
    ),
  )
}
