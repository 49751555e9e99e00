// A hanging kernel does not recover: collect evidence, move what can be moved, reboot, and replace the machine if the kernel hangs again.
import type { NodeRemedierInput } from 'kubenode/kinds/node-remedier'

type Ladder = NodeRemedierInput['spec']['ladder']

/** Pods that can end do so within seconds; those that hang never do, and must not delay the reboot. */
const MOVES_WITHIN = '3m'

const evidence = { collectEvidence: { kinds: ['KernelLog', 'Processes'] } } as const
// What hangs in the kernel hangs in the shutdown too. Machines that boot for minutes want a longer time here, or they begin their boot twice.
const reboot = { reboot: { takeOverAfter: '60s' } } as const

/** `condition` must clear after the boot. */
export const hungNodeLadder = (condition: string): Ladder => {
  // The kernel's words are read as they come. A hang that returns later is the same incident, and its next rung.
  const verify = { conditionCleared: condition, stableFor: '60s' }
  return [
    {
      operations: [
        evidence,
        { cordon: {} },
        // Whatever is lost with the node is lost by its reboot.
        { drain: { timeout: MOVES_WITHIN, gracePeriod: '30s', deleteEmptyDir: true } },
        reboot,
      ],
      verify,
      // A drain that did not end is no reason for another one.
      retries: 0,
    },
    { operations: [evidence, { cordon: {} }, reboot], verify },
    { operations: [{ replace: {} }], timeout: '1h' },
  ]
}

/**
 * For machines whose provider switches them off and on, and workloads that must never run twice: what did not end within the time of the drain is given up only
 * once the machine is off. `movesWithin`: that time.
 */
export const fencedAfter = (condition: string, movesWithin = MOVES_WITHIN): Ladder => {
  const [drained, , replaced] = hungNodeLadder(condition)
  if (drained === undefined || replaced === undefined) throw new TypeError('a ladder that lacks a rung')
  const moves = drained.operations.map((o) =>
    o.drain === undefined ? o : { drain: { ...o.drain, timeout: movesWithin } },
  )
  return [
    { ...drained, operations: moves },
    { ...drained, operations: [evidence, { cordon: {} }, { fence: {} }], timeout: '15m' },
    replaced,
  ]
}

export const kernelDeadlock: NodeRemedierInput['spec'] = {
  when: {
    all: [{ fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }],
  },
  // The condition stays until another boot: it does not flicker.
  for: '10s',
  priority: 25,
  ladder: hungNodeLadder('KernelDeadlock'),
  limits: { perNodePerDay: 3, perHour: 5, maxInFlight: 2 },
}
