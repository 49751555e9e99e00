// A container runtime that no longer answers, whether KubeNode installed it or a distribution did: restart it, which ends no container; then move the pods as
// far as they move, and reboot.
import { conditionIs } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

/** `service`: the component, or the unit of the distribution. */
export const runtimeUnhealthy = (service: 'containerd' | 'crio' | 'docker'): NodeRemedierInput['spec'] => ({
  when: {
    all: [conditionIs('ContainerRuntimeUnhealthy', 'True'), { fact: 'unschedulable', operator: 'equal', value: false }],
  },
  // Two checks more; each pod that starts waits for it.
  for: '10s',
  // Above the kubelet, which fails with its runtime.
  priority: 15,
  ladder: [
    {
      operations: [
        { collectEvidence: { kinds: ['Journal', 'Processes'] } },
        { restartComponent: { component: service } },
      ],
      timeout: '10m',
      verify: { conditionCleared: 'ContainerRuntimeUnhealthy', stableFor: '1m' },
    },
    {
      // Pods of a runtime that does not answer do not end: the drain is short, and the next rung does without it.
      operations: [{ cordon: {} }, { drain: { timeout: '3m', deleteEmptyDir: true } }, { reboot: {} }],
      timeout: '30m',
      verify: { conditionCleared: 'ContainerRuntimeUnhealthy', stableFor: '5m' },
      retries: 0,
    },
    {
      operations: [{ cordon: {} }, { reboot: {} }],
      timeout: '20m',
      verify: { conditionCleared: 'ContainerRuntimeUnhealthy', stableFor: '5m' },
    },
  ],
  limits: { perNodePerDay: 4, perHour: 10, maxInFlight: 3 },
})
