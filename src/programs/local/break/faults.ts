// The faults that a person may provoke on a node of the local fleet: what happens then, where to watch it, and why a driver cannot have it. Data.
import type { Driver } from '../driver.ts'

export const FAULTS = ['hung', 'network', 'kernel-log', 'disk', 'clock', 'memory'] as const
export type Fault = (typeof FAULTS)[number]

interface FaultFacts {
  /** What KubeNode does about it. */
  readonly effect: string
  /** Command that shows it. */
  readonly watch: (node: string) => string
  /** How it ends if the user does nothing. */
  readonly ends: string
}

const WHY = (node: string): string => `kubenode why node/${node}`

/** Faults of a process node. The others need a machine of their own. */
export const POSSIBLE: Readonly<Partial<Record<Fault, FaultFacts>>> = {
  hung: {
    effect: 'the agent finds the component frozen, and a rule has it restarted under a permit',
    watch: () => 'kubenode get remedyoperationjobs',
    ends: 'the restart ends it, within about ten seconds',
  },
  network: {
    effect: 'the agent sends no heartbeats, and the node is silent after 40 seconds',
    watch: WHY,
    ends: 'it stays until you undo it: a node of this fleet has no provider that could switch it off and on',
  },
  'kernel-log': {
    effect: 'the agent reads the line and sets the condition of the log rule that it matches',
    watch: WHY,
    ends: 'the condition ends by itself after the time that the log rule gives',
  },
}

const SHARED = 'the nodes are processes of this machine and share its'
const IMPOSSIBLE: Readonly<Record<string, string>> = {
  disk: `${SHARED} disks`,
  clock: `${SHARED} clock`,
  memory: `${SHARED} memory`,
}

/** Undefined: it is possible. */
export function whyImpossible(fault: Fault, driver: Driver): string | undefined {
  if (driver === 'nspawn') return 'the nodes are systemd machines'
  return POSSIBLE[fault] === undefined ? IMPOSSIBLE[fault] : undefined
}
