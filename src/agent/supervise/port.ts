// What the agent asks of a supervisor of components: start, stop, and their actual state. systemd where it runs the host, our own supervisor
// elsewhere.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { ProcessReading } from '../components/plan.ts'
import type { KeptProcess, KeptUnit } from '../components/kept.ts'
import type { ProcessEnd } from './process-end.ts'

export type Service = NonNullable<MachineComponentSpec['service']>

export interface StartRequest {
  readonly component: string
  /** The slot it runs from; a process of another slot is stopped first. */
  readonly slot: string
  readonly service: Service
  /** A process of another slot may keep running: only files have changed, and these need no restart. */
  readonly keep?: boolean
  /** The process from before the adoption, which must not stay: its files were replaced. */
  readonly notThis?: KeptProcess
}

/**
 * How a component's service is let go. Keep: it runs on, with a unit that needs no agent. Restore: its unit is as it was before it was adopted, except for what a
 * person did to it since: masked, disabled or stopped, it stays so. `isUndo`: the agent stopped it.
 */
export type Release =
  | { readonly kind: 'Keep' }
  | { readonly kind: 'Restore'; readonly unit: KeptUnit; readonly restarts: boolean; readonly isUndo?: boolean }

/** Names a component's own log, and can name no other. */
export type LogPlace =
  | { readonly kind: 'File'; readonly path: string }
  | { readonly kind: 'Journal'; readonly unit: string }

export interface Processes {
  /** Adopts processes that a previous agent started. Called once, first of all. */
  adopt(): Promise<void>
  /** Does nothing if it already runs from that slot. */
  start(request: StartRequest): Promise<void>
  /** TERM, a grace period, KILL; also for frozen processes. */
  stop(component: string): Promise<void>
  /** The component leaves the node, or has no process any longer: removes the files written for it outside its slot. */
  forget?(component: string, service: Service | undefined): Promise<void>
  /** The unit of another program that the service would be adopted with; undefined: there is none. */
  standing?(component: string, service: Service): Promise<KeptUnit | undefined>
  /** Drop-ins of others that stay in force beside ours. */
  dropIns?(component: string, service: Service): Promise<readonly string[]>
  /** The main process that the unit had before it was adopted is its main process still, whether it was taken over or not. */
  isMain?(component: string, before: KeptUnit): Promise<boolean>
  /** The process runs on, or as the originals say, without the agent. */
  release?(component: string, service: Service, release: Release): Promise<void>
  /** Modifications of its unit by another program. */
  drift?(request: StartRequest): Promise<string | undefined>
  /** Restores its unit; restarts nothing. */
  mend?(request: StartRequest): Promise<void>
  /** The file that `drift` speaks of. */
  unitFile?(component: string): string | undefined
  /** Foreign files that extend or change the unit that we wrote for it. */
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
  /** Where its own output is kept; undefined: it has none, or is no component of this node. */
  logPlace?(component: string): LogPlace | undefined
  /** Until the local brake permits a restart. */
  brakeMs(component: string): number
  /** Called with the component whose state changed. */
  onChange(listener: (component: string) => void): void
  /** Ends the watching, not the processes. */
  close(): void
}
