// Pools whose error budget of 30 days is spent get no new versions and lose no machines; repairs and rollbacks continue. Audit only reports: set mode Enforce to switch it on.
import type { DefenderPolicyInput } from 'kubenode/kinds/defender-policy'

export const budgetSpent: DefenderPolicyInput['spec'] = {
  mode: 'Audit',
  operations: ['SwitchComponent', 'ScaleIn'],
  rules: [
    {
      name: 'pool-budget-spent',
      when: { all: [{ fact: 'pool', path: '/budgetLeft', operator: 'lessThanInclusive', value: 0 }] },
      reason: 'ErrorBudgetSpent',
      message: 'the error budget of its pool is spent; fix what fails first, or lower the promise',
    },
  ],
}
