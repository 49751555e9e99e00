// A device that may work again after the host was off: drain, reboot once, and have it replaced if the fault comes back.
import { conditionIs, fewPeersHave } from 'kubenode/node-leaves'
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

export type StuckPart = 'PCIeFaulty' | 'LinkFaulty' | 'GPUNeedsReset' | 'GPUNeedsReboot' | 'FPGAFaulty' | 'PartsMissing'

const CATEGORY = {
  PCIeFaulty: 'Other',
  LinkFaulty: 'Network',
  GPUNeedsReset: 'Accelerator',
  GPUNeedsReboot: 'Accelerator',
  FPGAFaulty: 'Accelerator',
  PartsMissing: 'Other',
} as const

/** Which pods use which device. */
const DEVICES = ['Devices'] as const

export const stuckPart = (condition: StuckPart): NodeRemedierInput['spec'] => ({
  when: { all: [conditionIs(condition, 'True'), fewPeersHave(condition)] },
  for: '30s',
  priority: 12,
  ladder: [
    {
      operations: [
        { collectEvidence: { kinds: ['KernelLog', ...(CATEGORY[condition] === 'Accelerator' ? DEVICES : [])] } },
        { cordon: {} },
        { drain: { timeout: '30m', deleteEmptyDir: true } },
        { reboot: { timeout: '20m' } },
      ],
      timeout: '75m',
      verify: { conditionCleared: condition, stableFor: '10m' },
      retries: 0,
    },
    {
      operations: [
        { collectEvidence: { kinds: ['KernelLog', ...(CATEGORY[condition] === 'Accelerator' ? DEVICES : [])] } },
        { reportFault: { category: CATEGORY[condition] } },
        { cordon: {} },
        { drain: { timeout: '30m', deleteEmptyDir: true } },
        { replace: {} },
      ],
      timeout: '2h',
    },
  ],
  limits: { perNodePerDay: 2, perHour: 4, maxInFlight: 2 },
})
