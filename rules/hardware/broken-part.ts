// A part of the host that is broken and that no reboot mends: move the work away while that is possible, tell the provider, and take another machine.
import { conditionIs, fewPeersHave } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export type BrokenPart = 'MemoryFaulty' | 'CPUFaulty' | 'DiskFailing' | 'GPUFaulty'

const CATEGORY = { MemoryFaulty: 'Memory', CPUFaulty: 'Cpu', DiskFailing: 'Disk', GPUFaulty: 'Accelerator' } as const

export const brokenPart = (condition: BrokenPart): NodeRemedierInput['spec'] => ({
  when: { all: [conditionIs(condition, 'True'), fewPeersHave(condition)] },
  for: '30s',
  priority: 15,
  ladder: [
    {
      operations: [
        // Of a GPU: which pods use which one.
        { collectEvidence: { kinds: ['KernelLog', condition === 'GPUFaulty' ? 'Devices' : 'Disks'] } },
        { reportFault: { category: CATEGORY[condition] } },
        { cordon: {} },
        { drain: { timeout: '30m', deleteEmptyDir: true } },
        { replace: {} },
      ],
      timeout: '2h',
    },
  ],
  limits: { perNodePerDay: 1, perHour: 4, maxInFlight: 2 },
})
