// In which stage a cluster passes a Release, and which changes of its Cluster need an Approval there. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { Release } from '#api/kinds/release.ts'
import { machinesWith } from '#delivery/machine-loss.ts'
import type { Stage } from './gates.ts'
import { mayHaveTouched } from './history.ts'
import { deletionRisk, moveRisk, type Risk, risksOf } from './risk.ts'
import { labelsAfter, memberOf, stageAt } from './members.ts'

export interface Membership {
  /** Of the pipeline that applies to the Release. */
  readonly stages: readonly Stage[]
  readonly live: Cluster
  /** Absent where the Release has no Cluster of this name. */
  readonly declared: Cluster | undefined
  /** The commit removes it. */
  readonly isLeaving?: boolean
}

/** In no stage, a cluster passes the gates of the stage that the commit gives it. */
export function labelsIn({ stages, live, declared }: Membership): Readonly<Record<string, string>> {
  const now = memberOf(live)
  return declared === undefined || stageAt(stages, now) !== -1 ? now.labels : labelsAfter(live, declared)
}

/** Once the Release has changed its Cluster, a cluster stays in the stage where that was: a commit cannot move it past later gates. */
export const stageOfTurn = (release: Release, { metadata }: Cluster): string | undefined =>
  metadata.annotations?.[ANNOTATIONS.commit] === release.spec.commit
    ? stageBegun(release, metadata.name ?? '')
    : undefined

/** The stage in which the Release reached the cluster. Its Cluster may be gone by now. */
export function stageBegun({ status }: Pick<Release, 'status'>, cluster: string): string | undefined {
  const at = status?.clusters?.find((c) => c.name === cluster)
  return at !== undefined && mayHaveTouched(at) ? at.stage : undefined
}

export function risksIn({ stages, live, declared, isLeaving }: Membership): readonly Risk[] {
  if (isLeaving === true)
    return [deletionRisk(live.metadata.name ?? '', machinesWith(live))].flatMap((risk) => risk ?? [])
  if (declared === undefined) return []
  const { name, labels } = memberOf(live)
  const machines = live.status?.machines?.total
  const to = { name, labels: labelsAfter(live, declared) }
  const move = moveRisk(name, { stages, from: { name, labels }, to, machines })
  return [...risksOf(name, declared.spec, { spec: live.spec, machines }), ...(move === undefined ? [] : [move])]
}
