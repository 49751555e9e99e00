// Limits of a fleet, on its hub. One control plane changes at a time, and one that fails stops the others for a while. Over all clusters: at most five
// change at once, and a version that failed in three, or a rule that repaired 200 times in an hour, is stopped everywhere. For windows add
// `windows: [{ cron: '0 9 * * 1-4', duration: '8h', timeZone: 'Europe/Berlin' }]`, and for a person who looks first
// `approvals: [{ risk: 'High', from: ['group:sre'], count: 1 }]`.
import type { DefenderPolicyInput } from 'kubenode/kinds/defender-policy'

export const controlPlanes: DefenderPolicyInput['spec'] = {
  operations: ['ChangeControlPlane', 'DeleteControlPlane'],
  budgets: [{ max: 1, of: 'concurrent', per: 'cluster' }],
  breaker: { failures: 1, of: 5, window: '6h', halfOpenAfter: '1h' },
  fleet: { maxChanging: 5, failedClusters: 3, repairsPerHour: 200 },
}
