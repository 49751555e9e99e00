// Clusters whose control plane is not ready, is being changed, or has no current snapshot. Pure.
import { isReason } from '#api/catalogue.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Condition } from '#api/schema/object.ts'
import { findCondition } from '#kube/conditions.ts'
import { notReady, shownPhase } from '../cluster-phase.ts'
import { phaseWords } from '../phase-words.ts'
import { waitText } from '../wait.ts'
import { needsPeople } from '../ways-out.ts'
import {
  bounded,
  causeIn,
  commandStep,
  type FleetFinding,
  finding,
  objectIn,
  PEOPLE_AFTER_MS,
  stampOf,
  stepOf,
  wayOfReason,
} from './finding.ts'
import type { ObservedCluster } from './observed.ts'

/** Cluster phases that end when the clusters program is done. */
const CLUSTER_WORK: ReadonlySet<string> = new Set([
  'Pending',
  'Creating',
  'Addons',
  'Upgrading',
  'RollingBack',
  'Restoring',
  'Deleting',
])
/** The Cluster has expired as declared, so nothing more is expected of it. */
const EXPIRED = 'Expired'

/** Its programs start after its API server, and a host of control planes restarts. */
const SOON_OVER: ReadonlySet<string> = new Set(['ProgramsMissing', 'HostUnreachable'])

function becomesReady({ reason, lastTransitionTime }: Condition, now: number): boolean {
  if (SOON_OVER.has(reason)) return now - (stampOf(lastTransitionTime) ?? now) < PEOPLE_AFTER_MS
  return isReason(reason) && !needsPeople(reason)
}

export const clusterObjectFindings = (
  cluster: ObservedCluster,
  others: ReadonlySet<string>,
  now: number,
): readonly FleetFinding[] =>
  bounded(
    cluster.list('clusters').flatMap((one): readonly FleetFinding[] => {
      const { metadata, status = {} } = one
      const { name = '' } = metadata
      const { waitingFor } = status
      const isDeleted = metadata.deletionTimestamp !== undefined
      const unready = isDeleted ? undefined : notReady(status)
      const phase = isDeleted ? 'Deleting' : (shownPhase(status) ?? 'Pending')
      const object = objectIn(cluster.name, 'Cluster', metadata)
      const word = `cluster/${name}`
      const why = commandStep(`kubenode why ${word}`)
      const late = lateSnapshot(one)
      const ready = findCondition(status.conditions, 'Ready')
      const seen = waitingFor === undefined ? ready?.message : waitText(waitingFor)
      const reason = waitingFor?.predicate ?? ready?.reason
      const isWork = CLUSTER_WORK.has(phase) || (unready !== undefined && becomesReady(unready, now))
      // An unreachable cluster has its own finding.
      const isCovered = phase === 'Ready' || phase === EXPIRED || (phase === 'Unreachable' && others.has(name))
      return [
        ...(isCovered
          ? []
          : [
              finding(object, {
                weight: isWork ? 'Wait' : 'Act',
                urgency: isWork ? 'Progressing' : 'Stopped',
                part: 'phase',
                cause: reason && causeIn(object, word, reason),
                text: `${word} ${phaseWords('Cluster', phase)}${seen === undefined || seen === '' ? '' : `: ${seen}`}`,
                since: waitingFor?.since ?? unready?.lastTransitionTime,
                first: stepOf(waitingFor, word) ?? wayOfReason(unready === undefined ? undefined : reason, word) ?? why,
              }),
            ]),
        ...(late === undefined
          ? []
          : [
              finding(object, {
                weight: 'Act',
                urgency: 'Failed',
                part: 'snapshots',
                text: `${word} has no current snapshot: ${late.message}`,
                since: late.lastTransitionTime,
                first: why,
              }),
            ]),
      ]
    }),
    'clusters',
  )

const lateSnapshot = ({ status }: Cluster): Condition | undefined => {
  const current = findCondition(status?.conditions, 'SnapshotsCurrent')
  return current?.status === 'False' && status?.phase === 'Ready' ? current : undefined
}
