// What is wrong with changes in progress, or what they wait for: releases, sets, canaries, work on hosts. Pure.
import { findCondition } from '#kube/conditions.ts'
import { counted } from '#lib/counted.ts'
import { HOLD_REASONS } from '#permits/holds/names.ts'
import { isApprovalText } from '#sync/release/gates.ts'
import { failureTitle } from './failure-title.ts'
import { newestReleases } from '../newest-releases.ts'
import { waitText } from '../wait.ts'
import {
  bounded,
  causeIn,
  commandStep,
  type FleetFinding,
  finding,
  MOST_FINDINGS,
  objectIn,
  stepNow,
  stepOf,
  waitsForPeople,
} from './finding.ts'
import type { ObservedCluster } from './observed.ts'

const STOPPED: ReadonlySet<string> = new Set(['Paused', 'Failed'])
const OVER: ReadonlySet<string> = new Set(['Succeeded', 'Superseded', 'Reverted'])

export function releaseFindings(cluster: ObservedCluster, now: number): readonly FleetFinding[] {
  return newestReleases(cluster.list('releases'))
    .slice(0, MOST_FINDINGS)
    .flatMap(({ metadata, status = {} }) => {
      const { phase = 'Pending', waitingFor, stages = [], clusters = [] } = status
      if (OVER.has(phase)) return []
      const object = objectIn(cluster.name, 'Release', metadata)
      const waiting = stages.find((s) => s.waitingFor !== undefined && s.phase !== 'Waiting')?.waitingFor ?? waitingFor
      const isAsked = stages.some((s) =>
        (s.gates ?? []).some((g) => g.phase === 'Waiting' && isApprovalText(g.seen ?? '')),
      )
      // Once approved, deletions wait for their permit, which other findings are about.
      const isGuarded =
        waiting?.predicate === 'PruneGuard' &&
        clusters.some(({ prune }) => prune !== undefined && prune.permit === undefined)
      // Neither continues by itself, so they need no time to prove that.
      const isForSomeone = waiting?.predicate === 'RevertedBefore' || isGuarded || waitsForPeople(waiting, now)
      const word = `release/${object.name}`
      const isForPeople = isAsked || isForSomeone
      const state = isForPeople && !STOPPED.has(phase) ? 'waits' : `is ${phase}`
      return [
        finding(object, {
          cause: waiting && causeIn(object, word, waiting.predicate),
          weight: STOPPED.has(phase) || isForPeople ? 'Act' : 'Wait',
          urgency: STOPPED.has(phase) ? 'Blocked' : isForPeople ? 'Waiting' : 'Progressing',
          text: `${word} ${state}${waiting === undefined ? '' : `: ${waitText(waiting)}`}`,
          since: waiting?.since ?? status.startedAt,
          first: (isGuarded ? undefined : stepOf(waiting, word)) ?? commandStep(`kubenode why ${word}`),
        }),
      ]
    })
}

export const setFindings = (cluster: ObservedCluster, now: number): readonly FleetFinding[] =>
  bounded(
    cluster.list('sets').flatMap((set) => {
      const { metadata, status = {} } = set
      const { phase = 'Pending', waitingFor, counts } = status
      if (phase === 'Complete') return []
      const object = objectIn(cluster.name, 'MachineComponentSet', metadata)
      const isStopped =
        phase === 'Blocked' || (phase === 'Paused' && (counts?.failed ?? 0) > 0) || waitsForPeople(waitingFor, now)
      const progress = `${counts?.updated ?? 0} of ${counted(counts?.total ?? 0, 'machine')} updated`
      const word = `set/${object.name}`
      return [
        finding(object, {
          cause: waitingFor && causeIn(object, word, waitingFor.predicate),
          weight: isStopped ? 'Act' : 'Wait',
          urgency: isStopped ? 'Blocked' : phase === 'Progressing' ? 'Progressing' : 'Waiting',
          text: `${word} is ${phase}: ${progress}${waitingFor === undefined ? '' : `; ${waitText(waitingFor)}`}`,
          since: waitingFor?.since,
          first: stepNow(waitingFor, word, isStopped),
          title: isStopped ? failureTitle(set) : undefined,
        }),
      ]
    }),
    'sets',
  )

/** MachineSet conditions that do not end by themselves. */
const STUCK_SET = ['Stalled', 'ScalingFrozen'] as const

export const machineSetFindings = (cluster: ObservedCluster, now: number): readonly FleetFinding[] =>
  bounded(
    cluster.list('machineSets').flatMap(({ metadata, status = {} }) => {
      const object = objectIn(cluster.name, 'MachineSet', metadata)
      // A hold has its own finding.
      const stuck = STUCK_SET.map((type) => findCondition(status.conditions, type)).find(
        (c) => c?.status === 'True' && !HOLD_REASONS.has(c.reason),
      )
      const { phase = 'Pending', waitingFor } = status
      if (stuck === undefined && phase === 'Complete') return []
      const isStuck = stuck !== undefined || waitsForPeople(waitingFor, now)
      const seen = stuck?.message ?? (waitingFor && waitText(waitingFor))
      const reason = stuck?.reason ?? waitingFor?.predicate
      const word = `machineset/${object.name}`
      return [
        finding(object, {
          cause: reason && causeIn(object, word, reason),
          weight: isStuck ? 'Act' : 'Wait',
          urgency: isStuck ? 'Blocked' : phase === 'Progressing' ? 'Progressing' : 'Waiting',
          text: `${word} is ${stuck?.type ?? phase}${seen === undefined ? '' : `: ${seen}`}`,
          since: stuck?.lastTransitionTime ?? waitingFor?.since,
          first: stepNow(waitingFor, word, isStuck) ?? commandStep(`kubenode why ${word}`),
        }),
      ]
    }),
    'machinesets',
  )

const CANARY_OVER: ReadonlySet<string> = new Set(['Promoted', 'Lapsed', 'Aborted'])

export const canaryFindings = (cluster: ObservedCluster, now: number): readonly FleetFinding[] =>
  bounded(
    cluster.list('canaries').flatMap(({ metadata, status = {} }) => {
      const { phase = 'Pending', waitingFor, conditions } = status
      if (CANARY_OVER.has(phase)) return []
      const object = objectIn(cluster.name, 'ComponentCanary', metadata)
      const isPassed = phase === 'Passed'
      const isStuck =
        phase === 'Failed' ||
        findCondition(conditions, 'Stalled')?.status === 'True' ||
        (!isPassed && waitsForPeople(waitingFor, now))
      const word = `canary/${object.name}`
      return [
        finding(object, {
          cause: waitingFor && causeIn(object, word, waitingFor.predicate),
          weight: isStuck || isPassed ? 'Act' : 'Wait',
          urgency: isStuck ? 'Blocked' : isPassed ? 'Waiting' : 'Progressing',
          text: `${word} is ${phase}${waitingFor === undefined ? '' : `: ${waitText(waitingFor)}`}`,
          since: waitingFor?.since,
          first: isPassed
            ? commandStep(`kubenode canary promote ${object.name}`)
            : (stepNow(waitingFor, word, isStuck) ?? commandStep(`kubenode why ${word}`)),
        }),
      ]
    }),
    'canaries',
  )

/** Phases after which the machine may not serve. */
const HAS_FAILED: ReadonlySet<string> = new Set(['Failed', 'Missed'])

export const maintenanceFindings = (cluster: ObservedCluster, now: number): readonly FleetFinding[] =>
  bounded(
    cluster
      .list('events')
      .filter((e) => HAS_FAILED.has(e.status?.phase ?? '') || waitsForPeople(e.status?.waitingFor, now))
      .map(({ metadata, spec, status = {} }) => {
        const isWrong = HAS_FAILED.has(status.phase ?? '')
        const wait = isWrong ? undefined : status.waitingFor
        return finding(objectIn(cluster.name, 'MaintenanceEvent', metadata), {
          weight: 'Act',
          urgency: isWrong ? 'Failed' : 'Waiting',
          text: `work on the host of machine/${spec.machine}: ${wait === undefined ? (status.message ?? status.phase ?? '') : waitText(wait)}`,
          since: wait?.since ?? status.phaseSince,
          first:
            stepOf(wait, `maintenanceevent/${metadata.name ?? ''}`) ??
            commandStep(`kubenode why machine/${spec.machine}`),
        })
      }),
    'work on hosts',
  )
