// The equivalent terminal command, to copy.
import { h } from '../h.ts'
import type { ComponentChildren, VNode } from 'preact'
import { CopyButton } from './copy.ts'

/** Quotes a name from a cluster as a single shell word, whatever it contains. */
export const word = (text: string): string =>
  /^[\w./@:=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

interface Props {
  readonly command: string
  /** The button's label for screen readers, if the command is too long to read aloud. */
  readonly label?: string
}

/** Never break `--context prod`: half a flag resembles another one, and a flag without its value reads as complete. */
const pieceOf = (piece: string, at: number): ComponentChildren[] => [
  ...(at === 0 ? [] : [' ']),
  h('span', { key: at }, piece),
]

/** Longer pairs may break between flag and value: a phone shows about thirty characters per line. */
const MOST_TOGETHER = 28

/** The pieces between which a line may break. Pure. */
export function piecesOf(command: string): readonly string[] {
  const pieces: string[] = []
  for (const piece of command.split(' ')) {
    const last = pieces.at(-1)
    const isValue = last !== undefined && /^--?[a-z][a-z-]*$/.test(last) && !piece.startsWith('-')
    if (isValue && last.length + piece.length < MOST_TOGETHER) pieces[pieces.length - 1] = `${last} ${piece}`
    else pieces.push(piece)
  }
  return pieces
}

export const Terminal = ({ command, label = command }: Props): VNode =>
  h(
    'div',
    { class: 'terminal' },
    h('code', {}, piecesOf(command).flatMap(pieceOf)),
    h(CopyButton, { text: command, name: 'Copy', label: `Copy: ${label}` }),
  )
