// Decides what to stop in all clusters: a version that failed in several of them, or a rule that repairs too much. A stop lasts until a user lifts it or until no
// cluster shows evidence for it. Pure.
import { type BrakeSpec, MAX_STOPS, type Stop } from '#api/kinds/fleet-brake.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import type { Evidence, FailedVersion } from './evidence.ts'
import type { BrakeLimits } from './limits.ts'

/** If no user lifts it, a stopped rule is retried after a day, up to the same limit. */
const RULE_STOP_MS = 24 * 3_600_000
/** Period over which repairs are counted. */
const RULE_WINDOW_MS = 3_600_000
const MOST_NAMED = 10

/** By cluster; undefined if it did not answer, in which case its earlier evidence still counts. */
export type Evidences = ReadonlyMap<string, Evidence | undefined>

export const stopKey = ({ kind, name, version }: Pick<Stop, 'kind' | 'name' | 'version'>): string =>
  kind === 'Component' ? `${name}@${version}` : kind === 'Rule' ? `rule/${name}` : 'everything'

export const isInForce = ({ liftedAt }: Stop): boolean => liftedAt === undefined

interface Input {
  readonly before: readonly Stop[]
  readonly evidences: Evidences
  readonly limits: BrakeLimits
  /** Retry holds on the brake that are in force. */
  readonly retries: readonly OperationalHold[]
  readonly now: number
}

export function planStops({ before, evidences, limits, retries, now }: Input): readonly Stop[] {
  const isUnknown = [...evidences.values()].includes(undefined)
  const lifted = before.map((stop) => afterRetries(stop, retries, now))
  const known = new Map(lifted.map((stop) => [stopKey(stop), stop]))
  const causes = [...failures(evidences), ...busyRules(evidences)]
  const begin = beginningOf(retries, now)
  const found = causes.flatMap((cause) => stopOf(cause, known.get(stopKey(cause)), limits, begin) ?? [])
  const shown = new Set(found.map(stopKey))
  const rest = lifted.filter((stop) => !shown.has(stopKey(stop)) && (stop.kind !== 'Component' || isUnknown))
  return bounded(
    [...found, ...rest].filter((stop) => !hasEnded(stop, now)),
    begin,
  )
}

type Beginning = Pick<Stop, 'since' | 'holdsBefore'>

const beginningOf = (retries: readonly OperationalHold[], now: number): Beginning => {
  const holdsBefore = retries.flatMap(({ metadata }) => metadata.uid ?? []).slice(0, MOST_NAMED)
  return { since: timestamp(now), holdsBefore }
}

/** Undefined if the evidence is below the limit. A lifted stop returns once there is as much new evidence as for the first one. */
function stopOf(cause: Cause, old: Stop | undefined, limits: BrakeLimits, begin: Beginning): Stop | undefined {
  const limit = cause.kind === 'Component' ? limits.failedClusters : limits.repairsPerHour + 1
  if (old !== undefined && isInForce(old)) {
    // The count of repairs changes every minute and is not reported again; another failed cluster is.
    if (cause.kind === 'Rule' || cause.count <= old.count) return old
    return { ...cause, ...beginningIn(old), seen: seenText(cause, limits) }
  }
  if (cause.count - (old?.count ?? 0) < limit) return old
  return { ...cause, ...begin, seen: seenText(cause, limits) }
}

const beginningIn = ({ since, holdsBefore }: Stop): Beginning => ({ since, ...defined({ holdsBefore }) })

/** A hold lifts what was stopped before it was created. Which came first is known without clocks, except for a stop of an earlier version. */
function afterRetries(stop: Stop, retries: readonly OperationalHold[], now: number): Stop {
  const isLifted = retries.some(
    ({ metadata, spec }) => (spec.to === undefined || spec.to === stopKey(stop)) && isAfter(metadata, stop),
  )
  return isLifted && isInForce(stop) ? { ...stop, liftedAt: timestamp(now) } : stop
}

function isAfter({ uid, creationTimestamp }: OperationalHold['metadata'], { since, holdsBefore }: Stop): boolean {
  if (holdsBefore !== undefined && holdsBefore.length < MOST_NAMED)
    return uid !== undefined && !holdsBefore.includes(uid)
  return Date.parse(creationTimestamp ?? '') >= Date.parse(since)
}

/** A stop of a version ends with its evidence; a stop of everything ends when a user lifts it. */
function hasEnded({ kind, since, liftedAt }: Stop, now: number): boolean {
  if (kind === 'Everything') return liftedAt !== undefined
  if (kind === 'Component') return false
  return liftedAt === undefined ? now - Date.parse(since) >= RULE_STOP_MS : now - Date.parse(liftedAt) >= RULE_WINDOW_MS
}

type Cause = Omit<Stop, 'since' | 'seen' | 'holdsBefore'>

function failures(evidences: Evidences): readonly Cause[] {
  const by = new Map<string, { readonly clusters: Set<string>; readonly all: FailedVersion[] }>()
  for (const [cluster, evidence] of evidences)
    for (const failed of evidence?.failed ?? []) {
      const key = `${failed.component}@${failed.version}`
      const group = by.get(key) ?? { clusters: new Set(), all: [] }
      group.clusters.add(cluster)
      group.all.push(failed)
      by.set(key, group)
    }
  return [...by.values()].flatMap(({ clusters, all }) => {
    const [first] = all
    if (first === undefined) return []
    const configs = new Set(all.map(({ config }) => config))
    const commits = [...new Set(all.flatMap(({ commit }) => commit ?? []))].toSorted().slice(0, MOST_NAMED)
    return [
      {
        kind: 'Component' as const,
        name: first.component,
        version: first.version,
        // Only this configuration: the same version with another one is not to blame.
        ...(configs.size === 1 && defined({ config: first.config })),
        count: clusters.size,
        clusters: [...clusters].toSorted().slice(0, MOST_NAMED),
        ...(commits.length > 0 && { commits }),
      },
    ]
  })
}

function busyRules(evidences: Evidences): readonly Cause[] {
  const by = new Map<string, { count: number; readonly clusters: string[] }>()
  for (const [cluster, evidence] of evidences)
    for (const [rule, repairs] of evidence?.repairs ?? []) {
      if (repairs === 0) continue
      const group = by.get(rule) ?? { count: 0, clusters: [] }
      group.count += repairs
      group.clusters.push(cluster)
      by.set(rule, group)
    }
  return [...by].map(([name, { count, clusters }]) => ({
    kind: 'Rule' as const,
    name,
    version: '',
    count,
    clusters: clusters.toSorted().slice(0, MOST_NAMED),
  }))
}

const seenText = ({ kind, count }: Cause, limits: BrakeLimits): string =>
  kind === 'Component'
    ? `failed in ${counted(count, 'cluster')} (limit ${limits.failedClusters})`
    : `${counted(count, 'repair')} in an hour in all clusters (limit ${limits.repairsPerHour})`

/** More stops than fit mean that everything is at fault. */
function bounded(stops: readonly Stop[], begin: Beginning): readonly Stop[] {
  const sorted = stops.toSorted((a, b) =>
    a.since < b.since ? -1 : a.since > b.since ? 1 : stopKey(a) < stopKey(b) ? -1 : 1,
  )
  const forAll = sorted.find(({ kind }) => kind === 'Everything')
  const others = sorted.filter(({ kind }) => kind !== 'Everything')
  if (others.length < MAX_STOPS) return sorted
  const everything: Stop = forAll ?? {
    kind: 'Everything',
    name: '',
    version: '',
    count: others.length,
    seen: `${others.length} versions and rules are stopped (limit ${MAX_STOPS - 1})`,
    ...begin,
  }
  return [...others.slice(0, MAX_STOPS - 1), everything]
}

/** Stopped versions that this commit introduced: no further cluster starts it. */
export const stoppedCommit = (brake: BrakeSpec | undefined, commit: string): Stop | undefined =>
  brake?.stops?.find((s) => isInForce(s) && (s.kind === 'Everything' || s.commits?.includes(commit) === true))
