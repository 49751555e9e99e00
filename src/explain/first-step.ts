// Picks one line from everything that several objects wait for: what to do first. Pure.
import { actionOf, allOf, isForPeople, type Story, type Finding, URGENCIES } from './finding.ts'
import { withReadableTimes } from './readable-times.ts'

interface Step {
  readonly object: string
  /** Lower comes first. */
  readonly rank: number
  readonly text: string
  /** A user or time can end it; other findings only show that something is wrong. */
  readonly isAction: boolean
  /** A user can type it now, while other steps only wait. */
  readonly isCommand: boolean
}

/** A command beats a condition, because a user can run it. */
const stepsOf = ({ object, below = [] }: Story): readonly Step[] =>
  below.flatMap(allOf).flatMap((finding) => (finding.urgency === undefined ? [] : [stepOf(object, finding)]))

/** What ends a failed release is written as an order. */
const ORDER = /^(?:revert|push) /

function stepOf(object: string, finding: Finding): Step {
  const own = allOf(finding)
  const command = own.map(actionOf).find((line) => line !== undefined)
  const ends = own.find((t) => t.ends !== undefined)?.ends
  const runbook = own.find((t) => t.runbook !== undefined)?.runbook
  const isStep = ends === undefined || isForPeople(ends) || ORDER.test(ends)
  const action = command ?? (isStep ? ends : `wait until ${withReadableTimes(ends)}`)
  const text = runbook === undefined ? finding.text : `read ${runbook}: ${finding.text}`
  return {
    object,
    rank: URGENCIES.findIndex((u) => u === finding.urgency),
    text: action ?? text,
    isAction: action !== undefined,
    isCommand: command !== undefined,
  }
}

export function firstStep(stories: readonly Story[]): string {
  const steps = stories.flatMap(stepsOf)
  // Among equal waits prefer the command: some only wait for it, such as the other slices of a step when one slice needs an approval.
  const [first] = steps.toSorted(
    (a, b) => Number(b.isAction) - Number(a.isAction) || a.rank - b.rank || Number(b.isCommand) - Number(a.isCommand),
  )
  if (first === undefined) return 'what to do first: nothing, no object is blocked'
  return `what to do first: ${first.text} (${first.object})`
}
