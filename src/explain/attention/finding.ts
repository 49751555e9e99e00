// Findings of a whole fleet: with the object, the cluster, and who acts, in one wording for the console, `local status` and `kubenode why`. Pure.
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { someOf } from '#lib/some-of.ts'
import { causeOf, type Finding, type Urgency, URGENCIES, type WayOn } from '../finding.ts'
import { isTyped } from '../unblock.ts'
import type { Wait } from '../wait.ts'
import { wayOf } from '../ways-out.ts'

/** `Act`: a user has to act. `Wait`: it continues by itself. `Unknown`: it may not, or cannot, be read, and unknown is never well. */
export type Weight = 'Act' | 'Wait' | 'Unknown'

export interface FoundObject {
  readonly cluster: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

/** One thing that is wrong or waits somewhere in the fleet. */
export interface FleetFinding extends Finding {
  readonly id: string
  /** Findings of one cause are one finding; across clusters they have the same cause. */
  readonly cause: string
  /** The first object of it. */
  readonly object: FoundObject
  /** Number of objects that have it. */
  readonly count: number
  readonly weight: Weight
  readonly urgency: Urgency
  /** A person holds something, by other means than an OperationalHold. */
  readonly isHold?: true
  /** What it blocks elsewhere. */
  readonly holdsUp?: readonly string[]
}

export interface Point {
  readonly weight: Weight
  readonly urgency: Urgency
  readonly text: string
  /** Absent: that of its object. */
  readonly cause?: string | undefined
  readonly count?: number
  readonly since?: string | number | undefined
  /** What ends it, and what is typed first. */
  readonly first?: WayOn | undefined
  readonly runbook?: string | undefined
  readonly isHold?: true | undefined
  /** Distinguishes several points of one object. */
  readonly part?: string
}

export const stampOf = (time: string | number | undefined): number | undefined => {
  const ms = typeof time === 'number' ? time : Date.parse(time ?? '')
  return Number.isNaN(ms) || ms === 0 ? undefined : ms
}

export function finding(object: FoundObject, point: Point): FleetFinding {
  const { weight, urgency, text, cause, count = 1, first, runbook, part, isHold } = point
  const { cluster, kind, namespace = '', name } = object
  const since = stampOf(point.since)
  const id = [cluster, kind, namespace, name, ...(part === undefined ? [] : [part])].join('/')
  return {
    id,
    cause: cause ?? id,
    object,
    count,
    weight,
    urgency,
    text,
    ...first,
    ...defined({ since, runbook }),
    ...(isHold === true && { isHold }),
  }
}

/** Of one object: in each cluster it is another. */
export const causeIn = ({ cluster }: FoundObject, word: string, reason: string): string =>
  `${cluster}/${causeOf(word, reason)}`

/** A name that a shell would read as more than a word is shown, and not offered to be copied. */
export const commandStep = (line: string): WayOn => (isTyped(line) ? { command: { line } } : { ends: line })

/** What ends a wait; undefined where its status does not say. */
export const stepOf = (wait: Wait | undefined, word: string): WayOn | undefined =>
  wait === undefined || (wait.unblock ?? '') === '' ? undefined : wayOf(wait, word)

export const objectIn = (
  cluster: string,
  kind: string,
  { name = '', namespace }: { readonly name?: string; readonly namespace?: string },
): FoundObject => ({ cluster, kind, name, ...defined({ namespace }) })

/** Names in the text of a finding of many objects. */
const MOST_NAMES = 3

/** `node/a`, or `3 nodes (a, b, c)`. */
export const objectsText = (noun: string, names: readonly string[]): string =>
  names.length === 1 ? `${noun}/${names[0] ?? ''}` : `${counted(names.length, noun)} (${someOf(names, MOST_NAMES)})`

/** Of each kind and cluster: the list of that kind has all. */
export const MOST_FINDINGS = 20

/** The first ones, and one that counts the rest: a page of a thousand rows is not read, and a row left out in silence would be a lie. */
export function bounded(findings: readonly FleetFinding[], what: string): readonly FleetFinding[] {
  if (findings.length <= MOST_FINDINGS) return findings
  const shown = findings.slice(0, MOST_FINDINGS)
  const rest = findings.slice(MOST_FINDINGS)
  const worst = rest.find((f) => f.weight === 'Act') ?? rest[0]
  if (worst === undefined) return shown
  const count = rest.reduce((sum, f) => sum + f.count, 0)
  const { ends: _ends, command: _command, runbook: _runbook, ...base } = worst
  const id = `${worst.object.cluster}/more/${what}`
  return [...shown, { ...base, id, cause: id, count, text: `and ${rest.length} more like these: ${what}` }]
}

const WEIGHTS: readonly Weight[] = ['Act', 'Unknown', 'Wait']

/** Worst first: `Act`, then `Unknown`, then `Wait`; of these by urgency, then the oldest. */
export const worstFirst = (findings: readonly FleetFinding[]): readonly FleetFinding[] =>
  findings.toSorted(
    (a, b) =>
      WEIGHTS.indexOf(a.weight) - WEIGHTS.indexOf(b.weight) ||
      URGENCIES.indexOf(a.urgency) - URGENCIES.indexOf(b.urgency) ||
      (a.since ?? Infinity) - (b.since ?? Infinity) ||
      (a.id < b.id ? -1 : 1),
  )
