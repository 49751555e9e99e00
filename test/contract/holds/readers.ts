// The readers of holds, asked alike: does this hold bind this object?
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { HoldEffect, OperationalHold } from '#api/kinds/operational-hold.ts'
import { contextOf } from '#controllers/componentset/plan-context.ts'
import { rolloutRules } from '#controllers/componentset/slices/rules.ts'
import { plan as planCanary } from '#controllers/canary/plan.ts'
import { heldBy } from '#controllers/remedyjob/plan-holds.ts'
import { type Seen as JobSeen, isFrozen } from '#controllers/remedyjob/seen.ts'
import { holdGate } from '#defender/gates/hold.ts'
import { holdsOn } from '#defender/holds.ts'
import { holdOver } from '#permits/holds/reach.ts'
import { type HoldQuestion, holdTarget } from '#permits/holds/reach.ts'
import type { Node } from '#nodes/objects.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { pausedBy, retriesOf } from '#sync/hub/holds.ts'
import { aPermit, aSnapshot } from '#test/support/fleets/defender-objects.ts'
import { component, componentSet, readyNode, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { machineUnit } from '#defender/unit.ts'
import { type Answer, type Answers, type HoldCase, LABELS_OF_SELF, NOW, type Self } from './cases.ts'
import { defined } from '#lib/defined.ts'

type Holds = readonly OperationalHold[]

const attempt = (binds: () => boolean): Answer => {
  try {
    return binds() ? 'yes' : 'no'
  } catch {
    return 'throws'
  }
}

function holdFrom({ spec, metadata }: HoldCase, self: Self, effect: HoldEffect): OperationalHold {
  const body = spec(self)
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'OperationalHold',
    metadata: { name: 'hold', uid: 'uid-hold', creationTimestamp: '2026-01-05T09:30:00Z', ...metadata },
    ...(body !== undefined && { spec: { effect, ...body } }),
  } as unknown as OperationalHold
}

const object = ({ kind, name, namespace }: Self): KubeObject => ({
  apiVersion: API_GROUP_VERSION,
  kind,
  metadata: { name, labels: LABELS_OF_SELF, ...defined({ namespace }) },
})

const job = { ...object({ kind: 'RemedyOperationJob', name: 'job' }), spec: { node: { name: 'n-0', uid: 'node-n-0' } } }
const SET: Self = { kind: 'MachineComponentSet', name: 'base' }
const JOB: Self = { kind: 'RemedyOperationJob', name: 'job' }
const MACHINE: Self = { kind: 'Machine', name: 'm-0' }
const RELEASE: Self = { kind: 'Release', name: 'fleet-1', namespace: 'fleet' }

const unit = machineUnit(machineOf(), undefined)
const permit = aPermit({ name: 'p', targets: ['m-0'] })
const contextOfSet = (holds: Holds) => {
  const components = [component('beacon', '1.0.0')]
  const set = componentSet({ beacon: '1.0.0' }, {}, { selector: {} })
  const labelled = { ...set, metadata: { ...set.metadata, labels: LABELS_OF_SELF } }
  const model = new RolloutModel({ machines: [], set: labelled, components })
  model.holds = holds
  return contextOf(model.seen(), NOW, rolloutRules)
}
const pauseOfSet = (holds: Holds) => contextOfSet(holds).pause
const retryOfSet = (holds: Holds) => contextOfSet(holds).retryBefore
/** As the remedy controller asks, about a rule or a node. */
const retryOfRepair: HoldQuestion = {
  effects: ['Retry'],
  targets: [holdTarget(JOB.kind, object(JOB))],
  cluster: { name: undefined },
  now: NOW,
}

const stops: Readonly<Record<keyof Answers, (c: HoldCase) => Answer>> = {
  set: (c) => attempt(() => pauseOfSet([holdFrom(c, SET, 'Pause')]) !== undefined),
  repair: (c) => {
    const seen = { holds: [holdFrom(c, JOB, 'Pause')], job } as unknown as JobSeen
    return attempt(() => heldBy(seen, NOW) !== undefined)
  },
  defender: (c) =>
    attempt(
      () =>
        holdsOn([holdFrom(c, MACHINE, 'Pause')], ['Pause'], { permit, unit }, { cluster: 'here', now: NOW }).length > 0,
    ),
  sync: (c) => attempt(() => pausedBy([holdFrom(c, RELEASE, 'Pause')], object(RELEASE), NOW) !== undefined),
}

const starts: typeof stops = {
  set: (c) => attempt(() => retryOfSet([holdFrom(c, SET, 'Retry')]) !== undefined),
  repair: (c) => attempt(() => holdOver([holdFrom(c, JOB, 'Retry')], retryOfRepair) !== undefined),
  defender: (c) =>
    attempt(
      () =>
        holdsOn([holdFrom(c, MACHINE, 'Unprotect')], ['Unprotect'], { permit, unit }, { cluster: 'here', now: NOW })
          .length > 0,
    ),
  sync: (c) => attempt(() => retriesOf([holdFrom(c, RELEASE, 'Retry')], object(RELEASE) as never, NOW).length > 0),
}

const answersOf = (of: typeof stops, c: HoldCase): Answers => ({
  set: of.set(c),
  repair: of.repair(c),
  defender: of.defender(c),
  sync: of.sync(c),
})

export const stopAnswers = (c: HoldCase): Answers => answersOf(stops, c)
export const startAnswers = (c: HoldCase): Answers => answersOf(starts, c)

function machineOf(): Machine {
  const made = workingMachine('m-0', { versions: { beacon: '1.0.0' }, labels: LABELS_OF_SELF })
  return {
    ...made,
    metadata: {
      ...made.metadata,
      ownerReferences: [
        { apiVersion: API_GROUP_VERSION, kind: 'MachineSet', name: 'pool-a', uid: 'uid-pool-a', controller: true },
      ],
    },
    status: { ...made.status, nodeRef: { name: 'n-0', uid: 'node-n-0' } },
  }
}

const node: Node = { ...readyNode('n-0'), metadata: { name: 'n-0', uid: 'node-n-0', labels: { rack: '1' } } }

export interface MachineAnswers {
  readonly rollout: Answer
  readonly canary: Answer
  readonly repair: Answer
  readonly defender: Answer
}

/** Whether each reader leaves the machine alone because of a Freeze with this target. */
export function machineAnswers(target: object): MachineAnswers {
  const frozen = { what: '', spec: () => ({ target, reason: 'r', author: 'a', until: '2026-02-01T00:00:00Z' }) }
  return answersAbout(machineOf(), [holdFrom(frozen, MACHINE, 'Freeze')])
}

/** The same for the condition that the agent sets while a file on the node freezes it. */
export function frozenFileAnswers(status: 'True' | 'False' | 'Unknown'): MachineAnswers {
  const made = machineOf()
  const condition = { type: 'Frozen', status, reason: 'FrozenByFile', message: '', lastTransitionTime: '' }
  return answersAbout(
    { ...made, status: { ...made.status, conditions: [...(made.status?.conditions ?? []), condition] } },
    [],
  )
}

function answersAbout(machine: Machine, holds: Holds): MachineAnswers {
  const components = [component('beacon', '1.0.0'), component('beacon', '1.1.0')]
  const set = componentSet({ beacon: '1.1.0' }, {}, { selector: {} })
  const model = new RolloutModel({ machines: [machine], set, components })
  model.nodes = new Map([['n-0', node]])
  model.holds = holds
  model.now = NOW
  return {
    rollout: attempt(() => {
      const context = contextOf(model.seen(), NOW, rolloutRules)
      const [reading] = context.members
      if (reading === undefined) throw new Error('no member')
      return context.pause !== undefined || context.heldBy(reading) !== undefined
    }),
    canary: attempt(() => {
      const made = planCanary(
        {
          canary: {
            apiVersion: API_GROUP_VERSION,
            kind: 'ComponentCanary',
            metadata: { name: 'try', uid: 'uid-try', generation: 1 },
            spec: {
              selector: {},
              pick: { count: 1 },
              components: [{ name: 'beacon', version: '1.1.0' }],
              strategy: { maxBatchSize: 1, maxFailures: 0 },
              duration: '1h',
              promoteWithin: '72h',
              abort: false,
            },
          },
          refusedFor: new Map(),
          machines: [machine],
          nodes: model.nodes,
          permits: [],
          holds,
          sets: [componentSet({ beacon: '1.0.0' }, {}, { selector: {} })],
          configs: new Map(),
          components: new Map(components.map((c) => [c.metadata.name ?? '', c])),
        },
        NOW,
      )
      return made.status.phase === 'Pending' || made.status.phase === undefined
    }),
    repair: attempt(() => {
      const seen = { holds, machine, node, job } as unknown as JobSeen
      return heldBy(seen, NOW) !== undefined || isFrozen(seen)
    }),
    defender: attempt(() => {
      const snapshot = aSnapshot({ holds, cluster: 'here', wall: NOW })
      return holdGate({ permit, unit: machineUnit(machine, node) }, { snapshot }) !== undefined
    }),
  }
}
