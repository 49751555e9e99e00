// A tree in lines. Pure.

export interface Branch {
  readonly text: string
  readonly below?: readonly Branch[]
}

export const treeLines = ({ text, below = [] }: Branch): readonly string[] => [
  text,
  ...below.flatMap((branch, i) => {
    const isLast = i === below.length - 1
    const [first = '', ...rest] = treeLines(branch)
    return [`${isLast ? '└─' : '├─'} ${first}`, ...rest.map((line) => `${isLast ? '   ' : '│  '}${line}`)]
  }),
]
