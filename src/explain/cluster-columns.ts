// What sync knows about registered clusters, for the columns of `kubenode get clusters`: the newest Releases show what they wait for, and a Cluster's
// status shows whether it answers. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Release } from '#api/kinds/release.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { commitText, titledCommit } from '#api/protocol/commit-title.ts'
import { chainOf } from '#sync/release/chain.ts'
import { hasTouched } from '#sync/release/history.ts'
import { formatAge } from '#lib/duration.ts'
import { newestReleases } from './newest-releases.ts'
import { notReady } from './cluster-phase.ts'
import { waitCell } from './wait.ts'

export const CLUSTER_HEAD = ['REACHABLE', 'COMMIT', 'STATE', 'WAITS FOR'] as const

type Known = NonNullable<NonNullable<Release['status']>['clusters']>[number]

/** Why sync gets no answer, as Releases report it. */
const NO_ANSWER: ReadonlySet<string> = new Set([
  'ApiServerDown',
  'CredentialsInvalid',
  'ServerCertificateExpired',
  'ReferenceMissing',
])

/** With several tracks, the worst state wins. */
const FIRST = ['Failed', 'Offline', 'Applying', 'Verifying', 'Waiting', 'Unchanged', 'Healthy']

const NONE = '<none>'

export interface ClusterKey {
  readonly namespace: string
  readonly name: string
}

export type CellsOf = (key: ClusterKey, cluster?: Pick<Cluster, 'metadata' | 'status'>) => readonly string[]

/** `releases`: all of them. Those in another namespace are about other clusters. */
export function clusterCells(releases: readonly Release[], now: number): CellsOf {
  const tracks = newestReleases(releases).map((newest) => ({
    newest,
    // The cells of hundreds of clusters share it.
    chain: chainOf(
      releases.filter((r) => r.metadata.namespace === newest.metadata.namespace),
      newest.spec,
    ),
  }))
  return ({ namespace, name }, object) => {
    const { metadata, status } = object ?? {}
    const own = ownAnswer(status, now)
    const ownWait = own === undefined || own.waits === NONE ? waitOf(status) : own.waits
    const applied = metadata?.annotations?.[ANNOTATIONS.commit]
    const ofObject = applied === undefined ? NONE : titledCommit(applied, releases)
    const [first] = tracks
      .filter(({ newest }) => newest.metadata.namespace === namespace)
      .flatMap(({ newest, chain }) =>
        (newest.status?.clusters ?? []).filter((c) => c.name === name).map((cluster) => ({ cluster, chain })),
      )
      .toSorted((a, b) => FIRST.indexOf(a.cluster.phase) - FIRST.indexOf(b.cluster.phase))
    if (first === undefined) return [own?.reachable ?? 'Unknown', ofObject, NONE, ownWait]
    const { cluster, chain } = first
    const ofRelease = waits(cluster)
    return [
      unreachedBy(cluster, now) ?? own?.reachable ?? reachable(cluster, status?.reachableSince ?? '', now),
      reachedBy(chain, name) ?? ofObject,
      `${cluster.phase}${since(cluster.since, now)}`,
      ofRelease === NONE ? ownWait : ofRelease,
    ]
  }
}

/** The newest commit that is in the cluster: a newer one that still waits for its stage is not there yet. */
function reachedBy(chain: readonly Release[], cluster: string): string | undefined {
  const last = chain.findLast(({ status }) => status?.clusters?.some((c) => c.name === cluster && hasTouched(c)))
  return last && commitText(last.spec.commit, last.spec)
}

/** What its control plane waits for, such as a permit, or why it is not Ready. */
const waitOf = (status: Cluster['status']): string => {
  const { waitingFor } = status ?? {}
  const unready = notReady(status)
  if (waitingFor !== undefined) return waitCell(waitingFor)
  return unready === undefined ? NONE : `${unready.reason}: ${unready.message}`
}

/** `in 3h`, or `5m ago`. */
export function inTime(stamp: string, now: number): string {
  const ms = Date.parse(stamp) - now
  if (Number.isNaN(ms)) return stamp
  return ms > 0 ? `in ${formatAge(ms)}` : `${formatAge(-ms)} ago`
}

export const expiresText = (status: Cluster['status'], now: number): string =>
  status?.expiresAt === undefined ? NONE : inTime(status.expiresAt, now)

interface Answer {
  readonly reachable: string
  readonly waits: string
}

/** The result of the loop that polls each registered cluster every minute; newer than a finished Release. */
function ownAnswer(status: Cluster['status'], now: number): Answer | undefined {
  const ready = status?.conditions?.find((c) => c.type === 'Ready')
  if (ready?.reason === 'ClusterAnswers' && ready.status === 'True')
    return { reachable: `Yes${since(status?.reachableSince ?? '', now)}`, waits: NONE }
  if (status?.phase !== 'Unreachable' || ready === undefined) return undefined
  return {
    reachable: `No${since(ready.lastTransitionTime, now)}`,
    waits: `${ready.reason}: ${ready.message}`,
  }
}

function unreachedBy({ phase, since: at, waitingFor }: Known, now: number): string | undefined {
  if (waitingFor !== undefined && NO_ANSWER.has(waitingFor.predicate)) return `No${since(waitingFor.since, now)}`
  return phase === 'Offline' ? `No${since(at, now)}` : undefined
}

/** sync has not contacted a cluster that waits for this commit. */
const reachable = ({ phase }: Known, answersSince: string, now: number): string =>
  phase === 'Waiting' && answersSince === '' ? 'Unknown' : `Yes${since(answersSince, now)}`

function since(stamp: string, now: number): string {
  const at = Date.parse(stamp)
  return Number.isNaN(at) ? '' : ` (${formatAge(now - at)})`
}

const waits = ({ waitingFor, message }: Known): string => {
  return waitingFor === undefined ? (message ?? NONE) : waitCell(waitingFor)
}
