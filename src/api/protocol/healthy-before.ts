// Versions known to have been healthy: on a set, if their ladder was completed; on a machine, if they passed their settle window. Sets store it on their
// ControllerRevisions, machines in their status. An unreadable record counts as not healthy.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '../schema/object.ts'
import { renderedConfig } from '../kinds/component-config.ts'
import { type ComponentStatus, MAX_HEALTHY_BEFORE } from '../kinds/machine.ts'
import { ANNOTATIONS } from '../names.ts'
import { type RevisedComponent, readSetRevision } from './set-revision.ts'

/** Content, not just a name: the digest is that of the MachineComponent's statement. */
export type HealthyVersion = NonNullable<ComponentStatus['healthyBefore']>[number]

/** A ControllerRevision's record of one component. At least one of the times is set. */
export interface Completed extends HealthyVersion {
  /** When its ladder was completed on this set. */
  readonly at?: string
  /** When the set last went back from it to an older version. */
  readonly leftAt?: string
  /** When the set last started to go back to it. */
  readonly backAt?: string
}

/** A rollback skips rates, breaker and ladder once per this interval for each component of a set: flipping commits must not restart a fleet. */
export const WAY_BACK_EVERY_MS = 3_600_000
/** A set has at most as many components as a machine may. */
const MAX_COMPLETED = 64
const DIGEST = /^[0-9a-f]{64}$/
const MAX_VERSION_CHARS = 128
const MAX_NAME_CHARS = 253

const isText = (value: unknown, max: number): value is string =>
  typeof value === 'string' && value !== '' && value.length <= max
const isTime = (value: unknown): boolean =>
  value === undefined || (typeof value === 'string' && !Number.isNaN(Date.parse(value)))

const isCompleted = (entry: unknown): entry is Completed =>
  isObject(entry) &&
  isText(entry['version'], MAX_VERSION_CHARS) &&
  isText(entry['digest'], 64) &&
  DIGEST.test(entry['digest']) &&
  (entry['config'] === undefined || isText(entry['config'], MAX_NAME_CHARS)) &&
  [entry['at'], entry['leftAt'], entry['backAt']].every(isTime) &&
  [entry['at'], entry['leftAt'], entry['backAt']].some((t) => t !== undefined)

/** A ControllerRevision of a set. */
type Annotated = KubeObject

interface Read {
  readonly components: readonly RevisedComponent[]
  readonly completed: ReadonlyMap<string, Completed>
}
/** Parsed once per object, although read in each reconcile; annotations are replaced, never changed in place. */
const READ = new WeakMap<object, Read>()
const NOTHING: ReadonlyMap<string, Completed> = new Map()

/**
 * By component. An untrusted or damaged text counts as empty. A record covers only its own revision's components, because it cannot know about another version
 * or configuration.
 */
export function completedIn(record: Annotated): ReadonlyMap<string, Completed> {
  const { annotations } = record.metadata
  const text = annotations?.[ANNOTATIONS.completed]
  const components = text === undefined ? undefined : readSetRevision(record)?.components
  if (annotations === undefined || text === undefined || components === undefined) return NOTHING
  const known = READ.get(annotations)
  if (known?.components === components) return known.completed
  const completed = new Map([...parseCompleted(text)].filter(([name, entry]) => isOfOwn(components, name, entry)))
  READ.set(annotations, { components, completed })
  return completed
}

const isOfOwn = (components: readonly RevisedComponent[], name: string, { version, config }: Completed): boolean =>
  components.some((c) => c.name === name && c.version === version && renderedConfig(c)?.object === config)

function parseCompleted(text: string): ReadonlyMap<string, Completed> {
  try {
    const entries: unknown = JSON.parse(text)
    if (!isObject(entries)) return NOTHING
    const found = Object.entries(entries).flatMap(([component, entry]): [string, Completed][] =>
      isCompleted(entry) ? [[component, entry]] : [],
    )
    return new Map(found.slice(0, MAX_COMPLETED))
  } catch {
    // Not JSON: nothing is known, and the next write replaces it.
    return NOTHING
  }
}

/** Equal contents give equal bytes. */
export const completedText = (entries: ReadonlyMap<string, Completed>): string =>
  JSON.stringify(
    Object.fromEntries([...entries].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).slice(0, MAX_COMPLETED)),
  )

/** It was rolled back and has not been completed since. */
export const isLeft = ({ at, leftAt }: Completed): boolean =>
  leftAt !== undefined && (at === undefined || Date.parse(leftAt) >= Date.parse(at))

/** Versions of a component that were healthy on the set with these revisions, newest first. Excludes those it went back from. */
export const healthyBefore = (revisions: readonly Annotated[], component: string): readonly Completed[] =>
  revisions
    .flatMap((r) => completedIn(r).get(component) ?? [])
    .filter((entry) => entry.at !== undefined && !isLeft(entry))
    .toSorted((a, b) => Date.parse(b.at ?? '') - Date.parse(a.at ?? ''))

/** The set went back from exactly this, and has not completed it since: going there again is an ordinary rollout. */
export function wasLeft(revisions: readonly Annotated[], component: string, wanted: HealthyVersion): boolean {
  const entries = revisions
    .flatMap((r) => completedIn(r).get(component) ?? [])
    .filter((entry) => isSameVersion(entry, wanted))
  return entries.some(isLeft) && entries.every((entry) => entry.at === undefined || isLeft(entry))
}

/** When the set last started to go back with the component, in milliseconds. */
export const lastWayBack = (revisions: readonly Annotated[], component: string): number =>
  Math.max(
    -Infinity,
    ...revisions.flatMap((r) => {
      const { backAt } = completedIn(r).get(component) ?? {}
      return backAt === undefined ? [] : [Date.parse(backAt)]
    }),
  )

export const isSameVersion = (a: HealthyVersion, b: HealthyVersion): boolean =>
  a.version === b.version && a.digest === b.digest && a.config === b.config

export const wasHealthy = (known: readonly HealthyVersion[], wanted: HealthyVersion): boolean =>
  known.some((entry) => isSameVersion(entry, wanted))

/** The newest last, without duplicates. */
export const withHealthy = (known: readonly HealthyVersion[] = [], now: HealthyVersion): readonly HealthyVersion[] =>
  [...known.filter((entry) => !isSameVersion(entry, now)), now].slice(-MAX_HEALTHY_BEFORE)

export const isHealthyVersion = (value: unknown): value is HealthyVersion =>
  isCompleted(isObject(value) ? { ...value, at: '1970-01-01T00:00:00Z' } : value)
