// Reads what the plan of one component depends on: its slots, its process and probes, the node and the other components.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { KnownDigests } from '../files/digest.ts'
import { KernelSwitch } from '../os/kernel-switch.ts'
import type { Mismatch } from '../os/port.ts'
import type { AdoptionReport } from './adoption.ts'
import { AdoptionCheck } from './adoption-check.ts'
import type { ComponentSeen, Missing, ProbeReading, Unreadable } from './seen.ts'
import type { Probing } from './probing.ts'
import type { ComponentRecord } from './record.ts'
import { KeptSpec, unreadableSlot } from './slot.ts'
import type { StartTries } from './start-tries.ts'
import type { WorkerDeps } from './worker-deps.ts'

/** Without what the worker itself holds: its order, what it read in this pass for an action, and its own work. */
export type Observed = Omit<
  ComponentSeen,
  | 'order'
  | 'permit'
  | 'isNodePending'
  | 'switchBackoffMs'
  | 'hostBlocksMs'
  | 'stageBackoffMs'
  | 'staging'
  | 'asked'
  | 'isDrifted'
>

export interface ObserverDeps extends WorkerDeps {
  readonly digests: KnownDigests
  readonly probing: Probing
  readonly starts: StartTries
}

export class ComponentObserver {
  readonly #deps: ObserverDeps
  readonly #component: string
  readonly #kernel: KernelSwitch
  readonly #adoption: AdoptionCheck
  readonly #inUse: KeptSpec
  readonly #staged: KeptSpec
  #unreadableSince: number | undefined

  constructor(deps: ObserverDeps, component: string) {
    this.#deps = deps
    this.#component = component
    this.#kernel = new KernelSwitch(deps.os, deps.log.with({ component }))
    this.#adoption = new AdoptionCheck(deps, component, (slot) => this.#staged.read(slot))
    this.#inUse = new KeptSpec(deps, component)
    this.#staged = new KeptSpec(deps, component)
  }

  /** What adopting other owners' files would do, or which originals it kept. */
  get adoption(): AdoptionReport | undefined {
    return this.#adoption.report
  }

  async observe(record: ComponentRecord | undefined): Promise<Observed> {
    const { processes, probing, starts } = this.#deps
    const spec = await this.specInUse(record)
    const reading = spec?.service === undefined ? 'NoService' : processes.reading(this.#component)
    probing.watch(spec, reading === 'NoService' || reading === 'Running' || reading === 'Frozen')
    if (reading === 'NoService' || reading === 'Running' || reading === 'Ended') starts.noteUp()
    const startFailure = starts.failure
    if (await this.#adoption.inspect(record)) this.#deps.onChange()
    const isNodeFrozen = (await this.#deps.isNodeFrozen?.()) ?? false
    const needs = await this.#stagedNeeds(record)
    const mismatch = await this.#mismatch(record, spec)
    return {
      record,
      process: reading,
      end: processes.end(this.#component),
      brakeMs: processes.brakeMs(this.#component),
      startFailure,
      probes: this.#judged(mismatch),
      unreadable: this.#unreadable(record, spec, mismatch),
      missingRequirement: await this.#missing(record),
      adoption: this.#deps.adoption?.() ?? 'Refuse',
      inTheWay: this.#adoption.inTheWay,
      isNodeFrozen,
      ...needs,
      boot: await this.#deps.reboots?.boot(),
      mates: needs.needsReboot || record?.open?.reboot ? ((await this.#deps.mates?.()) ?? []) : [],
    }
  }

  async specInUse(record: ComponentRecord | undefined): Promise<MachineComponentSpec | undefined> {
    const slot = record?.current?.id
    if (slot === undefined) return undefined
    if (!this.#inUse.isOf(slot)) this.#deps.probing.stop()
    return this.#inUse.read(slot)
  }

  async #missing(record: ComponentRecord | undefined): Promise<Missing | undefined> {
    const slot = record?.staged?.id
    if (slot === undefined || record?.state !== 'Staged') return undefined
    const spec = await this.#staged.read(slot)
    return spec && this.#deps.missingRequirement(spec)
  }

  async #stagedNeeds(
    record: ComponentRecord | undefined,
  ): Promise<Pick<ComponentSeen, 'needsReboot' | 'isKernel' | 'hungHook'>> {
    const slot = record?.staged?.id
    if (slot === undefined || record?.state !== 'Staged') return {}
    const spec = await this.#staged.read(slot)
    const hungHook = spec?.hooks === undefined ? undefined : this.#deps.hungHook?.(this.#component)
    return { needsReboot: spec?.disruption === 'Reboot', isKernel: this.#kernel.isOf(spec), hungHook }
  }

  async #mismatch({ current }: Partial<ComponentRecord> = {}, spec: MachineComponentSpec | undefined) {
    return current === undefined || spec === undefined ? undefined : this.#kernel.mismatch({ id: current.id, spec })
  }

  /** A kernel is healthy while it is the one that runs. */
  #judged(mismatch: Mismatch | undefined): ProbeReading {
    if (mismatch === undefined) return this.#deps.probing.reading
    return {
      verdict: mismatch.booted === 'Unknown' ? 'Unknown' : 'Failing',
      isSettled: false,
      message: mismatch.what,
    }
  }

  /** Of the version in use, and for how long already. */
  #unreadable(
    { current }: Partial<ComponentRecord> = {},
    spec: MachineComponentSpec | undefined,
    mismatch: Mismatch | undefined,
  ): Unreadable | undefined {
    const unknown = mismatch?.booted === 'Unknown' ? mismatch.what : undefined
    const what = current !== undefined && spec === undefined ? unreadableSlot(current) : unknown
    const now = this.#deps.clock.monotonic()
    this.#unreadableSince = what === undefined ? undefined : (this.#unreadableSince ?? now)
    return what === undefined ? undefined : { what, forMs: now - (this.#unreadableSince ?? now) }
  }
}
