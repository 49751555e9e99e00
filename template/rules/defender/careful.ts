// Limits on disruption: a few machines at a time, never two in a rack, and none if too many are already unavailable.
import type { DefenderPolicyInput } from 'kubenode/kinds/defender-policy'

export const careful: DefenderPolicyInput['spec'] = {
  budgets: [
    { max: '10%', of: 'unavailable' },
    { max: 1, of: 'concurrent', per: 'rack' },
  ],
  rates: [
    { window: '10m', max: 20 },
    { window: '24h', max: 500 },
  ],
  breaker: { failures: 3, of: 10, window: '1h', halfOpenAfter: '15m' },
  healthFloor: '80%',
}
