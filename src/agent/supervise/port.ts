// What the agent asks of whoever runs components: start, stop, and an honest word on how they are. systemd where it runs the host, our own supervisor
// elsewhere.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { ProcessReading } from '../components/plan.ts'
import type { ProcessEnd } from './process-end.ts'

export type Service = NonNullable<MachineComponentSpec['service']>

export interface StartRequest {
  readonly component: string
  /** Which slot it runs from; a process of another slot is stopped first. */
  readonly slot: string
  readonly service: Service
  /** What runs may go on although it came from another slot: nothing but files has changed, and those it need not be started again for. */
  readonly keep?: boolean
}

export interface Processes {
  /** Takes up again what an agent before us had started. Once, before everything else. */
  adopt(): Promise<void>
  /** Nothing happens when it runs from that slot already. */
  start(request: StartRequest): Promise<void>
  /** TERM, patience, KILL; also for what is frozen. */
  stop(component: string): Promise<void>
  /** The component leaves the node, or has no process any more: what was written for it outside of its slot goes too. */
  forget?(component: string, service: Service | undefined): Promise<void>
  /** What of its unit somebody else has changed. */
  drift?(request: StartRequest): Promise<string | undefined>
  /** Puts its unit right; starts nothing again. */
  mend?(request: StartRequest): Promise<void>
  /** The file that `drift` speaks of. */
  unitFile?(component: string): string | undefined
  /** Files of others that add to the unit that we wrote for it, or change it. */
  additions?(component: string): Promise<readonly string[]>
  /** Its main process. */
  main?(component: string): number | undefined
  signal(component: string, signal: 'SIGHUP' | 'SIGUSR1' | 'SIGUSR2'): void
  reading(component: string): ProcessReading
  /** Why, for people. */
  describe(component: string): string | undefined
  /** How what has crashed or froze ended; undefined while it runs. */
  end(component: string): ProcessEnd | undefined
  /** The end of what it wrote since it was started last. */
  lastOutput?(component: string): Promise<string>
  /** Until the local brake lets it be started again. */
  brakeMs(component: string): number
  /** Called with the component whose reading changed. */
  onChange(listener: (component: string) => void): void
  /** Ends the watching, not what is watched. */
  close(): void
}
