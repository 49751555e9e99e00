// Everything that blocks an upgrade, collected before anything starts. Pure; a failed read blocks too.
import { minorOf } from '#api/constructs/control-plane/settings.ts'
import { nextVersion, rowOf, type VersionTable } from './versions.ts'
import type { ClusterReadiness, Readiness, Reading, UpgradeSeen, UpgradeRequest } from './seen.ts'
import { defined } from '#lib/defined.ts'
import { someOf } from '#lib/some-of.ts'

/** A fuller etcd may hit its quota before the upgrade ends. */
const MAX_QUOTA_USED = 0.75
/** A kubelet may be this many minors behind its API server. */
const MAX_KUBELET_BEHIND = 3
const MAX_NAMED = 5
/** Share of the nodes, rounded down: in a small cluster every node counts. */
const MAX_UNREADY = 0.1

export interface Preflight {
  /** The next version: the wanted one, or one on the way. */
  readonly next: string
  /** Empty: it may start. */
  readonly problems: readonly string[]
}

export function preflight(
  { parts, readiness, busyWith, blocked, snapshotTrouble }: UpgradeSeen,
  request: UpgradeRequest,
  table: VersionTable,
): Preflight {
  const from = parts.apiserver.wanted.version
  const way = nextVersion(table, from, request.version, request.walksMinors)
  if ('problem' in way) return { next: request.version, problems: [way.problem] }
  const next = way.version
  const problems = [
    ...(busyWith === undefined ? [] : [`${busyWith} is under way`]),
    ...blocked.flatMap(({ version, why }) =>
      version === next ? [`${next} failed here: ${why}; ask for another version, or make a Retry hold`] : [],
    ),
    ...stepProblems(from, next, parts.etcd.wanted.version, table),
    ...unready(parts),
    ...(snapshotTrouble === undefined ? [] : [`the last snapshot failed, and so would the next: ${snapshotTrouble}`]),
    ...clusterProblems(readiness, next, defined({ accepts: request.accepts })),
    ...hostProblems(readiness, from, next, request.accepts),
  ]
  return { next, problems }
}

function stepProblems(from: string, next: string, etcd: string, table: VersionTable): readonly string[] {
  const [here, there] = [minorOf(from), minorOf(next)]
  const row = rowOf(table, next)
  if (here === undefined || there === undefined || row === undefined)
    return [`version ${next} is not in the version table`]
  if (there < here)
    return [
      `1.${here} to 1.${there} goes back over a one-way step: only a snapshot taken before it can be restored; make another cluster and restore it there`,
    ]
  if (there > here && row.emulatesFrom > here)
    return [`${next} can emulate 1.${row.emulatesFrom} and later, not 1.${here}: there would be no way back`]
  return etcdProblems(etcd, row.etcd)
}

/** etcd moves one minor at a time. */
function etcdProblems(before: string, after: string): readonly string[] {
  const [b, a] = [etcdMinor(before), etcdMinor(after)]
  if (b === undefined || a === undefined) return [`the versions of etcd cannot be read: ${before}, ${after}`]
  return a > b + 1 ? [`etcd ${before} to ${after} skips a minor of etcd`] : []
}

/** 306 for 3.6.5. */
export function etcdMinor(version: string): number | undefined {
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})\.\d+/.exec(version) ?? []
  return major === undefined || minor === undefined ? undefined : Number(major) * 100 + Number(minor)
}

const unready = (parts: UpgradeSeen['parts']): readonly string[] =>
  Object.entries(parts).flatMap(([name, part]) => (part.isReady ? [] : [`${name} is not ready as it is`]))

interface Terms {
  /** Checks whose problems the commit accepts. A failed check always blocks. */
  readonly accepts?: UpgradeRequest['accepts']
  /** A downgrade is a recovery: only kubelets that would be newer than their API server block it. */
  readonly isBack?: boolean
}

/** Applies to control planes of every flavor. */
export function clusterProblems(
  { kubelets, unreadyNodes, blockingBudgets, deafWebhooks }: ClusterReadiness,
  next: string,
  { accepts = [], isBack = false }: Terms,
): readonly string[] {
  const skew = read(kubelets, 'the versions of the kubelets', (k) => (k === undefined ? [] : kubeletProblems(k, next)))
  if (isBack) return skew
  return [
    ...skew,
    ...read(unreadyNodes, 'the nodes', ({ total, names }) =>
      names.length <= Math.floor(total * MAX_UNREADY) || accepts.includes('UnreadyNodes')
        ? []
        : named(`${names.length} of ${total} nodes are not Ready`, names),
    ),
    ...read(blockingBudgets, 'the PodDisruptionBudgets', (names) =>
      accepts.includes('DisruptionBudgets') ? [] : named('PodDisruptionBudgets let no pod go', names),
    ),
    ...read(deafWebhooks, 'the webhooks', (names) => named('webhooks that fail closed do not answer', names)),
  ]
}

function hostProblems(
  r: Readiness,
  from: string,
  next: string,
  accepts: UpgradeRequest['accepts'] = [],
): readonly string[] {
  const isMinor = minorOf(from) !== minorOf(next)
  return [
    ...read(r.etcd, 'the state of etcd', ({ isHealthy, usedOfQuota }) => [
      ...(isHealthy ? [] : ['etcd is not healthy']),
      ...(usedOfQuota < MAX_QUOTA_USED
        ? []
        : [`etcd uses ${Math.round(usedOfQuota * 100)} % of its quota; less than ${MAX_QUOTA_USED * 100} % is needed`]),
    ]),
    ...read(r.surgeTrouble, 'the room on the hub', (why) =>
      why === undefined ? [] : [`the hub has no room for one API server more: ${why}`],
    ),
    ...(isMinor
      ? [
          ...read(r.removedApisInUse, 'the use of deprecated APIs', (names) =>
            accepts.includes('DeprecatedApis') ? [] : named(`clients use APIs that ${next} no longer serves`, names),
          ),
          ...read(r.unfitAddons, 'the addons', (names) => named(`addons are not tested with ${next}`, names)),
        ]
      : []),
  ]
}

function kubeletProblems(
  { oldest, newest }: { readonly oldest: string; readonly newest: string },
  next: string,
): readonly string[] {
  const [o, n, minor] = [minorOf(oldest), minorOf(newest), minorOf(next)]
  if (o === undefined || n === undefined || minor === undefined)
    return [`the versions of the kubelets cannot be read: ${oldest}, ${newest}`]
  return [
    ...(minor - o > MAX_KUBELET_BEHIND
      ? [`a kubelet ${oldest} would be ${minor - o} minors behind; at most ${MAX_KUBELET_BEHIND} are allowed`]
      : []),
    ...(n > minor ? [`a kubelet ${newest} is newer than ${next}`] : []),
  ]
}

const read = <T>(reading: Reading<T>, what: string, judge: (value: T) => readonly string[]): readonly string[] =>
  reading.known ? judge(reading.value) : [`${what} cannot be read: ${reading.why}`]

const named = (problem: string, names: readonly string[]): readonly string[] =>
  names.length === 0 ? [] : [`${problem}: ${someOf(names, MAX_NAMED)}`]

/** Nothing could be read. */
export const unreadable = (why: string): ClusterReadiness => ({
  kubelets: { known: false, why },
  unreadyNodes: { known: false, why },
  blockingBudgets: { known: false, why },
  deafWebhooks: { known: false, why },
})
