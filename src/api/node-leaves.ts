// Rule leaves about Node conditions, with the detectors' names: a typo is a type error, not a rule that never fires.
import type { NODE_CONDITIONS } from './node-conditions.ts'
import { pointerTo } from './problem.ts'
import { defined } from '#lib/defined.ts'

/**
 * Conditions of kubelets, of the node problem detector with its usual plugins, and of KubeNode's agents. A fleet passes its own names to a rule as parameters.
 */
export const NODE_CONDITION_TYPES = [
  'Ready',
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
  'NetworkUnavailable',
  'KernelDeadlock',
  'ReadonlyFilesystem',
  'CorruptDockerOverlay2',
  'FrequentKubeletRestart',
  'FrequentDockerRestart',
  'FrequentContainerdRestart',
  'FrequentUnregisterNetDevice',
  'KubeletUnhealthy',
  'ContainerRuntimeUnhealthy',
  'NTPProblem',
  'FrequentOOMKill',
  'CertificateExpiring',
  'GPUNeedsReboot',
] as const

export type NodeConditionType =
  | (typeof NODE_CONDITION_TYPES)[number]
  | keyof typeof NODE_CONDITIONS
  | `ComponentUnhealthy-${string}`
  | `LogProblem-${string}`

/** The condition has had this status for `forAtLeast` without interruption. */
export const conditionIs = (
  type: NodeConditionType,
  value: 'True' | 'False' | 'Unknown',
  forAtLeast?: string,
): Readonly<Record<string, string>> => ({
  fact: 'conditions',
  path: pointerTo('', type, 'status'),
  operator: 'equal',
  value,
  ...defined({ for: forAtLeast }),
})

/**
 * At most this share of the pool has it. A guard: parts of hosts break one by one, and where many nodes report the same, what they share is at fault, or the
 * detector.
 */
export const fewPeersHave = (type: NodeConditionType, share = 0.2) => ({
  fact: 'peers' as const,
  path: pointerTo('/pool', type),
  operator: 'ratioAtMost' as const,
  value: share,
})
