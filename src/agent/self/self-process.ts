// The agent as one of its own components. It cannot stop itself and start another copy, so it records the copy to run and exits; its supervisor does the
// rest. It controls no other component.
import { KubeNodeError } from '#lib/errors.ts'
import type { ProcessReading } from '../components/seen.ts'
import type { ComponentRecord } from '../components/record.ts'
import { removeDurably, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import type { NodeDir } from '../node-dir.ts'
import type { KeptUnit } from '../components/kept.ts'
import type { LogPlace, Processes, Release, Service, StartRequest } from '../supervise/port.ts'
import type { ProcessEnd } from '../supervise/process-end.ts'
import { AGENT_COMPONENT, parseSwitch, reportedFile, switchFile } from './switch-file.ts'
import { agentErrors } from '../agent-errors.ts'

export interface SelfOptions {
  readonly files: Files
  readonly dir: NodeDir
  /** The slot that this process runs from: empty for the copy from the join; undefined without a supervisor. */
  readonly slot: string | undefined
  /** Exits so that the supervisor starts the current copy. Does not return. */
  readonly end: () => never
}

export class WithSelf implements Processes {
  readonly #base: Processes
  readonly #o: SelfOptions

  constructor(base: Processes, options: SelfOptions) {
    this.#base = base
    this.#o = options
  }

  async adopt(): Promise<void> {
    await this.#base.adopt()
  }

  async start(request: StartRequest): Promise<void> {
    if (request.component !== AGENT_COMPONENT) return this.#base.start(request)
    const { files, dir, slot: own, end } = this.#o
    const { slot } = request
    if (own === slot) return undefined
    if (own === undefined) throw new KubeNodeError(agentErrors.KN8003_supervisor())
    const path = switchFile(dir.state)
    const open = parseSwitch((await files.read(path))?.toString('utf8'))
    if (open?.to === slot && open.gaveUp !== undefined)
      throw new KubeNodeError(agentErrors.KN8051({ gaveUp: open.gaveUp }))
    await writeDurably(files, path, JSON.stringify({ to: slot, from: own }))
    return end()
  }

  /** The new agent runs and has reported: the supervisor must no longer revert it. */
  async reported(): Promise<void> {
    const { files, dir, slot } = this.#o
    if (slot === undefined || slot === '') return
    if ((await files.read(reportedFile(dir.state)))?.toString('utf8') === slot) return
    await writeDurably(files, reportedFile(dir.state), slot)
  }

  /** Its probes passed: from now on its exits count like those of any agent. */
  async settled(record: ComponentRecord | undefined): Promise<void> {
    const { files, dir, slot } = this.#o
    if (record?.state !== 'Healthy' || record.current?.id !== slot) return
    await removeDurably(files, switchFile(dir.state))
  }

  async stop(component: string): Promise<void> {
    if (component !== AGENT_COMPONENT) return this.#base.stop(component)
    return undefined
  }

  async forget(component: string, service: Service | undefined): Promise<void> {
    if (component !== AGENT_COMPONENT) return this.#base.forget?.(component, service)
    return removeDurably(this.#o.files, switchFile(this.#o.dir.state))
  }

  async standing(component: string, service: Service): Promise<KeptUnit | undefined> {
    return component === AGENT_COMPONENT ? undefined : this.#base.standing?.(component, service)
  }

  async dropIns(component: string, service: Service): Promise<readonly string[]> {
    return component === AGENT_COMPONENT ? [] : ((await this.#base.dropIns?.(component, service)) ?? [])
  }

  async isMain(component: string, before: KeptUnit): Promise<boolean> {
    return component !== AGENT_COMPONENT && (await this.#base.isMain?.(component, before)) === true
  }

  async release(component: string, service: Service, release: Release): Promise<void> {
    if (component === AGENT_COMPONENT) return this.forget(component, service)
    return this.#base.release?.(component, service, release)
  }

  async drift(request: StartRequest): Promise<string | undefined> {
    return request.component === AGENT_COMPONENT ? undefined : this.#base.drift?.(request)
  }

  async mend(request: StartRequest): Promise<void> {
    if (request.component !== AGENT_COMPONENT) await this.#base.mend?.(request)
  }

  async additions(component: string): Promise<readonly string[]> {
    return (await this.#base.additions?.(component)) ?? []
  }

  unitFile(component: string): string | undefined {
    return component === AGENT_COMPONENT ? undefined : this.#base.unitFile?.(component)
  }

  main(component: string): number | undefined {
    return component === AGENT_COMPONENT ? undefined : this.#base.main?.(component)
  }

  signal(component: string, signal: 'SIGHUP' | 'SIGUSR1' | 'SIGUSR2'): void {
    if (component !== AGENT_COMPONENT) this.#base.signal(component, signal)
  }

  reading(component: string): ProcessReading {
    return component === AGENT_COMPONENT ? 'Running' : this.#base.reading(component)
  }

  describe(component: string): string | undefined {
    return component === AGENT_COMPONENT ? undefined : this.#base.describe(component)
  }

  end(component: string): ProcessEnd | undefined {
    return component === AGENT_COMPONENT ? undefined : this.#base.end(component)
  }

  async lastOutput(component: string): Promise<string> {
    return component === AGENT_COMPONENT ? '' : ((await this.#base.lastOutput?.(component)) ?? '')
  }

  logPlace(component: string): LogPlace | undefined {
    return this.#base.logPlace?.(component)
  }

  brakeMs(component: string): number {
    return component === AGENT_COMPONENT ? 0 : this.#base.brakeMs(component)
  }

  onChange(listener: (component: string) => void): void {
    this.#base.onChange(listener)
  }

  close(): void {
    this.#base.close()
  }
}
