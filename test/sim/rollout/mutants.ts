// Planted bugs of the rollout: each leaves out one precaution, and a story must show it within so many seeds.
import { act } from '#controllers/componentset/act.ts'
import { rolloutRules } from '#controllers/componentset/rules.ts'
import { budgetOf } from '#controllers/componentset/share.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { requestPermit } from '#nodeops/permits.ts'
import type { FaultKind } from '../sim-faults.ts'
import type { ControllerParts } from './fleet.ts'

export interface RolloutMutant {
  readonly name: string
  readonly story: string
  /** Faults without which it does not show; none: it shows by itself. */
  readonly faults: readonly FaultKind[]
  readonly within: number
  readonly parts: ControllerParts
}

const tools = ({ client }: { readonly client: KubeClient }) => ({ client, fieldManager: FIELD_MANAGERS.componentSet })

export const mutants: readonly RolloutMutant[] = [
  {
    name: 'the budget is off by one',
    // Nothing is broken in it: the whole budget is used.
    story: 'canary that is promoted',
    faults: [],
    within: 1,
    parts: { sets: { rules: { ...rolloutRules, budgetOf: (share, counting) => budgetOf(share, counting) + 1 } } },
  },
  {
    name: 'a failed wave is ignored',
    story: 'bad version',
    faults: [],
    within: 1,
    parts: { sets: { rules: { ...rolloutRules, allowedFailures: () => Infinity } } },
  },
  {
    name: 'a broken machine is blamed on the version',
    story: 'good bump',
    faults: [],
    within: 3,
    parts: {
      sets: {
        rules: {
          ...rolloutRules,
          isBlamed: (standing, reading) => rolloutRules.isBlamed(standing, reading) || reading.health === 'Broken',
        },
      },
    },
  },
  {
    name: 'a broken machine is disturbed like any other',
    story: 'broken machines',
    faults: [],
    within: 2,
    parts: { sets: { rules: { ...rolloutRules, isSound: ({ isBusy }) => !isBusy } } },
  },
  {
    name: 'a precondition is missing: a slice is done as soon as its permit is granted',
    story: 'good bump',
    faults: [],
    within: 3,
    parts: {
      sets: {
        rules: {
          ...rolloutRules,
          nextPhase: (phase, event, facts) =>
            rolloutRules.nextPhase(phase, event, { ...facts, noMachineSwitching: true, machinesReported: true }),
        },
      },
    },
  },
  {
    name: 'a stale read: permits are asked for without looking at the set again',
    story: 'pause and resume',
    faults: ['Stale', 'TimeTravel'],
    within: 20,
    parts: {
      sets: {
        act: (t, action, seen, context) =>
          action.kind === 'Ask'
            ? requestPermit(tools(t), action.permit, action.request)
            : act(t, action, seen, context),
      },
    },
  },
]
