// Findings of a whole fleet: with the object, the cluster, and who must act, in the same words for the console, `local status` and `kubenode why`. Pure.
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { someOf } from '#lib/some-of.ts'
import { causeOf, type Finding, isForPeople, type Urgency, URGENCIES, type WayOn } from '../finding.ts'
import { isTyped, unblockOf } from '../unblock.ts'
import type { Wait } from '../wait.ts'
import { peopleSentence, wayOf } from '../ways-out.ts'

/** `Act`: a user must act. `Wait`: it continues by itself. `Unknown`: it may not, or cannot, be read; unknown never counts as healthy. */
export type Weight = 'Act' | 'Wait' | 'Unknown'

export interface FoundObject {
  readonly cluster: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

/** One thing in the fleet that is wrong or waits. */
export interface FleetFinding extends Finding {
  readonly id: string
  /** Findings with the same cause are one finding, also across clusters. */
  readonly cause: string
  /** Its first object. */
  readonly object: FoundObject
  /** Number of affected objects. */
  readonly count: number
  readonly weight: Weight
  readonly urgency: Urgency
  /** What it blocks elsewhere. */
  readonly holdsUp?: readonly string[]
  /** What happened, in a few words; the text has the rest. */
  readonly title?: string
  /** The commit that brought it. */
  readonly commit?: FoundCommit
  /** What it stops, from the nearest to the furthest. */
  readonly stops?: readonly string[]
}

export interface FoundCommit {
  readonly commit: string
  readonly subject?: string
  readonly author?: string
}

export interface Point {
  readonly weight: Weight
  readonly urgency: Urgency
  readonly text: string
  /** Default: the cause of its object. */
  readonly cause?: string | undefined
  readonly count?: number
  readonly since?: string | number | undefined
  /** What ends it, and what to type first. */
  readonly first?: WayOn | undefined
  readonly runbook?: string | undefined
  /** Distinguishes several findings of one object. */
  readonly part?: string
  readonly title?: string | undefined
}

export const stampOf = (time: string | number | undefined): number | undefined => {
  const ms = typeof time === 'number' ? time : Date.parse(time ?? '')
  return Number.isNaN(ms) || ms === 0 ? undefined : ms
}

export function finding(object: FoundObject, point: Point): FleetFinding {
  const { weight, urgency, text, cause, count = 1, first, runbook, part, title } = point
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
    ...defined({ since, runbook, title }),
  }
}

/** The cause for one object; each cluster has its own. */
export const causeIn = ({ cluster }: FoundObject, word: string, reason: string): string =>
  `${cluster}/${causeOf(word, reason)}`

/** If a shell would read the name as more than a word, the line is shown but not offered for copying. */
export const commandStep = (line: string): WayOn => (isTyped(line) ? { command: { line } } : { ends: line })

/** What ends a wait; undefined if its status does not name it. */
export const stepOf = (wait: Wait | undefined, word: string): WayOn | undefined =>
  wait === undefined || (wait.unblock ?? '') === '' ? undefined : wayOf(wait, word)

/** Who ends what the reason names, if a person does. */
export const wayOfReason = (reason: string | undefined, word: string): WayOn | undefined => {
  const sentence = reason === undefined ? undefined : peopleSentence(reason, word)
  return sentence === undefined ? undefined : unblockOf(sentence)
}

/** A fetch may succeed at the next try, and one commit may declare a set and its machines together. So a wait is for users only if it lasts this long. */
export const PEOPLE_AFTER_MS = 120_000

/** The wait names who must act. */
export const waitsForPeople = (
  wait: { readonly unblock?: string; readonly since?: string } | undefined,
  now: number,
): boolean => isForPeople(wait?.unblock ?? '') && now - (stampOf(wait?.since) ?? now) >= PEOPLE_AFTER_MS

/** A wait that the next try may end asks for no action yet. */
export const stepNow = (wait: Parameters<typeof stepOf>[0], word: string, isStuck: boolean): WayOn | undefined =>
  isStuck || !isForPeople(wait?.unblock ?? '')
    ? stepOf(wait, word)
    : { ends: 'it may end by itself within two minutes' }

export const objectIn = (
  cluster: string,
  kind: string,
  { name = '', namespace }: { readonly name?: string; readonly namespace?: string },
): FoundObject => ({ cluster, kind, name, ...defined({ namespace }) })

/** Number of names in a finding about many objects. */
const MOST_NAMES = 3

/** `node/a`, or `3 nodes (a, b, c)`. */
export const objectsText = (noun: string, names: readonly string[]): string =>
  names.length === 1 ? `${noun}/${names[0] ?? ''}` : `${counted(names.length, noun)} (${someOf(names, MOST_NAMES)})`

/** For each kind and cluster; the list of that kind shows all. */
export const MOST_FINDINGS = 20

/** The first findings, plus one that counts the rest. A page with a thousand rows is useless, but a row left out silently would be a lie. */
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

/** Worst first: `Act`, then `Unknown`, then `Wait`; within each by urgency, then oldest first. */
export const worstFirst = (findings: readonly FleetFinding[]): readonly FleetFinding[] =>
  findings.toSorted(
    (a, b) =>
      WEIGHTS.indexOf(a.weight) - WEIGHTS.indexOf(b.weight) ||
      URGENCIES.indexOf(a.urgency) - URGENCIES.indexOf(b.urgency) ||
      (a.since ?? Infinity) - (b.since ?? Infinity) ||
      (a.id < b.id ? -1 : 1),
  )
