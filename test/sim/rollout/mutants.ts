// Planted bugs of the rollout: each leaves out one precaution, and a story must show it within so many seeds.
import { machine as machineType } from '#api/kinds/machine.ts'
import { type ActTools, act } from '#controllers/componentset/act.ts'
import type { SetAction } from '#controllers/componentset/actions.ts'
import { rolloutRules } from '#controllers/componentset/slices/rules.ts'
import { budgetOf } from '#controllers/componentset/slices/share.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { reportResults } from '#permits/permits.ts'
import { outdated } from '#runtime/reconcile-with.ts'
import type { FaultKind } from '../sim-faults.ts'
import type { ControllerParts } from './fleet.ts'

export interface RolloutMutant {
  readonly name: string
  readonly story: string
  /** Faults without which it does not show; none: it shows by itself. */
  readonly faults: readonly FaultKind[]
  readonly within: number
  /** The seed that shows it, where the search for it takes long. */
  readonly shownBy?: number
  readonly parts: ControllerParts
}

const tools = ({ client }: { readonly client: KubeClient }) => ({ client, fieldManager: FIELD_MANAGERS.componentSet })

type Report = Extract<SetAction, { kind: 'Report' }>
type Look = (report: Report, tools: ActTools) => Promise<Report['results']>

/** Frees what `look` says, and lets no machine go before. */
const freeing =
  (look: Look): typeof act =>
  async (t, action, seen, context) => {
    if (action.kind !== 'Report') return act(t, action, seen, context)
    const free = await look(action, t)
    if (free.length === 0) return outdated('no machine is free')
    return reportResults(tools(t), action.permit, Object.fromEntries(free.map((r) => [r.uid, r.result])))
  }

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
    name: 'a failed slice is ignored',
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
    story: 'bad version',
    faults: [],
    within: 1,
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
    name: 'a stale read: a slot is freed by what a cache says of its machine',
    story: 'pause and resume',
    faults: ['Stale', 'TimeTravel'],
    within: 20,
    shownBy: 10,
    parts: { sets: { act: freeing(async ({ results }) => results) } },
  },
  {
    name: 'a slot is freed after a look at its machine of which nothing is written',
    story: 'pause and resume',
    faults: ['Stale', 'TimeTravel'],
    within: 40,
    shownBy: 4,
    parts: {
      sets: {
        act: freeing(async ({ results }, { client }) => {
          const looks = await Promise.all(results.map((r) => client.get(machineType, { name: r.machine })))
          return results.filter((_, k) => looks[k]?.spec.components?.every((c) => c.switch === undefined) === true)
        }),
      },
    },
  },
]
