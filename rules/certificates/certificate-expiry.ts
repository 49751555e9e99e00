// A node certificate that expires soon because its owner did not renew it: most owners request a new one when they start.
import { conditionIs } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

/**
 * `owner` is the component that the certificate belongs to. There is no second rung: a reinstalled owner would ask the same signer, and stop serving meanwhile. What a
 * restart does not renew is for a person, days before the end.
 */
export const certificateExpiry = (owner: string): NodeRemedierInput['spec'] => ({
  when: {
    all: [
      conditionIs('CertificateExpiring', 'True'),
      {
        not: { fact: 'conditions', path: '/CertificateExpiring/reason', operator: 'equal', value: 'SignerUnavailable' },
      },
    ],
  },
  for: '10m',
  ladder: [
    {
      operations: [{ collectEvidence: { kinds: ['Journal'] } }, { restartComponent: { component: owner } }],
      timeout: '10m',
      verify: { conditionCleared: 'CertificateExpiring', stableFor: '10m' },
    },
  ],
  limits: { perNodePerDay: 2, perHour: 10, maxInFlight: 3 },
})
