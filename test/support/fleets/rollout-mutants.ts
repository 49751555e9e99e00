// Planted bugs of the rollout planner, one small change each. They stay in the suite: a property that stops finding one of them is broken.
import { budgetOf } from '#controllers/componentset/slices/share.ts'
import { type Rules, rolloutRules } from '#controllers/componentset/slices/rules.ts'

export interface RolloutMutant {
  readonly name: string
  /** Seeds within which it must be found: about four times what it took. */
  readonly within: number
  readonly rules: Partial<Rules>
}

const { nextPhase } = rolloutRules

export const rolloutMutants: readonly RolloutMutant[] = [
  {
    name: 'the budget is off by one',
    within: 40,
    rules: { budgetOf: (share, counting) => budgetOf(share, counting) + 1 },
  },
  {
    name: 'machines that are in trouble are taken like others',
    within: 40,
    rules: { isSound: ({ isBusy }) => !isBusy },
  },
  {
    name: 'a failed slice is ignored',
    within: 60,
    rules: { allowedFailures: () => Infinity },
  },
  {
    name: 'a machine that was broken before is blamed',
    within: 40,
    rules: { isBlamed: (standing, reading) => standing === 'Failed' || reading.health === 'Broken' },
  },
  {
    name: 'a slice begins although its permit is not granted',
    within: 40,
    rules: {
      nextPhase: (phase, event, facts) =>
        nextPhase(phase, event, event === 'begin' ? { permitGrantedNow: true } : facts),
    },
  },
  {
    name: 'a slice settles although machines are between two versions',
    within: 40,
    rules: {
      nextPhase: (phase, event, facts) =>
        nextPhase(
          phase,
          event,
          event === 'settle' ? { ...facts, noMachineSwitching: true, machinesReported: true } : facts,
        ),
    },
  },
]
