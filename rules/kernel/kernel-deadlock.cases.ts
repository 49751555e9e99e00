// When the rule for hanging kernels fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { kernelDeadlock } from './kernel-deadlock.ts'

export const rule = kernelDeadlock

export const cases: readonly RuleCase[] = [
  {
    name: 'a kernel that hangs',
    conditions: [{ type: 'KernelDeadlock', status: 'True', reason: 'DockerHung' }],
    verdict: 'fires',
  },
  {
    name: 'a healthy kernel',
    conditions: [{ type: 'KernelDeadlock', status: 'False', reason: 'KernelHasNoDeadlock' }],
    verdict: 'does not fire',
  },
  {
    name: 'a kernel of which the detector cannot tell',
    conditions: [{ type: 'KernelDeadlock', status: 'Unknown' }],
    verdict: 'unknown',
  },
  {
    name: 'a node that is not Ready for another reason',
    conditions: [
      { type: 'Ready', status: 'False', reason: 'KubeletNotReady' },
      { type: 'KernelDeadlock', status: 'False' },
    ],
    verdict: 'does not fire',
  },
  { name: 'a node of which no condition is known', verdict: 'unknown' },
]
