// What the agent needs from a supervisor of components: start, stop, and their actual state. That is systemd where it runs the host, otherwise the
// agent's own supervisor.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { ProcessReading } from '../components/seen.ts'
import type { KeptProcess, KeptUnit } from '../components/kept.ts'
import type { ProcessEnd } from './process-end.ts'

export type Service = NonNullable<MachineComponentSpec['service']>

export interface StartRequest {
  readonly component: string
  /** The slot it runs from; a process from another slot is stopped first. */
  readonly slot: string
  readonly service: Service
  /** A process from another slot may keep running: only files changed, and they need no restart. */
  readonly keep?: boolean
  /** The process from before the adoption must not stay: its files were replaced. */
  readonly notThis?: KeptProcess
}

/**
 * How a component's service is released. Keep: it keeps running, with a unit that needs no agent. Restore: its unit is as it was before the adoption,
 * except that a unit that a user masked, disabled or stopped since stays that way. `isUndo`: the agent stopped it.
 */
export type Release =
  | { readonly kind: 'Keep' }
  | { readonly kind: 'Restore'; readonly unit: KeptUnit; readonly restarts: boolean; readonly isUndo?: boolean }

/** Where a component's own log is. Cannot point to any other log. */
export type LogPlace =
  | { readonly kind: 'File'; readonly path: string }
  | { readonly kind: 'Journal'; readonly unit: string }

export interface Processes {
  /** Adopts processes that a previous agent started. Called once, before everything else. */
  adopt(): Promise<void>
  /** Does nothing if it already runs from that slot. */
  start(request: StartRequest): Promise<void>
  /** TERM, a grace period, KILL; also for frozen processes. */
  stop(component: string): Promise<void>
  /** The component leaves the node, or no longer has a process: removes the files written for it outside its slot. */
  forget?(component: string, service: Service | undefined): Promise<void>
  /** Another program's unit that the service would adopt; undefined: there is none. */
  standing?(component: string, service: Service): Promise<KeptUnit | undefined>
  /** Foreign drop-ins that stay in force beside the agent's. */
  dropIns?(component: string, service: Service): Promise<readonly string[]>
  /** The unit's main process from before the adoption is still the main process, whether or not it was taken over. */
  isMain?(component: string, before: KeptUnit): Promise<boolean>
  /** The process keeps running, or its original unit is restored, without the agent. */
  release?(component: string, service: Service, release: Release): Promise<void>
  /** Modifications of its unit by another program. */
  drift?(request: StartRequest): Promise<string | undefined>
  /** Restores its unit; restarts nothing. */
  mend?(request: StartRequest): Promise<void>
  /** The file that `drift` checks. */
  unitFile?(component: string): string | undefined
  /** Foreign files that extend or change the unit that the agent wrote. */
  additions?(component: string): Promise<readonly string[]>
  /** Its main process. */
  main?(component: string): number | undefined
  signal(component: string, signal: 'SIGHUP' | 'SIGUSR1' | 'SIGUSR2'): void
  reading(component: string): ProcessReading
  /** Why, as text for users. */
  describe(component: string): string | undefined
  /** How the crashed or frozen process ended; undefined while it runs. */
  end(component: string): ProcessEnd | undefined
  /** The end of its output since the last start. */
  lastOutput?(component: string): Promise<string>
  /** Where its own output is kept; undefined: it has none, or is not a component of this node. */
  logPlace?(component: string): LogPlace | undefined
  /** Milliseconds until the local brake permits a restart. */
  brakeMs(component: string): number
  /** Called with the component whose state changed. */
  onChange(listener: (component: string) => void): void
  /** Stops watching; the processes keep running. */
  close(): void
}
