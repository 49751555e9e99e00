// The fleet's findings as terminal lines; a cause that several clusters share appears once. Pure.
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { formatAge } from '#lib/duration.ts'
import { someOf } from '#lib/some-of.ts'
import { hasCommand } from '../unblock.ts'
import { actionOf, isForPeople, type WayOn } from '../finding.ts'
import { withReadableTimes } from '../readable-times.ts'
import type { FleetFinding, Weight } from './finding.ts'

/** One cause, in all its clusters. */
export interface Cause {
  /** The worst finding. */
  readonly finding: FleetFinding
  readonly clusters: readonly string[]
  /** Number of objects in all clusters. */
  readonly count: number
}

/** In the order of the findings. */
export function causesOf(findings: readonly FleetFinding[]): readonly Cause[] {
  const groups = Map.groupBy(findings, ({ cause, weight }) => `${weight}\n${cause}`)
  return [...groups.values()].flatMap((group) => {
    const [finding] = group
    if (finding === undefined) return []
    const clusters = [...new Set(group.map(({ object }) => object.cluster))]
    return [{ finding, clusters, count: group.reduce((sum, f) => sum + f.count, 0) }]
  })
}

const MOST_CLUSTERS = 5

export const TITLES: Readonly<Record<Weight, string>> = {
  Act: 'Needs attention',
  Unknown: 'Not known',
  Wait: 'Waits, and continues by itself',
}

/** With several clusters, a command names its cluster: a pasted command must not reach the currently selected one. */
export type InContext = (command: string, cluster: string) => string

/** What a user does. Undefined: nothing, a state must be reached. */
export function stepText(way: WayOn, cluster: string, inContext: InContext): string | undefined {
  const { ends } = way
  const action = actionOf(way)
  if (action !== undefined) return inContext(action, cluster)
  if (ends === undefined || !isForPeople(ends)) return undefined
  return hasCommand(ends) ? inContext(ends, cluster) : ends
}

export function causeLines(cause: Cause, now: number, inContext: InContext): readonly string[] {
  const { finding, clusters } = cause
  const { text, since, ends, runbook, holdsUp = [], object } = finding
  const age = since === undefined ? '' : `; since ${timestamp(since)} (${formatAge(Math.max(0, now - since))})`
  const others = clusters.slice(1)
  const step = stepText(finding, object.cluster, inContext)
  return [
    `${object.cluster}: ${withReadableTimes(text.split('\n')[0] ?? '')}${age}`,
    ...(others.length === 0 ? [] : [`  also in: ${someOf(others, MOST_CLUSTERS)}`]),
    ...holdsUp.map((held) => `  blocks: ${held}`),
    ...(step !== undefined
      ? [`  to do first: ${step}`]
      : ends === undefined
        ? []
        : [`  unblocks when: ${withReadableTimes(ends)}`]),
    ...(runbook === undefined ? [] : [`  more: ${runbook}`]),
  ]
}

/** Machine-readable form. */
export const causeData = ({ finding, clusters, count }: Cause): object => {
  const { cause, object, weight, urgency, text, since, ends, command, runbook, holdsUp, title, commit, stops } = finding
  return {
    cause,
    needsPerson: weight === 'Act',
    weight,
    urgency,
    text,
    clusters,
    object,
    count,
    ...(since !== undefined && { since: timestamp(since) }),
    ...defined({ command: command?.line, unblocksWhen: ends }),
    ...defined({ runbook, holdsUp, title, commit, stops }),
  }
}
