// A GPU that asks for a reset, where a signed script of the fleet can reset single cards: move the pods that use the card, reset it, and only if that fails do
// what is done without such a script. The monitor must let the script end its finding: hardwareMonitorWithReset.
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'
import { stuckPart } from './stuck-part.ts'

/** A MachineComponent of type Script. It finds the cards that ask for a reset by itself. */
export interface ResetScript {
  readonly component: string
  readonly version: string
}

export function resetDevice(script: ResetScript): NodeRemedierInput['spec'] {
  const { ladder, ...rule } = stuckPart('GPUNeedsReset')
  return {
    ...rule,
    ladder: [
      {
        operations: [
          { cordon: {} },
          { collectEvidence: { kinds: ['KernelLog', 'Devices'] } },
          // Until it is verified: also if a person uncordons the node before.
          { isolateDevice: {} },
          { drain: { usersOf: 'Device', timeout: '30m', deleteEmptyDir: true } },
          { runScript: script },
        ],
        timeout: '45m',
        verify: { conditionCleared: 'GPUNeedsReset', stableFor: '10m' },
        retries: 0,
      },
      ...ladder,
    ],
  }
}
