// A node whose kernel keeps killing processes for lack of memory, which harms all its workloads. Drain it and reboot.
import { conditionIs, fewPeersHave } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export const oomStorm: NodeRemedierInput['spec'] = {
  when: {
    all: [
      conditionIs('FrequentOOMKill', 'True', '5m'),
      // Where many peers have it, a workload is to blame: it would only cause the same elsewhere.
      fewPeersHave('FrequentOOMKill'),
    ],
  },
  ladder: [
    {
      operations: [
        { collectEvidence: { kinds: ['KernelLog', 'Processes'] } },
        { cordon: {} },
        { drain: { deleteEmptyDir: true } },
      ],
      timeout: '30m',
      verify: { conditionCleared: 'FrequentOOMKill', stableFor: '10m' },
    },
    {
      operations: [{ collectEvidence: { kinds: ['KernelLog', 'Processes'] } }, { cordon: {} }, { reboot: {} }],
      timeout: '30m',
      verify: { conditionCleared: 'FrequentOOMKill', stableFor: '15m' },
    },
  ],
  limits: { perNodePerDay: 2, perHour: 5, maxInFlight: 2 },
}
