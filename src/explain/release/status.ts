// How far a Release has come, in lines for users: stages, clusters, what they wait for, what failed, and the command that continues it. Pure.
import { commitText, titledCommit } from '#api/protocol/commit-title.ts'
import type { Release } from '#api/kinds/release.ts'
import { HUB_TARGET } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { formatAge } from '#lib/duration.ts'
import { unblockLines } from '../unblock.ts'
import { findCondition } from '#kube/conditions.ts'
import { isAtWork } from '#sync/release/cluster-phase.ts'
import { nextRevertAt } from '#sync/revert/decide.ts'
import { someOf } from '#lib/some-of.ts'

type Status = NonNullable<Release['status']>
type ClusterStatus = NonNullable<Status['clusters']>[number]

type StageStatus = NonNullable<NonNullable<Release['status']>['stages']>[number]

export const healthyText = ({ healthy = 0, total = 0 }: Pick<StageStatus, 'healthy' | 'total'>): string =>
  total === 0 ? 'no clusters' : `${healthy} of ${counted(total, 'cluster')} healthy`

/** Clusters that only wait for their stage are counted, not listed. */
export function releaseLines(release: Release, now: number, all: readonly Release[] = []): readonly string[] {
  const { metadata, spec, status = {} } = release
  const name = metadata.name ?? ''
  const { phase = 'Pending', stages = [], clusters = [] } = status
  return [
    `release/${name} is ${phase}: commit ${commitText(spec.commit, spec)} of track ${spec.track}`,
    ...heldLines(status),
    ...stages.flatMap((stage) => [
      `stage ${stage.name}: ${stage.phase}, ${healthyText(stage)}`,
      ...waitLines(stage.waitingFor, now),
      ...(stage.gates ?? []).map(
        (g) => `  gate ${g.name} (${g.when.toLowerCase()}): ${g.phase}${g.seen === undefined ? '' : `, ${g.seen}`}`,
      ),
      ...clusters.filter((c) => c.stage === stage.name).flatMap((c) => clusterLines(c, now)),
    ]),
    ...revertLines(status, all),
    ...(status.notified ?? []).flatMap(({ name: target, problem }) =>
      problem === undefined ? [] : [`notification ${target} failed: ${problem}`],
    ),
    ...commands(name, status),
  ]
}

/** The hold of a user, also where a stage failed too: it explains why a retry does nothing. */
function heldLines(status: Status): readonly string[] {
  const paused = findCondition(status.conditions, 'Paused')
  return paused?.status === 'True' ? [`paused: ${paused.message}`, ...continuingLines(status)] : []
}

/** A hold on the hub is none in the clusters: one that has the objects already rolls them out to its machines. */
export function continuingLines({ clusters = [] }: Status): readonly string[] {
  const names = clusters.filter((c) => isAtWork(c) && c.name !== HUB_TARGET).map((c) => c.name)
  if (names.length === 0) return []
  const has = names.length === 1 ? 'has' : 'have'
  return [
    `${someOf(names, MOST_NAMED)} ${has} the objects already and continue${names.length === 1 ? 's' : ''} with the machines: to stop these, run kubenode pause set/NAME or kubenode freeze there (--context ${names[0]})`,
  ]
}

const MOST_NAMED = 5

function revertLines({ revertCommit, revert }: Status, all: readonly Release[]): readonly string[] {
  if (revertCommit !== undefined) {
    const commit = titledCommit(revertCommit, all)
    return [
      revert?.branch === undefined ? `reverted by ${commit}` : `revert: on branch ${revert.branch}, commit ${commit}`,
    ]
  }
  if (revert?.problem === undefined) return []
  const { problem, attempts = 1 } = revert
  const next = nextRevertAt({ revert })
  const again = next === undefined || Number.isNaN(next) ? '' : `, the next one at ${timestamp(next)}`
  return [`not reverted: ${problem}`, `  ${counted(attempts, 'attempt')}${again}`]
}

const since = (stamp: string, now: number): string => {
  const at = Date.parse(stamp)
  return Number.isNaN(at) ? '' : ` for ${formatAge(now - at)}`
}

function waitLines(waitingFor: ClusterStatus['waitingFor'], now: number): readonly string[] {
  if (waitingFor === undefined) return []
  const { predicate, seen, unblock = '' } = waitingFor
  return [
    `  ${predicate}${since(waitingFor.since, now)}${seen === undefined ? '' : `: ${seen}`}`,
    ...unblockLines(unblock).map((line) => `  ${line}`),
  ]
}

function clusterLines(
  { name, phase, message, failures, prune, ...cluster }: ClusterStatus,
  now: number,
): readonly string[] {
  const isQuiet =
    phase === 'Waiting' || ((phase === 'Healthy' || phase === 'Unchanged') && (failures?.before ?? 0) === 0)
  if (isQuiet && (failures?.new ?? 0) === 0) return []
  const { before = 0, new: fresh = 0 } = failures ?? {}
  const old = before === 0 ? '' : `; ${counted(before, 'older failure')} not counted`
  return [
    `  ${name}: ${phase}${since(cluster.since, now)}, ${counted(fresh, 'new failure')}${old}`,
    ...(message === undefined ? [] : [`    ${message}`]),
    ...(cluster.waitingFor?.seen === undefined
      ? []
      : [`    ${cluster.waitingFor.predicate}: ${cluster.waitingFor.seen}`]),
    ...(prune === undefined || prune.permit !== undefined ? [] : [`    digest to approve: ${prune.digest}`]),
  ]
}

function commands(name: string, { clusters = [], stages = [], phase }: Status): readonly string[] {
  if (stages.some((s) => s.phase === 'Soaking' && s.waitingFor?.predicate === 'MinSuccessTime'))
    return [`to end the soak: kubenode release promote ${name} --reason WHY`]
  const pruning = clusters.flatMap((c) => c.prune ?? [])
  if (pruning.some((p) => p.permit === undefined))
    return [`to approve its deletions: kubenode approve release/${name} --reason WHY`]
  const [asked] = pruning
  if (asked?.permit !== undefined) return [`what the deletions wait for: kubenode why operationpermit/${asked.permit}`]
  return canBeRetried({ clusters, stages, ...(phase && { phase }) })
    ? [`to retry the failed clusters and gates: kubenode release retry ${name} --reason WHY`]
    : []
}

const ENDED: ReadonlySet<string> = new Set(['Superseded', 'Reverted', 'Failed'])

/** Nothing of it can be stopped any more. */
export const isOver = ({ phase }: Pick<Status, 'phase'>): boolean => ENDED.has(phase ?? '') || phase === 'Succeeded'

/** Only failed clusters and gates are retried. */
export const canBeRetried = ({
  clusters = [],
  stages = [],
  phase,
}: Pick<Status, 'clusters' | 'stages' | 'phase'>): boolean =>
  !ENDED.has(phase ?? '') && (clusters.some((c) => c.phase === 'Failed') || failedGates(stages).length > 0)

export const failedGates = (stages: NonNullable<Status['stages']>): readonly string[] =>
  stages.flatMap(({ name, gates = [] }) =>
    gates.filter((g) => g.phase === 'Failed').map((g) => `gate ${g.name} of stage ${name}`),
  )
