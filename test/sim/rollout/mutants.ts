// Planted bugs of the rollout: each leaves out one precaution, and a story must show it within so many seeds.
import { machine as machineType } from '#api/kinds/machine.ts'
import { type ActTools, act } from '#controllers/componentset/act.ts'
import type { SetAction } from '#controllers/componentset/actions.ts'
import { rolloutRules } from '#controllers/componentset/slices/rules.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { hasOpenSwitch } from '#api/protocol/component-order.ts'
import type { KubeClient } from '#kube/client.ts'
import { reportResults, requestPermit } from '#permits/permits.ts'
import { outdated } from '#runtime/reconcile-with.ts'
import { plantedRule } from '#test/support/fleets/rollout-mutants.ts'
import type { FaultKind } from '../sim-faults.ts'
import type { ControllerParts } from './fleet.ts'
import { lostPermits, replaced } from './set-stories.ts'
import { type Story, storyNamed } from './stories.ts'

export interface RolloutMutant {
  readonly name: string
  readonly story: Story
  /** Faults without which it does not show; none: it shows by itself. */
  readonly faults: readonly FaultKind[]
  readonly within: number
  /** A seed that shows it: tried first in the quick run. */
  readonly shownBy: number
  readonly parts: ControllerParts
  /** It shows only among many machines: looked for before a release. */
  readonly isLong?: boolean
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

/** A rule that is broken in the same way as for the planner alone; no faults are needed to show it. */
const ofRule = (name: string, story: Story): RolloutMutant => ({
  name,
  story,
  faults: [],
  within: 3,
  shownBy: 1,
  parts: { sets: { rules: plantedRule(name) } },
})

const stale = ['Stale', 'TimeTravel'] as const

export const mutants: readonly RolloutMutant[] = [
  // Nothing is broken in this story: the whole budget is used.
  ofRule('the budget is off by one', replaced),
  ofRule('a failed slice is ignored', storyNamed('bad version')),
  ofRule('a broken machine is blamed on the version', storyNamed('good bump')),
  ofRule('a broken machine is disturbed like any other', storyNamed('broken machines')),
  ofRule('a slice settles although machines are between two versions', storyNamed('bad version')),
  {
    name: 'a permit that is gone is waited for',
    story: lostPermits,
    faults: [],
    within: 10,
    shownBy: 1,
    parts: {
      sets: {
        rules: {
          ...rolloutRules,
          nextPhase: (phase, event, facts) =>
            phase === 'AwaitingPermit' && event === 'replan' ? undefined : rolloutRules.nextPhase(phase, event, facts),
        },
      },
    },
  },
  {
    name: 'what an old cache says is believed: permits are asked for without looking at the set again',
    story: storyNamed('second thoughts'),
    faults: stale,
    within: 900,
    shownBy: 372,
    parts: {
      sets: {
        act: async (t, action, seen, context) =>
          action.kind === 'RequestPermit'
            ? requestPermit(tools(t), action.permit, action.request)
            : act(t, action, seen, context),
      },
    },
  },
  {
    name: 'a slot is freed by what a cache says of its machine',
    story: storyNamed('pause and resume'),
    faults: stale,
    within: 60,
    shownBy: 16,
    isLong: true,
    parts: { sets: { act: freeing(async ({ results }) => results) } },
  },
  {
    name: 'a slot is freed after a look at its machine of which nothing is written',
    story: storyNamed('pause and resume'),
    faults: stale,
    within: 120,
    shownBy: 4,
    isLong: true,
    parts: {
      sets: {
        act: freeing(async ({ results }, { client }) => {
          const looks = await Promise.all(results.map((r) => client.get(machineType, { name: r.machine })))
          return results.filter((_, k) => looks[k] !== undefined && !hasOpenSwitch(looks[k]))
        }),
      },
    },
  },
]
