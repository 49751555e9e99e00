// Decides where the programs of a Cluster run, and moves them between the hub and the cluster. Pure. One side keeps running until the other side is ready,
// and the Lease in the cluster decides who acts, so a move has neither a gap nor two leaders. Each step follows from what was recorded and observed:
//
//   to the cluster: record it, deploy, wait until all pods are ready, hand over in the status; then the programs on the hub end
//   to the hub:     hand over in the status, so that the programs on the hub wait for the Leases; when all do, remove the pods
import type { Reason } from '#api/catalogue.ts'
import { programPlace } from '#api/cluster-programs.ts'
import type { Cluster, ClusterStatus } from '#api/kinds/cluster.ts'
import { HOSTED_PROGRAMS, hostedWorkload, programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { fit, type Wait } from '#runtime/waiting.ts'
import type { ClusterAction } from '../actions.ts'
import type { PullTrouble, Seen, WaitingPods } from '../seen.ts'

export type Place = NonNullable<NonNullable<ClusterStatus>['programs']>

/** A node that restarts, or a pod that is replaced, takes less. */
const UNLED_WITHIN_MS = 2 * 60_000
/** A cluster whose pods come and go does not take its programs along each time. */
const STAY_MS = 10 * 60_000
/** A process on the hub that was started has read its kubeconfig and waits for the Lease by then, also on a busy hub. */
const START_MS = 15_000

/** The cluster runs them, as far as the status says. */
export const isInCluster = ({ spec, status }: Cluster): boolean =>
  programPlace(spec) === 'Cluster' && status?.programs?.place === 'Cluster'

/** Its record in the status. Undefined: nothing is deployed into the cluster, and nothing is to be. */
export function placeAfter(seen: Seen, now: number): Place | undefined {
  const { cluster, programs, plane } = seen
  const before = cluster.status?.programs
  if (programs === undefined) return before
  const wanted = programPlace(cluster.spec)
  if (wanted !== 'Cluster' || isBeingDeleted(cluster))
    return before === undefined ? leftIn(seen, now) : atHub(seen, before, now)
  // A hub that no longer offers them changes nothing where they lead; without a leader they return to the hub.
  if (programs.isOffered !== true && before?.place !== 'Cluster') return before && silenced(before)
  // Recorded before anything is deployed: a later pass knows what it may have to remove.
  if (before === undefined)
    return { place: 'Hub', since: timestamp(now), message: 'they are being deployed into the cluster' }
  if (plane?.state !== 'Running') return before
  return before.place === 'Hub' ? fromHub(seen, before, now) : inCluster(seen, before, now)
}

/** The record was lost, and the cluster still has them: recorded again, they leave as after any hand-over. */
const leftIn = ({ programs }: Seen, now: number): Place | undefined =>
  programs?.isLeft === true ? { place: 'Hub', since: timestamp(now) } : undefined

function silenced(before: Place): Place {
  const { message: _, ...place } = before
  return place
}

function atHub({ programs }: Seen, { place, since, hostedSince }: Place, now: number): Place {
  const isHosted = HOSTED_PROGRAMS.every((p) => programs?.hosted?.has(p) === true)
  return {
    place: 'Hub',
    since: place === 'Hub' ? since : timestamp(now),
    ...(place === 'Hub' && isHosted && { hostedSince: hostedSince ?? timestamp(now) }),
  }
}

function fromHub({ programs }: Seen, before: Place, now: number): Place {
  const stayMs = before.returned === true ? Date.parse(before.since) + STAY_MS - now : 0
  const waits =
    podsWait(programs?.pods) ??
    (programs?.leaders?.kind === 'Unread' ? programs.leaders.why : undefined) ??
    (stayMs > 0 ? `the next move is not before ${timestamp(now + stayMs)}` : undefined)
  return waits === undefined
    ? { place: 'Cluster', since: timestamp(now) }
    : { place: 'Hub', since: before.since, ...defined({ returned: before.returned }), message: fit(waits) }
}

/** What cannot be read moves nothing: the programs in the cluster do not need the hub. */
function inCluster({ programs }: Seen, before: Place, now: number): Place {
  const { leaders, pods } = programs ?? {}
  if (leaders?.kind !== 'Read' || pods?.kind !== 'Read') return before
  const trouble = [
    ...leaders.without.map((program) => `${program} has no leader`),
    ...pods.waiting.filter(({ available }) => available === 0).map(({ program, why }) => `${program}: ${why}`),
  ]
  const { since } = before
  if (trouble.length === 0) return { place: 'Cluster', since }
  const unledSince = before.unledSince ?? timestamp(now)
  return now - Date.parse(unledSince) >= UNLED_WITHIN_MS
    ? { place: 'Hub', since: timestamp(now), returned: true, message: fit(trouble.join('; ')) }
    : { place: 'Cluster', since, unledSince, message: fit(trouble.join('; ')) }
}

function podsWait(pods: NonNullable<Seen['programs']>['pods']): string | undefined {
  if (pods === undefined) return 'their pods are not known yet'
  if (pods.kind === 'Unread') return pods.why
  return pods.waiting.length === 0 ? undefined : `in the cluster ${byCause(pods.waiting)}`
}

/** Most often all of them have the same cause, such as a cluster without nodes. */
const byCause = (waiting: readonly WaitingPods[]): string =>
  [...Map.groupBy(waiting, ({ why }) => why)]
    .map(([why, of]) => `${of.map(({ program }) => programLeaseName(program)).join(', ')}: ${why}`)
    .join('; ')

/** The record comes first: without it nothing is deployed or removed. */
export function placeActions({ cluster, programs, plane }: Seen, now: number): readonly ClusterAction[] {
  if (programs === undefined || cluster.status?.programs === undefined || plane?.state !== 'Running') return []
  const wanted = programPlace(cluster.spec)
  if (wanted === 'Cluster')
    return programs.isOffered === true ? [{ kind: 'DeployPrograms', reason: 'they are kept as declared' }] : []
  if (wanted === 'None') return [{ kind: 'RemovePrograms', reason: 'the Cluster wants no programs of the hub' }]
  // The status with the hand-over must have been written: only then do programs on the hub count.
  const { place, hostedSince } = cluster.status.programs
  const isHosted = HOSTED_PROGRAMS.every((p) => programs.hosted?.has(p) === true)
  return place === 'Hub' && isHosted && hostedSince !== undefined && now - Date.parse(hostedSince) >= START_MS
    ? [{ kind: 'RemovePrograms', reason: 'they run on the hub' }]
    : []
}

/** What a move waits for. `problem`: what the cluster refused in this pass. */
export function waitOfMove(seen: Seen, after: Place | undefined, problem?: string): Wait<Reason> | undefined {
  const { cluster, programs } = seen
  const wanted = programPlace(cluster.spec)
  if (programs === undefined || isBeingDeleted(cluster)) return undefined
  if (wanted === 'Hub' && after !== undefined) return waitOfReturn(programs)
  if (wanted !== 'Cluster') return undefined
  const isThere = after?.place === 'Cluster'
  const where = isThere ? 'the programs run in the cluster' : 'the programs run on the hub'
  if (programs.isOffered !== true)
    return {
      predicate: 'ProgramsMoving',
      seen: `${programs.unreadable ?? 'this hub has no programs for clusters'}; ${where}${isThere ? ' and are not kept as declared' : ''}${becauseOf(after?.message)}`,
      unblock: 'kubenode install or upgrade of the hub, with clusterPrograms in its settings',
    }
  if (after?.message === undefined) return undefined
  const pulls = after.unledSince === undefined && problem === undefined ? pullsOf(programs) : []
  if (pulls.length > 0)
    return { predicate: 'ImageNotPulled', seen: `${where}${becauseOf(after.message)}`, unblock: unblockOfPulls(pulls) }
  const unblock =
    after.unledSince !== undefined
      ? 'they lead again; after two minutes without, they return to the hub'
      : problem !== undefined
        ? 'the cluster takes their objects: a person removes what refuses them there'
        : unblockOfPods(seen)
  return { predicate: 'ProgramsMoving', seen: `${where}${becauseOf(after.message)}`, unblock }
}

const becauseOf = (message: string | undefined): string => (message === undefined ? '' : `: ${message}`)

const pullsOf = ({ pods }: NonNullable<Seen['programs']>): readonly PullTrouble[] =>
  pods?.kind === 'Read' ? pods.waiting.flatMap(({ pull }) => pull ?? []) : []

function unblockOfPulls(pulls: readonly PullTrouble[]): string {
  const secrets = [...new Set(pulls.flatMap(({ missingSecrets }) => missingSecrets))]
  return secrets.length === 0
    ? 'the nodes of the cluster can pull the image: they reach its registry, and its Secrets for pulling are valid'
    : `an administrator of the cluster creates Secret ${secrets.join(', ')} in its ${SYSTEM_NAMESPACE}`
}

function unblockOfPods({ programs }: Seen): string {
  if (programs?.pods?.kind === 'Unread' || programs?.leaders?.kind === 'Unread')
    return 'the API server of the cluster answers'
  return podsWait(programs?.pods) === undefined
    ? 'that time comes; they move by themselves'
    : 'their pods in the cluster are ready: it has nodes with room for them that can pull the image'
}

function waitOfReturn({ hosted }: NonNullable<Seen['programs']>): Wait<Reason> {
  const missing = HOSTED_PROGRAMS.filter((p) => hosted?.has(p) !== true)
  return {
    predicate: 'ProgramsMoving',
    seen: `the programs in the cluster stay until the hub runs them: ${missing.length === 0 ? 'they start there' : `${missing.join(', ')} missing on the hub`}`,
    unblock: `pods of ${(missing.length === 0 ? HOSTED_PROGRAMS : missing).map(hostedWorkload).join(', ')} run on the hub`,
  }
}
