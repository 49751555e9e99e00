// What sync knows of the registered clusters, in columns of `kubenode get clusters`: a Cluster has no status of its own yet, so that the newest Releases say it. Pure.
import type { Release } from '#api/kinds/release.ts'
import { formatAge } from '#lib/duration.ts'

export const CLUSTER_HEAD = ['REACHABLE', 'COMMIT', 'STATE', 'WAITS FOR'] as const

type Known = NonNullable<NonNullable<Release['status']>['clusters']>[number]

/** Why sync gets no answer, as Releases report it. */
const NO_ANSWER: ReadonlySet<string> = new Set(['ApiServerDown', 'CredentialsInvalid', 'ReferenceMissing'])

/** Of several tracks the worst state. */
const FIRST = ['Failed', 'Offline', 'Applying', 'Verifying', 'Waiting', 'Unchanged', 'Healthy']

const NOTHING = ['Unknown', '<none>', '<none>', '<none>'] as const

/** `releases`: the newest of each track. `reachableSince`: of the status of the Cluster. */
export function clusterCells(
  name: string,
  releases: readonly Release[],
  now: number,
  reachableSince = '',
): readonly string[] {
  const [first] = releases
    .flatMap(({ spec, status }) =>
      (status?.clusters ?? []).filter((c) => c.name === name).map((cluster) => ({ cluster, commit: spec.commit })),
    )
    .toSorted((a, b) => FIRST.indexOf(a.cluster.phase) - FIRST.indexOf(b.cluster.phase))
  if (first === undefined) return NOTHING
  const { cluster, commit } = first
  return [
    reachable(cluster, reachableSince, now),
    commit.slice(0, 12),
    `${cluster.phase}${since(cluster.since, now)}`,
    waits(cluster),
  ]
}

function reachable({ phase, since: at, waitingFor }: Known, answersSince: string, now: number): string {
  if (waitingFor !== undefined && NO_ANSWER.has(waitingFor.predicate)) return `No${since(waitingFor.since, now)}`
  if (phase === 'Offline') return `No${since(at, now)}`
  // Sync has not asked it for this commit.
  return phase === 'Waiting' && answersSince === '' ? 'Unknown' : `Yes${since(answersSince, now)}`
}

function since(stamp: string, now: number): string {
  const at = Date.parse(stamp)
  return Number.isNaN(at) ? '' : ` (${formatAge(now - at)})`
}

const waits = ({ waitingFor, message }: Known): string => {
  if (waitingFor === undefined) return message ?? '<none>'
  return waitingFor.seen === undefined ? waitingFor.predicate : `${waitingFor.predicate}: ${waitingFor.seen}`
}
