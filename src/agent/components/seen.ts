// What the plan of one component decides on: the order, the record, the readings of this pass.
import type { ComponentOrder } from '#api/kinds/machine.ts'
import type { Attempt } from '#api/protocol/component-order.ts'
import type { ProcessEnd } from '../supervise/process-end.ts'
import type { AdoptionMode } from './adoption.ts'
import type { PermitReading } from './permit-reading.ts'
import type { Boot } from './reboot.ts'
import type { ComponentRecord } from './record.ts'
import type { Mate } from './shared-reboot.ts'

/** Unread: the Machine was not read yet, neither now nor before a restart. Nothing is removed until then. None: the Machine does not list the component. */
export type OrderReading = ComponentOrder | 'None' | 'Unread'

export type ProcessReading = 'NoService' | 'Running' | 'Stopped' | 'Ended' | 'Crashed' | 'Frozen'

export interface ProbeReading {
  readonly verdict: 'Passing' | 'Failing' | 'Unknown'
  /** Every probe passed for its whole settle time since the component was started. */
  readonly isSettled: boolean
  readonly message?: string
}

export interface StartFailure {
  readonly problem: string
  /** Milliseconds until the next retry; another version may arrive first. */
  readonly backoffMs: number
}

export interface Unreadable {
  readonly what: string
  readonly forMs: number
}

export interface Missing {
  readonly because: 'RequirementUnmet' | 'SkewRefused'
  readonly what: string
}

export interface ComponentSeen {
  readonly order: OrderReading
  readonly record: ComponentRecord | undefined
  readonly process: ProcessReading
  /** How the last process exited. */
  readonly end?: ProcessEnd | undefined
  /** Set while the last start attempt failed. */
  readonly startFailure?: StartFailure | undefined
  /** Milliseconds until the local brake allows a restart of a crashed or frozen process. */
  readonly brakeMs: number
  readonly probes: ProbeReading
  readonly permit: PermitReading | undefined
  /** Read in this pass; undefined means unknown. */
  readonly isNodePending: boolean | undefined
  /** The staged version has hooks, and a process of an earlier hook does not end. */
  readonly hungHook?: number | undefined
  /** The first unmet requirement of the staged version. */
  readonly missingRequirement: Missing | undefined
  /** Milliseconds until the staged version may be switched to again: the host failed in the last try. */
  readonly switchBackoffMs?: number
  /** Milliseconds for which the host has blocked an ordered switch. */
  readonly hostBlocksMs?: number
  /** Milliseconds until the next staging attempt. */
  readonly stageBackoffMs: number
  /** The version that is being fetched in the background. */
  readonly staging: Attempt | undefined
  /** Requested by a permitted repair. */
  readonly asked: 'Restart' | 'Reinstall' | undefined
  /** Running or stored files differ from what was installed, and only a switch to a fresh copy fixes that. */
  readonly isDrifted?: boolean
  /** What to do with files of other owners. */
  readonly adoption?: AdoptionMode
  /** Why the staged version cannot be installed: files of other owners are in the way. */
  readonly inTheWay?: string | undefined
  /** A user froze the node: no disruption may start. A running switch may finish, and a crashed process may be restarted. */
  readonly isNodeFrozen?: boolean
  /** The staged version declares `disruption: Reboot`. */
  readonly needsReboot?: boolean
  /** The staged version is a kernel, which runs only after a reboot. */
  readonly isKernel?: boolean
  /** Absent where machines do not reboot. */
  readonly boot?: Boot | undefined
  /** What is needed to judge the version in use cannot be read: its slot, or what the machine booted. */
  readonly unreadable?: Unreadable | undefined
  /** The other components of the machine, where a reboot is to be prepared, is pending, or was shared. */
  readonly mates?: readonly Mate[]
}
