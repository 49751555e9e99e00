// All components of the node, one worker each. A worker is created when the component is in the Machine or on the disk, and dropped when it is in neither.
import { parseRange, parseVersion } from '#lib/semver.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { ComponentStatus } from '#api/kinds/machine.ts'
import type { Disruption } from '#api/kinds/operation-permit.ts'
import type { ComponentTarget } from '#api/protocol/component-order.ts'
import { trashFolder } from '../node-dir.ts'
import type { MachineOrder } from '../machine-order.ts'
import { componentReport } from '../status/machine-status.ts'
import { AGENT_COMPONENT } from '../self/switch-file.ts'
import { sweepArtifacts } from './artifact-sweep.ts'
import { skewRefusal } from '../preflight/preflight.ts'
import type { AskResult } from './asks.ts'
import type { ComponentRecord } from './record.ts'
import { componentsOnDisk } from './on-disk.ts'
import type { Missing } from './seen.ts'
import type { PermitReading } from './permit-reading.ts'
import { type Mate, mateOf } from './shared-reboot.ts'
import { readSlot } from './slot.ts'
import type { WorkerDeps } from './worker-deps.ts'
import { ComponentWorker } from './worker.ts'

export type AllDeps = Omit<WorkerDeps, 'missingRequirement' | 'readPermit'> & {
  readonly readPermit: (target: ComponentTarget, permit: string, use: readonly Disruption[]) => Promise<PermitReading>
  /** Undefined while the version cannot be read; absent where versions are not checked against it. */
  readonly serverVersion?: () => string | undefined
}

const SWEEP_EVERY_MS = 6 * 3_600_000

export class AllComponents {
  readonly #deps: AllDeps
  readonly #workers = new Map<string, ComponentWorker>()
  #sweptAt = Number.NEGATIVE_INFINITY
  #order: MachineOrder | undefined
  #leaving: { readonly isObserved: boolean } | undefined

  constructor(deps: AllDeps) {
    this.#deps = deps
    deps.processes.onChange((component) => {
      this.#workers.get(component)?.wake()
      deps.onChange()
    })
  }

  get workers(): readonly ComponentWorker[] {
    return [...this.#workers.values()]
  }

  /** Adopts the components found on disk. */
  async load(): Promise<void> {
    const { files, dir } = this.#deps
    await files.remove(trashFolder(dir))
    for (const component of await componentsOnDisk({ files, dir })) {
      const worker = this.#make(component)
      await worker.load()
    }
    for (const worker of this.#workers.values()) worker.wake()
  }

  /** Runs periodically; a failure shows up again next time. */
  async sweep(): Promise<void> {
    const { clock, log } = this.#deps
    if (clock.monotonic() - this.#sweptAt < SWEEP_EVERY_MS) return
    this.#sweptAt = clock.monotonic()
    await sweepArtifacts(this.#deps).catch((error: unknown) => log.warn('cannot clean up old artifacts', { error }))
  }

  /** A staged version may be waiting for this. */
  wakeStaged(): void {
    for (const worker of this.#workers.values()) if (worker.record?.state === 'Staged') worker.wake()
  }

  /** Every component starts leaving; the agent itself leaves last. */
  leave(isObserved: boolean): void {
    this.#leaving = { isObserved }
    for (const worker of this.#workers.values()) if (worker.component !== AGENT_COMPONENT) worker.setOrder('None')
  }

  /** Nothing that the agent installed is left on the node, except the agent. */
  get areOff(): boolean {
    return this.workers.every((w) => w.component === AGENT_COMPONENT || w.record === undefined)
  }

  get areQuiet(): boolean {
    return this.workers.every((w) => w.isQuiet)
  }

  obey(order: MachineOrder): void {
    if (this.#leaving !== undefined) return
    const before = this.#order?.components ?? []
    this.#order = order
    // A switch under a withdrawn order is reported at once.
    if (before.some((c) => c.switch !== undefined && !this.isOrdered(c.name, c.attempt))) this.#deps.onChange()
    for (const { name } of order.components) if (!this.#workers.has(name)) this.#make(name)
    for (const [name, worker] of this.#workers) worker.setOrder(order.components.find((c) => c.name === name) ?? 'None')
    this.#sweep()
  }

  /** Its Machine orders this attempt to be switched. */
  isOrdered(component: unknown, attempt: unknown): boolean {
    const order = this.#order?.components.find((c) => c.name === component)
    return order?.switch !== undefined && order.switch.attempt === attempt
  }

  async ask(component: string, kind: 'Restart' | 'Reinstall'): Promise<AskResult> {
    const worker = this.#workers.get(component)
    return worker === undefined ? { kind: 'Failed', message: `${component} is not installed` } : worker.ask(kind)
  }

  get records(): readonly ComponentRecord[] {
    return this.workers.flatMap((w) => w.record ?? [])
  }

  /** The component reports for the Machine's status. */
  reports(): readonly ComponentStatus[] {
    return this.workers.flatMap((worker) => {
      const order = this.#order?.components.find((c) => c.name === worker.component)
      return componentReport(worker, order) ?? []
    })
  }

  /** Paths on the node that hold files of other owners. */
  get foreign(): readonly string[] {
    return this.workers.flatMap((w) => (w.record === undefined ? [] : w.foreign))
  }

  /**
   * Stops everything before the machine goes down. A component stops before the ones it requires: the kubelet before its runtime. Tries all, even if some
   * fail.
   */
  async stopAll(): Promise<void> {
    const left = new Map<string, readonly string[]>()
    for (const { component, record } of this.workers) {
      const slot = record?.current?.id
      const spec = slot === undefined ? undefined : await readSlot(this.#deps, component, slot)
      left.set(
        component,
        (spec?.requires ?? []).map((r) => r.component),
      )
    }
    while (left.size > 0) {
      const required = new Set([...left.values()].flat())
      const free = [...left.keys()].filter((component) => !required.has(component))
      // Components in a dependency cycle are stopped together.
      const next = free.length === 0 ? [...left.keys()] : free
      await Promise.allSettled(next.map((component) => this.#deps.processes.stop(component)))
      for (const component of next) left.delete(component)
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((w) => w.close()))
  }

  #make(component: string): ComponentWorker {
    const worker = new ComponentWorker(
      {
        ...this.#deps,
        adoption: () => this.#order?.adoption ?? 'Refuse',
        isObserved: () => this.#leaving?.isObserved ?? this.#order?.isObserved === true,
        readPermit: (permit, forReboot) =>
          this.#deps.readPermit(staged(worker), permit, [
            'SwitchComponent',
            ...(forReboot ? (['Reboot'] as const) : []),
          ]),
        missingRequirement: (spec) => this.#missing(spec),
        mates: () => this.#matesOf(component),
        onChange: () => {
          // Components that wait for this one may be able to continue.
          for (const other of this.#workers.values()) if (other !== worker && isWaiting(other.record)) other.wake()
          this.#sweep()
          this.#deps.onChange()
        },
      },
      component,
    )
    this.#workers.set(component, worker)
    return worker
  }

  async #matesOf(component: string): Promise<readonly Mate[]> {
    const mates = this.workers.map(async (worker) => {
      const { record } = worker
      if (record === undefined || worker.component === component) return []
      const slot = record.open?.to ?? record.staged
      const spec = slot && (await readSlot(this.#deps, worker.component, slot.id))
      return [mateOf({ component: worker.component, record, order: worker.order, probes: worker.probes }, spec)]
    })
    return (await Promise.all(mates)).flat()
  }

  #sweep(): void {
    for (const [name, worker] of this.#workers)
      if (worker.isIdle) {
        this.#workers.delete(name)
        void worker.close()
      }
  }

  #missing(spec: MachineComponentSpec): Missing | undefined {
    const unmet = (what: string): Missing => ({ because: 'RequirementUnmet', what })
    for (const { component, range } of spec.requires ?? []) {
      const other = this.#workers.get(component)?.record
      if (other?.current === undefined || other.state !== 'Healthy')
        return unmet(`waiting for ${component} to be healthy`)
      const [wanted, have] = [parseRange(range), parseVersion(other.current.version)]
      if (wanted === undefined || have === undefined || !wanted(have))
        return unmet(`waiting for ${component} ${range}; ${other.current.version} is running`)
    }
    const { serverVersion } = this.#deps
    if (spec.skew === undefined || serverVersion === undefined) return undefined
    const refusal = skewRefusal(spec, serverVersion())
    return refusal === undefined ? undefined : { because: 'SkewRefused', what: refusal }
  }
}

const isWaiting = (record: ComponentRecord | undefined): boolean =>
  record?.state === 'Staged' || record?.open?.reboot !== undefined

/** The version that a switch would install. */
const staged = ({ component, record }: ComponentWorker): ComponentTarget => ({ name: component, ...record?.target })
