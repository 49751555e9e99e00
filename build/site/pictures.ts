// Every picture that is drawn: those of concepts, and those of terminals, from what the task pages print. A test types those pages and compares.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { conceptPictures } from './concepts.ts'
import { escaped } from './render.ts'
import { PICTURES } from './site.ts'

interface Picture {
  readonly name: string
  readonly page: string
  /** Commands that begin with these; in the order of the page. */
  readonly commands: readonly string[]
}

const WANTED: readonly Picture[] = [
  { name: 'window', page: 'docs/tasks/window.md', commands: ['kubenode why set/base'] },
  { name: 'canary', page: 'docs/tasks/canary.md', commands: ['kubenode canary status', 'kubenode canary promote'] },
]

const BLOCK = /^```sh\n((?:(?!```).*\n)*)```\n\n```text\n((?:(?!```).*\n)*)```$/gm

const CHAR_WIDTH = 8.4
const LINE_HEIGHT = 20
const MARGIN = 16

export const picturesOf = (root: string): ReadonlyMap<string, string> =>
  new Map([
    ...conceptPictures(),
    ...WANTED.map(({ name, page, commands }) => {
      const blocks = [...readFileSync(join(root, page), 'utf8').matchAll(BLOCK)]
      const lines = commands.flatMap((command) => {
        const [, typed, printed] = blocks.find(([, typed = '']) => typed.startsWith(command)) ?? []
        if (typed === undefined || printed === undefined) throw new Error(`${page} does not show ${command}`)
        return [`$ ${typed.trim()}`, ...printed.trimEnd().split('\n')]
      })
      return [`${PICTURES}/${name}.svg`, drawn(lines)] as const
    }),
  ])

function drawn(lines: readonly string[]): string {
  const width = Math.ceil(Math.max(...lines.map((l) => l.length)) * CHAR_WIDTH) + 2 * MARGIN
  const height = lines.length * LINE_HEIGHT + 2 * MARGIN
  const rows = lines.map((line, i) => {
    const color = line.startsWith('$ ') ? ' fill="#8bd5a0"' : ''
    return `<text x="${MARGIN}" y="${MARGIN + (i + 0.75) * LINE_HEIGHT}"${color} xml:space="preserve">${escaped(line)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, monospace" font-size="14" fill="#e3e6ea">
<rect width="100%" height="100%" rx="8" fill="#14171c"/>
${rows.join('\n')}
</svg>
`
}
