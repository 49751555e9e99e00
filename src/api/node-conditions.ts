// The Node conditions that our agents report by themselves, each with its sentence. Rules name them; logs of the configuration add others.
// Like all conditions of nodes beside Ready, True means trouble.

/** Any component of the node is unhealthy; the message names them. */
export const COMPONENT_UNHEALTHY = 'ComponentUnhealthy'

export const NODE_CONDITIONS = {
  [COMPONENT_UNHEALTHY]:
    'A component that the Machine names crashed, is frozen, fails a probe or cannot be run. ComponentUnhealthy-<component> says the same of one component.',
} as const

/** Of one component, so that a rule can name it: `ComponentUnhealthy-containerd`. Appears once the component had trouble. */
export const componentConditionType = (component: string): string => `${COMPONENT_UNHEALTHY}-${component}`

/** Reasons of these conditions. */
export const NODE_CONDITION_REASONS = {
  ComponentCrashed: 'Its process ended by itself.',
  ComponentFrozen: 'Its process was stopped by a signal and does not go on.',
  ProbeFailing: 'A probe fails again and again.',
  ComponentFailed: 'No version of it can be run.',
  ComponentUnhealthy: 'One or more components have trouble.',
  AllComponentsHealthy: 'Every component is well.',
  ComponentHealthy: 'The component was well for long enough.',
  ComponentGone: 'The component is not installed any more.',
} as const
