// Planted bugs in the rules of the rollout planner, one small change each. They stay in the suite: tests that stop finding one of them are broken.
import { budgetOf } from '#controllers/componentset/slices/share.ts'
import { type Rules, rolloutRules } from '#controllers/componentset/slices/rules.ts'

export interface PlantedRule {
  readonly name: string
  readonly rules: Rules
  /** Random lives of the planner within which it must be found: about four times what it took. */
  readonly within: number
  /** A life that shows it: tried first in the quick run. */
  readonly shownBy: number
}

const { nextPhase, isBlamed } = rolloutRules

export const plantedRules: readonly PlantedRule[] = [
  {
    name: 'the budget is off by one',
    within: 40,
    shownBy: 1,
    rules: { ...rolloutRules, budgetOf: (share, counting) => budgetOf(share, counting) + 1 },
  },
  {
    name: 'a broken machine is disturbed like any other',
    within: 40,
    shownBy: 2,
    rules: { ...rolloutRules, isSound: ({ isBusy }) => !isBusy },
  },
  {
    name: 'a failed slice is ignored',
    within: 60,
    shownBy: 5,
    rules: { ...rolloutRules, allowedFailures: () => Infinity },
  },
  {
    name: 'a broken machine is blamed on the version',
    within: 60,
    shownBy: 14,
    rules: {
      ...rolloutRules,
      isBlamed: (standing, reading) => isBlamed(standing, reading) || reading.health === 'Broken',
    },
  },
  {
    name: 'a slice begins although its permit is not granted',
    within: 40,
    shownBy: 2,
    rules: {
      ...rolloutRules,
      nextPhase: (phase, event, facts) =>
        nextPhase(phase, event, event === 'begin' ? { permitGrantedNow: true } : facts),
    },
  },
  {
    name: 'a slice settles although machines are between two versions',
    within: 40,
    shownBy: 1,
    rules: {
      ...rolloutRules,
      nextPhase: (phase, event, facts) =>
        nextPhase(
          phase,
          event,
          event === 'settle' ? { ...facts, noMachineSwitching: true, machinesReported: true } : facts,
        ),
    },
  },
]

export function plantedRule(name: string): Rules {
  const found = plantedRules.find((p) => p.name === name)
  if (found === undefined) throw new Error(`no planted rule ${name}`)
  return found.rules
}
