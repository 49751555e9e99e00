// Limits for the control planes of a fleet, on its hub: one changes at a time, and one that fails stops the others for a while. For windows add
// `windows: [{ cron: '0 9 * * 1-4', duration: '8h', timeZone: 'Europe/Berlin' }]`, and for a person who looks first `approvals: [{ risk: 'High', from: ['group:sre'], count: 1 }]`.
import type { DefenderPolicyInput } from 'kubenode/kinds/defender-policy'

export const controlPlanes: DefenderPolicyInput['spec'] = {
  operations: ['ChangeControlPlane', 'DeleteControlPlane'],
  budgets: [{ max: 1, of: 'concurrent', per: 'cluster' }],
  breaker: { failures: 1, of: 5, window: '6h', halfOpenAfter: '1h' },
}
