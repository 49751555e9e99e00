// What is wrong with changes in progress, or what they wait for: commits, releases, sets, canaries, clusters, approvals, work on hosts. Pure.
import { notReady, shownPhase } from '../cluster-phase.ts'
import { phaseWords } from '../phase-words.ts'
import { isReason } from '#api/catalogue.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { newestCommitText } from '#api/protocol/commit-title.ts'
import { purposeOfPermit } from '#api/protocol/part.ts'
import { findCondition } from '#kube/conditions.ts'
import { counted } from '#lib/counted.ts'
import type { Condition } from '#api/schema/object.ts'
import { HOLD_REASONS } from '#permits/holds/names.ts'
import { isInForce, stopKey } from '#sync/brake/stops.ts'
import { isApprovalText } from '#sync/release/gates.ts'
import { liftCommand, stopText } from '../brake.ts'
import { failureTitle } from './failure-title.ts'
import { newestReleases } from '../newest-releases.ts'
import { isForPeople, type WayOn } from '../finding.ts'
import { endOfRefusal } from '../refused-commit.ts'
import { unblockOf } from '../unblock.ts'
import { waitText } from '../wait.ts'
import { needsPeople, peopleSentence } from '../ways-out.ts'
import {
  bounded,
  causeIn,
  commandStep,
  type FleetFinding,
  finding,
  MOST_FINDINGS,
  objectIn,
  stampOf,
  stepOf,
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

/** What may prevent the newest commit from being followed, in sync's order, with the text for each. */
const WAY_OF_A_COMMIT = {
  Fetched: 'cannot be fetched',
  SourceVerified: 'refuses the newest commit',
  Rendered: 'refuses the newest commit',
  Applied: 'does not apply the newest commit',
} as const

/** Only a commit with a valid signature has a title. */
const isRead = (type: keyof typeof WAY_OF_A_COMMIT): boolean => type === 'Rendered' || type === 'Applied'

export interface Refusal {
  readonly how: string
  readonly message: string
  readonly reason: string
  readonly since: string | undefined
}

/** Why the newest commit is not followed. The status holds more of the first error than its condition can. */
export function refusalOf({ status }: Pick<FleetSource, 'status'>): Refusal | undefined {
  const { conditions = [], refused, renderErrors, subject } = status ?? {}
  // A change on the hub that waits for its stage is not refused: its source is Ready.
  if (conditions.some((c) => c.type === 'Ready' && c.status === 'True')) return undefined
  const bad = (Object.keys(WAY_OF_A_COMMIT) as (keyof typeof WAY_OF_A_COMMIT)[])
    .map((type) => findCondition(conditions, type))
    .find((c): c is Condition => c?.status === 'False' && c.reason !== 'Progressing')
  if (bad === undefined && refused === undefined) return undefined
  const type = (bad?.type ?? 'SourceVerified') as keyof typeof WAY_OF_A_COMMIT
  const problem = type === 'SourceVerified' ? refused?.message : type === 'Rendered' ? renderErrors?.[0] : undefined
  const message = problem ?? bad?.message ?? ''
  const how = bad?.reason === 'RenderUnavailable' ? 'cannot render the newest commit' : WAY_OF_A_COMMIT[type]
  const newest = isRead(type) && subject !== undefined ? newestCommitText(status ?? {}) : undefined
  return {
    // Render errors name the commit themselves.
    how: newest === undefined || message.includes(newest) ? how : `${how} ${newest}`,
    message,
    reason: bad?.reason ?? refused?.reason ?? '',
    since: bad?.lastTransitionTime,
  }
}

export const refusalText = (name: string, { how, message }: Refusal): string => `source/${name} ${how}: ${message}`

/** The condition lists what would be deleted; how to allow it is shown separately. */
const heldText = (source: string, count: number, message = ''): string =>
  message === ''
    ? `source/${source}: ${counted(count, 'deletion')} on the hub for approval`
    : `source/${source} waits for an approval: ${message.split('; to allow it', 1)[0] ?? ''}`

/** Who ends the refusal, and what they type first. */
export function wayOfRefusal({ metadata: { name = '' }, status = {} }: FleetSource, { reason }: Refusal): WayOn {
  const word = `source/${name}`
  const sentence = endOfRefusal(status, reason)
  return sentence === undefined
    ? (wayOfReason(reason, word) ?? commandStep(`kubenode why ${word}`))
    : unblockOf(sentence)
}

export const sourceFindings = (cluster: ObservedCluster): readonly FleetFinding[] =>
  cluster.list('sources').flatMap((source) => {
    const { metadata, status } = source
    const object = objectIn(cluster.name, 'FleetSource', metadata)
    const { refused, prunes = [], conditions } = status ?? {}
    const refusal = refusalOf(source)
    const why = commandStep(`kubenode why source/${object.name}`)
    const approve = commandStep(`kubenode approve source/${object.name} --reason WHY`)
    const ready = findCondition(conditions, 'Ready')
    const isHeld = refusal !== undefined || prunes.length > 0
    const isUnready = ready?.status === 'False' && ready.reason !== 'Progressing' && !isHeld
    return [
      ...(refusal === undefined
        ? []
        : [
            finding(object, {
              weight: 'Act',
              urgency: 'Blocked',
              text: refusalText(object.name, refusal),
              since: refusal.since,
              first: refused?.digest === undefined ? wayOfRefusal(source, refusal) : approve,
            }),
          ]),
      ...prunes.map(({ name, held }) =>
        finding(object, {
          weight: 'Act',
          urgency: 'Waiting',
          part: `prune/${name}`,
          text: heldText(object.name, held.count, findCondition(conditions, 'PruneBlocked')?.message),
          first: approve,
        }),
      ),
      ...(isUnready
        ? [
            finding(object, {
              weight: 'Act',
              urgency: 'Failed',
              text: `source/${object.name} is not Ready: ${ready.reason}: ${ready.message}`,
              since: ready.lastTransitionTime,
              first: why,
            }),
          ]
        : []),
    ]
  })

/** A fetch may succeed at the next try, and one commit may declare a set and its machines together. So a wait is for users only if it lasts this long. */
const PEOPLE_AFTER_MS = 120_000

/** The wait names who must act. */
const waitsForPeople = (
  wait: { readonly unblock?: string; readonly since?: string } | undefined,
  now: number,
): boolean => isForPeople(wait?.unblock ?? '') && now - (stampOf(wait?.since) ?? now) >= PEOPLE_AFTER_MS

/** A wait that the next try may end asks for no action yet. */
const stepNow = (wait: Parameters<typeof stepOf>[0], word: string, isStuck: boolean): WayOn | undefined =>
  isStuck || !isForPeople(wait?.unblock ?? '')
    ? stepOf(wait, word)
    : { ends: 'it may end by itself within two minutes' }

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

const wayOfReason = (reason: string | undefined, word: string): WayOn | undefined => {
  const sentence = reason === undefined ? undefined : peopleSentence(reason, word)
  return sentence === undefined ? undefined : unblockOf(sentence)
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

export const breakerFindings = (cluster: ObservedCluster): readonly FleetFinding[] =>
  (cluster.list('ledgers')[0]?.spec.breakers ?? []).flatMap(({ policy, state, since, failures }) =>
    state !== 'Open'
      ? []
      : [
          finding(objectIn(cluster.name, 'DefenderPolicy', { name: policy }), {
            weight: 'Act',
            urgency: 'Blocked',
            text: `the breaker of policy ${policy} is open after ${counted(failures, 'failure')}: only recoveries are granted`,
            since,
            first: unblockOf(peopleSentence('BreakerOpen', `policy/${policy}`) ?? ''),
          }),
        ],
  )

/** For the hub alone: the copies in the clusters repeat it. */
export const brakeFindings = (cluster: ObservedCluster): readonly FleetFinding[] =>
  cluster.list('brakes').flatMap(({ metadata, spec }) =>
    spec.cluster !== undefined
      ? []
      : (spec.stops ?? []).filter(isInForce).map((stop) =>
          finding(objectIn(cluster.name, 'FleetBrake', metadata), {
            weight: 'Act',
            urgency: 'Stopped',
            part: stopKey(stop),
            text: stopText(stop),
            since: stop.since,
            first: commandStep(liftCommand(stop)),
          }),
        ),
  )

export const permitFindings = (cluster: ObservedCluster): readonly FleetFinding[] =>
  bounded(
    cluster.list('permits').flatMap(({ metadata, spec, status }) => {
      const shut = [...(status?.gates ?? []), ...(status?.verdicts ?? [])].find(
        (v) => v.gate === 'Approval' && v.verdict === 'Waiting',
      )
      if (shut === undefined || status?.phase !== 'Requested') return []
      const object = objectIn(cluster.name, 'OperationPermit', metadata)
      return [
        finding(object, {
          weight: 'Act',
          urgency: 'Waiting',
          text: `the permit for ${purposeOfPermit(spec)} needs an approval${shut.seen === undefined ? '' : `: ${shut.seen}`}`,
          since: metadata.creationTimestamp,
          first: commandStep(`kubenode approve operationpermit/${object.name} --reason WHY`),
        }),
      ]
    }),
    'permits that need an approval',
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
