// How far a control plane has applied a Release's change to its Cluster, and which part comes first. Pure.
import type { Reason } from '#api/catalogue.ts'
import { type Cluster, cluster as clusterKind } from '#api/kinds/cluster.ts'
import type { Release } from '#api/kinds/release.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { Phase } from '#api/phases.ts'
import { compareVersions, parseVersion } from '#lib/semver.ts'
import type { Failure } from '#delivery/failures.ts'
import { refText } from '#delivery/object-ref.ts'
import { hasPassedStage } from './history.ts'

/** Waiting does not fix these; a commit does. */
const FINAL: ReadonlySet<Reason> = new Set([
  'VersionNotServed',
  'FlavorNotServed',
  'InvalidSpec',
  'SkewRefused',
  'HostFull',
  'EndpointTaken',
  'NamespaceTaken',
  'SnapshotMissing',
])
/** A reason against an upgrade may end by itself: a webhook restarts, or a reading fails once. */
const REFUSED_FOR_MS = 60_000
/** Steps that the control plane itself bounds, and that wait for permits, windows and users. */
const CHANGING: ReadonlySet<Phase<'Cluster'>> = new Set(['Upgrading', 'RollingBack', 'Restoring'])

export const isPlaneChanging = ({ change, phase }: NonNullable<Cluster['status']> = {}): boolean =>
  change !== undefined || (phase !== undefined && CHANGING.has(phase))

export interface PlaneSeen {
  readonly cluster: Cluster
  /** The declared content has not passed a stage here yet. Otherwise, only a change in progress is waited for. */
  readonly isNew: boolean
  readonly now: number
}

/** Undefined: the control plane matches the declaration, as far as this Release is concerned. */
export function planeTrouble(seen: PlaneSeen): Failure | undefined {
  const { cluster, isNew } = seen
  const { metadata, spec, status = {} } = cluster
  if (spec.controlPlane === undefined || status.phase === 'Expired') return undefined
  const object = refText({
    group: clusterKind.group,
    kind: clusterKind.kind,
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
  })
  const trouble = (message: string, more: Partial<Failure> = {}): Failure => ({
    object,
    state: 'InProgress',
    reason: status.phase ?? 'Pending',
    message,
    ...more,
  })
  const { phase = 'Pending', change, waitingFor: wait } = status
  const isObserved = status.observedGeneration === undefined || status.observedGeneration >= (metadata.generation ?? 0)
  if (!isObserved || status.phase === undefined)
    return isNew ? trouble('its controller has not observed the latest spec yet') : undefined
  const seenText = wait === undefined ? '' : `: ${wait.seen ?? wait.predicate}`
  if (isNew && wait !== undefined && isFinal(wait, seen.now))
    return trouble(wait.seen ?? wait.predicate, { state: 'Failed', reason: wait.predicate })
  if (isPlaneChanging(status))
    return trouble(change === undefined ? `it is ${phase}${seenText}` : changeText(change, seenText), {
      outside: 'ControlPlaneChanging',
    })
  if (!isNew) return undefined
  const running = runningVersion(status)
  if (running !== spec.version)
    return trouble(`it is ${phase} with version ${running ?? 'unknown'}; ${spec.version ?? ''} is declared${seenText}`)
  if (phase !== 'Ready') return trouble(`it is ${phase}${seenText}`)
  const addon = (status.addons ?? []).find((a) => a.healthy !== 'True' && a.waitsFor === undefined)
  if (addon !== undefined)
    return trouble(
      `addon ${addon.name} ${addon.version} is not healthy${addon.message === undefined ? '' : `: ${addon.message}`}`,
    )
  const applied = new Map((status.addons ?? []).map((a) => [a.name, a]))
  // One that follows the nodes gets its turn after the objects that bring them.
  const missing = (spec.addons ?? []).find(
    (a) => applied.get(a.name)?.waitsFor === undefined && applied.get(a.name)?.version !== a.version,
  )
  return missing === undefined ? undefined : trouble(`addon ${missing.name} ${missing.version} is not applied yet`)
}

type Wait = NonNullable<NonNullable<Cluster['status']>['waitingFor']>
type Change = NonNullable<NonNullable<Cluster['status']>['change']>

const isFinal = ({ predicate, since }: Wait, now: number): boolean =>
  FINAL.has(predicate as Reason) || (predicate === 'UpgradeRefused' && now - Date.parse(since) >= REFUSED_FOR_MS)

const changeText = ({ from, to, message }: Change, wait: string): string => `from ${from} to ${to}: ${message}${wait}`

/** Whether the Cluster's declared content has not passed its stage yet: an earlier failure blocks nothing. */
export function isNewToStage(chain: readonly Release[], of: Release, { metadata }: Cluster): boolean {
  const commit = metadata.annotations?.[ANNOTATIONS.commit]
  if (commit === of.spec.commit) return true
  const end = chain.findIndex((r) => r.metadata.name === of.metadata.name)
  const begin = chain.findIndex((r) => r.spec.commit === commit)
  if (begin < 0 || begin >= end) return false
  return !chain.slice(begin, end).some((release) => {
    const status = release.status?.clusters?.find((c) => c.name === metadata.name)
    return status !== undefined && hasPassedStage(release, status)
  })
}

/**
 * Kubelets must never be newer than their API server, so on a downgrade they go first. Compares with the running version: a declared one may never have
 * been reached.
 */
export function areNodesFirst(declared: Pick<Cluster['spec'], 'version'>, { spec, status }: Cluster): boolean {
  const [wanted, now] = [
    parseVersion(declared.version ?? ''),
    parseVersion(runningVersion(status) ?? spec.version ?? ''),
  ]
  return wanted !== undefined && now !== undefined && compareVersions(wanted, now) < 0
}

const runningVersion = (status: Cluster['status']): string | undefined =>
  status?.versions?.find(({ part }) => part === 'apiserver')?.version

export interface Turn<Report> {
  readonly areNodesFirst: boolean
  /** `Current`: the control plane matches its declaration. */
  readonly bring: () => Promise<Report | 'Current' | undefined>
  /** Applies the cluster's own objects. */
  readonly deliver: () => Promise<Report | undefined>
  readonly isDone: (report: Report) => boolean
}

/** Returns the report of the first part that is not done; the next pass starts with the first part again. */
export async function takeTurn<Report>({
  areNodesFirst,
  bring,
  deliver,
  isDone,
}: Turn<Report>): Promise<Report | undefined> {
  if (!areNodesFirst) {
    const brought = await bring()
    return brought === 'Current' ? deliver() : brought
  }
  const report = await deliver()
  if (report === undefined || !isDone(report)) return report
  const brought = await bring()
  return brought === 'Current' ? report : brought
}
