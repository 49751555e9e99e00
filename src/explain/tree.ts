// A tree in lines; a text longer than the window wraps below itself. Pure.
import { wrapped } from '#lib/terminal/wrap.ts'

export interface Branch {
  readonly text: string
  readonly below?: readonly Branch[]
}

const CONNECTOR = 3

export const treeLines = ({ text, below = [] }: Branch, columns = Number.POSITIVE_INFINITY): readonly string[] => [
  ...wrapped(text, columns),
  ...below.flatMap((branch, i) => {
    const isLast = i === below.length - 1
    const [first = '', ...rest] = treeLines(branch, columns - CONNECTOR)
    return [`${isLast ? '└─' : '├─'} ${first}`, ...rest.map((line) => `${isLast ? '   ' : '│  '}${line}`)]
  }),
]
