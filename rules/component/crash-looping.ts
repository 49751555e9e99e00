// A component that crashed again and again although restarts and reinstallations of the other rules were tried: the state of the node may be at fault.
import { conditionIs, fewPeersHave } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export const crashLooping: NodeRemedierInput['spec'] = {
  when: {
    all: [
      conditionIs('ComponentCrashLooping', 'True', '15m'),
      // Where many peers have it, the version is bad: the rollout stops by itself, and reboots do not help.
      fewPeersHave('ComponentCrashLooping'),
    ],
  },
  // Rules that name the component act first.
  priority: -10,
  ladder: [
    {
      operations: [
        { collectEvidence: { kinds: ['Journal', 'Components', 'KernelLog'] } },
        { cordon: {} },
        { drain: { timeout: '10m', deleteEmptyDir: true } },
        { reboot: {} },
      ],
      timeout: '45m',
      verify: { conditionCleared: 'ComponentCrashLooping', stableFor: '10m' },
    },
  ],
  cooldown: '1h',
  limits: { perNodePerDay: 1, perHour: 3, maxInFlight: 1 },
}
