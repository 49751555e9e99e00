// The lines of `kubenode why` and `why-not` as a tree, so that a page shows the same sentences. Pure.

export interface ExplainedLine {
  readonly text: string
  readonly lift?: { readonly text: string; readonly isCommand: boolean }
  readonly below: readonly ExplainedLine[]
}

interface Open {
  readonly indent: number
  readonly text: string
  lift?: { readonly text: string; readonly isCommand: boolean }
  readonly below: Open[]
}

const STATE = /^unblocks when: (.*)$/s
const COMMANDS = [/^(?:to unblock|to lift it): (.*)$/s, /^(kubenode .*)$/s]

/** A line that says what lifts the one above it is a part of that line. */
function liftIn(text: string): Open['lift'] {
  const state = STATE.exec(text)?.[1]
  if (state !== undefined) return { text: state, isCommand: false }
  const command = COMMANDS.map((form) => form.exec(text)?.[1]).find((found) => found !== undefined)
  return command === undefined ? undefined : { text: command, isCommand: true }
}

/** Lines lie below the last line that is indented less. The first line is the root. */
export function treeOfLines([first = '', ...lines]: readonly string[]): ExplainedLine {
  const root: Open = { indent: -1, text: first, below: [] }
  const trail = [root]
  for (const line of lines) {
    const text = line.trimStart()
    const indent = line.length - text.length
    while (trail.length > 1 && (trail.at(-1)?.indent ?? -1) >= indent) trail.pop()
    const parent = trail.at(-1) ?? root
    const lift = liftIn(text)
    if (lift !== undefined && parent !== root && parent.lift === undefined) {
      parent.lift = lift
      continue
    }
    const open: Open = { indent, text, below: [] }
    parent.below.push(open)
    trail.push(open)
  }
  return closed(root)
}

const closed = ({ text, lift, below }: Open): ExplainedLine => ({
  text,
  ...(lift !== undefined && { lift }),
  below: below.map(closed),
})
