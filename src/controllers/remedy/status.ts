// The status of every rule: what it evaluates, how many nodes it is true for, what was done about them, and why the others get no repair. Pure.
import type { Reason } from '#api/catalogue.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { editedConditions } from '#declared/edited-status.ts'
import { type WantedCondition, setConditions } from '#kube/conditions.ts'
import type { RuleVerdict } from './actions.ts'

export type RemedierStatus = NonNullable<NodeRemedier['status']>

/** Limit of the kind. */
const MOST_MATCHING = 200
const MAX_SENTENCE = 200

export function statusOf(verdict: RuleVerdict, failed: ReadonlySet<string>, now: number): RemedierStatus {
  const { reading, selected, silent, faults, inFlight, lastHour, lastDay, inhibited } = verdict
  const { remedier, active } = reading
  const generation = remedier.metadata.generation
  const matching = faults
    .toSorted((a, b) => a.since - b.since || (a.node < b.node ? -1 : 1))
    .slice(0, MOST_MATCHING)
    .map(({ node, since, job, waitingFor, reason }) => ({
      node,
      since: timestamp(since),
      ...(job !== undefined && !failed.has(job) && { job }),
      ...defined({ reason }),
      ...(job !== undefined &&
        failed.has(job) && { waitingFor: 'the job could not be created; retried automatically' }),
      ...(waitingFor !== undefined && { waitingFor: waitingFor.slice(0, MAX_SENTENCE) }),
    }))
  return {
    ...defined({ observedGeneration: generation }),
    ...(active !== undefined && { activeRevision: active.revision }),
    counts: {
      selected,
      matching: faults.length,
      unknown: silent,
      inFlight,
      lastHour,
      lastDay,
      inhibited: inhibited === undefined ? 0 : faults.length,
    },
    matching,
    conditions: editedConditions(
      setConditions(remedier.status?.conditions, conditionsOf(verdict), now),
      remedier.status?.conditions,
      reading.edit,
      now,
    ),
  }
}

/** How soon a status must be written. `Later`: only the number of the rule's nodes changed, which happens whenever a node joins or falls silent. */
export type Urgency = 'Now' | 'Soon' | 'Later' | 'Never'

/** Counts may be written a little later. The wait that a user follows may not. */
export function urgencyOf(before: NodeRemedier['status'], now: RemedierStatus): Urgency {
  if (jsonEqual(before, now)) return 'Never'
  if (!jsonEqual(essenceOf(before), essenceOf(now))) return 'Now'
  return jsonEqual(withoutNodes(before), withoutNodes(now)) ? 'Later' : 'Soon'
}

const essenceOf = (s: NodeRemedier['status']) => [
  s?.observedGeneration,
  s?.activeRevision,
  s?.conditions?.map((c) => [c.type, c.status, c.reason]),
]

const withoutNodes = (s: NodeRemedier['status']) => ({ ...s, counts: { ...s?.counts, selected: 0, unknown: 0 } })

const LIMITS: ReadonlySet<Reason> = new Set<Reason>(['PerNodeLimit', 'HourlyLimit', 'DailyLimit', 'InFlightLimit'])

function conditionsOf(verdict: RuleVerdict): readonly WantedCondition[] {
  const { reading, faults, inhibited, paused } = verdict
  const { active, problem, remedier } = reading
  const generation = remedier.metadata.generation
  const of = (type: string, isTrue: boolean, reason: Reason, message: string): WantedCondition => ({
    type,
    status: isTrue ? 'True' : 'False',
    reason,
    message,
    ...defined({ observedGeneration: generation }),
  })
  const isGood = problem === undefined
  const kept = active === undefined ? 'no valid generation is known' : `generation ${active.generation} is used instead`
  const limit = faults.find((f) => f.reason !== undefined && LIMITS.has(f.reason))
  const exhausted = faults.filter((f) => f.reason === 'LadderExhausted')
  return [
    isGood
      ? of('RuleActive', true, 'RuleCompiled', 'the rule is active')
      : of('RuleActive', false, 'RuleInvalid', `${problem}; ${kept}`),
    isGood
      ? of('Ready', true, 'AsDeclared', 'the rule is active')
      : of('Ready', false, 'RuleInvalid', `${problem}; ${kept}`),
    stalled(),
    inhibited === undefined
      ? of('Inhibited', false, 'AsDeclared', 'no change is suspected')
      : of('Inhibited', true, inhibited.reason, inhibited.message),
    limit?.reason === undefined
      ? of('LimitReached', false, 'WithinLimits', 'within all limits')
      : of('LimitReached', true, limit.reason, `${limit.node}: ${limit.waitingFor ?? ''}`),
    paused === undefined ? of('Paused', false, 'AsDeclared', 'not paused') : of('Paused', true, 'HoldPause', paused),
  ]

  function stalled(): WantedCondition {
    const [first] = exhausted
    if (first !== undefined)
      return of(
        'Stalled',
        true,
        'LadderExhausted',
        `${counted(exhausted.length, 'node needs', 'nodes need')} attention, first ${first.node} (${first.waitingFor ?? 'ladder exhausted'}): kubenode why-not node/${first.node}`,
      )
    return isGood
      ? of('Stalled', false, 'AsDeclared', 'no manual intervention needed')
      : of('Stalled', true, 'RuleInvalid', 'correct the rule')
  }
}
