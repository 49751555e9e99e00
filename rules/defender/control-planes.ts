// Limits of a fleet, on its hub. One control plane changes at a time, and one that fails stops the others for a while. Over all clusters: when a version or a
// rule is stopped everywhere; `maxChanging: 5` there limits how many clusters change at once. For windows add
// `windows: [{ cron: '0 9 * * 1-4', duration: '8h', timeZone: 'Europe/Berlin' }]`, and for a person who looks first
// `approvals: [{ risk: 'High', from: ['group:sre'], count: 1 }]`.
import type { DefenderPolicyInput } from 'kubenode/kinds/defender-policy'

export const controlPlanes: DefenderPolicyInput['spec'] = {
  operations: ['ChangeControlPlane', 'DeleteControlPlane'],
  budgets: [{ max: 1, of: 'concurrent', per: 'cluster' }],
  breaker: { failures: 1, of: 5, window: '6h', halfOpenAfter: '1h' },
  fleet: { failedClusters: 3, repairsPerHour: 200 },
}
