// Of everything that several objects wait for, the one line that says what to do first. Pure.
import { allOf, type Story, type Finding, URGENCIES } from './finding.ts'
import { isForPeople } from './unblock.ts'

interface Step {
  readonly object: string
  /** Lower comes first. */
  readonly rank: number
  readonly text: string
  /** A person or time can end it; a finding alone says no more than that something is wrong. */
  readonly isAction: boolean
  /** What a person can type now, where others only wait. */
  readonly isCommand: boolean
}

/** A command beats a condition: it is what a person can do. */
const stepsOf = ({ object, below = [] }: Story): readonly Step[] =>
  below.flatMap(allOf).flatMap((finding) => (finding.urgency === undefined ? [] : [stepOf(object, finding)]))

function stepOf(object: string, finding: Finding): Step {
  const own = allOf(finding)
  const command = own.find((t) => t.command !== undefined)?.command?.line
  const ends = own.find((t) => t.ends !== undefined)?.ends
  const runbook = own.find((t) => t.runbook !== undefined)?.runbook
  const action = command ?? (ends === undefined || isForPeople(ends) ? ends : `wait until ${ends}`)
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
  // Of what waits alike, a wait may itself wait for the command: the other slices of a step, one of which needs an approval.
  const [first] = steps.toSorted(
    (a, b) => Number(b.isAction) - Number(a.isAction) || a.rank - b.rank || Number(b.isCommand) - Number(a.isCommand),
  )
  if (first === undefined) return 'what to do first: nothing, no object is blocked'
  return `what to do first: ${first.text} (${first.object})`
}
