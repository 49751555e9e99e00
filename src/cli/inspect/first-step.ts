// Of everything that several objects wait for, the one line that says what to do first. Pure.
import { FREEZE_OF_CLUSTER } from '../hold/freeze.ts'
import { shortWord } from '#api/nouns.ts'
import { unblockIn } from '#explain/unblock-line.ts'

interface Step {
  readonly object: string
  /** Lower comes first: without its programs nothing continues, what is blocked does not end by itself, what waits may, what progresses does. */
  readonly rank: number
  readonly text: string
  /** A person or time can end it; a finding alone says no more than that something is wrong. */
  readonly isAction: boolean
  /** What a person can type now, where others only wait. */
  readonly isCommand: boolean
}

const RANKS: readonly (readonly [RegExp, number])[] = [
  [/^Stopped\b/, -1],
  [/^Blocked\b|: blocked\b/, 0],
  [/ step \d+ failed on |^Component .* is (Failed|RolledBack)\b| is (False|Unknown) for /, 1],
  [/^Waiting\b|: waiting\b|^Gate |^Paused is True for /, 2],
  [/^In progress\b|: in progress\b/, 3],
  // Of a condition that is bad when it is True, such as a fault of a node.
  [/^\w+ is True for /, 1],
]

const COMMAND = /^\s*(kubenode [a-z].*?)(?: shows what .*)?$/
const NAMED_HOLD = /\bhold \S+:/
const HELD_ELSEWHERE = /: it is Paused by hold /
const RUNBOOK = /\b[Ss]ee (docs\/runbooks\/\S+?)[.;,]?(?:\s|$)/

/** The first line of a story names its object. A command beats a condition: it is what a person can do. */
function stepsOf([head = '', ...lines]: readonly string[]): readonly Step[] {
  const object = head.split(' ', 1)[0] ?? ''
  return lines.flatMap((line, i) => {
    const rank = RANKS.find(([pattern]) => pattern.test(line.trimStart()))?.[1]
    if (rank === undefined) return []
    // What belongs to a line is indented below it.
    const depth = indentOf(line)
    const below = lines.slice(i + 1)
    const end = below.findIndex((l) => indentOf(l) <= depth && !COMMAND.test(l))
    const own = end < 0 ? below : below.slice(0, end)
    const command =
      own.map((l) => COMMAND.exec(l)?.[1]).find((c) => c !== undefined) ?? holdCommand([line, ...own], lines, object)
    const unblocks = own.map(unblockIn).find((c) => c !== undefined)
    const typed = command ?? (unblocks?.isCommand === true ? unblocks.text : undefined)
    const action = typed ?? (unblocks === undefined ? undefined : `wait until ${unblocks.text}`)
    const runbook = own.map((l) => RUNBOOK.exec(l)?.[1]).find((p) => p !== undefined)
    const finding = runbook === undefined ? line.trim() : `read ${runbook}: ${line.trim()}`
    return [{ object, rank, text: action ?? finding, isAction: action !== undefined, isCommand: typed !== undefined }]
  })
}

/** What a person held, a person lets continue; a freeze of the cluster is no hold of the object. */
function holdCommand(own: readonly string[], story: readonly string[], object: string): string | undefined {
  const [line = ''] = own
  // A Release waits for what is held in one of its clusters, and is not held itself.
  if (/\bHoldPause\b/.test(line))
    return own.some((l) => HELD_ELSEWHERE.test(l)) ? undefined : `kubenode resume ${shortWord(object)}`
  if (!/\bHoldFreeze\b/.test(line)) return undefined
  // A message is shown once, so another line may name the hold.
  const naming = own.some((l) => NAMED_HOLD.test(l)) ? own : story
  const isOfCluster = naming.some((l) => l.includes(`hold ${FREEZE_OF_CLUSTER}:`))
  return isOfCluster ? 'kubenode thaw' : `kubenode thaw ${shortWord(object)}`
}

/** The command that lifts what a person holds of the object of a story. */
export const heldCommand = (story: readonly string[]): string | undefined =>
  stepsOf(story)
    .map(({ text }) => text)
    .find((text) => /^kubenode (thaw|resume)\b/.test(text))

const indentOf = (line: string): number => line.length - line.trimStart().length

export function firstStep(stories: readonly (readonly string[])[]): string {
  const steps = stories.flatMap(stepsOf)
  // Of what waits alike, a wait may itself wait for the command: the other slices of a step, one of which needs an approval.
  const [first] = steps.toSorted(
    (a, b) => Number(b.isAction) - Number(a.isAction) || a.rank - b.rank || Number(b.isCommand) - Number(a.isCommand),
  )
  if (first === undefined) return 'what to do first: nothing, no object is blocked'
  return `what to do first: ${first.text} (${first.object})`
}
