// Checks which files of other programs are in the way of the staged version. After the switch, reports which originals were kept.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { KnownDigests } from '../files/digest.ts'
import { adoptionReport, inTheWay, keptReport, standingsOf, type AdoptionReport } from './adoption.ts'
import { unitsOfHost } from './host-units.ts'
import { readKept } from './kept.ts'
import { maskedError } from './masked.ts'
import { OtherUnits } from './other-units.ts'
import type { ComponentRecord } from './record.ts'
import { foreignError } from './foreign-error.ts'
import type { WorkerDeps } from './worker-deps.ts'

type Spec = MachineComponentSpec

export class AdoptionCheck {
  readonly #deps: WorkerDeps & { readonly digests: KnownDigests }
  readonly #component: string
  readonly #specIn: (slot: string) => Promise<Spec | undefined>
  #report: AdoptionReport | undefined
  #inTheWay: string | undefined
  readonly #others: OtherUnits
  /** The slot whose kept originals the report lists. */
  #keptIn: string | undefined

  constructor(
    deps: WorkerDeps & { readonly digests: KnownDigests },
    component: string,
    specIn: (slot: string) => Promise<Spec | undefined>,
  ) {
    this.#deps = deps
    this.#component = component
    this.#specIn = specIn
    this.#others = new OtherUnits(deps)
  }

  get report(): AdoptionReport | undefined {
    return this.#report
  }

  /** Why the switch to the staged version is blocked; undefined when nothing blocks it. */
  get inTheWay(): string | undefined {
    return this.#inTheWay
  }

  /** Returns true when the report changed. */
  async inspect(record: ComponentRecord | undefined): Promise<boolean> {
    const before = JSON.stringify(this.#report)
    const slot = record?.state === 'Staged' ? record.staged?.id : undefined
    const spec = slot === undefined ? undefined : await this.#specIn(slot)
    this.#inTheWay = undefined
    if (slot !== undefined && spec !== undefined) {
      await this.#inspectStaged(slot, spec, record?.current === undefined)
    } else if (record?.state === 'Healthy' && this.#keptIn !== record.current?.id) {
      this.#keptIn = record.current?.id
      this.#report = keptReport(await readKept(this.#deps, this.#component))
    }
    return JSON.stringify(this.#report) !== before
  }

  async #inspectStaged(slot: string, spec: Spec, isFirst: boolean): Promise<void> {
    const deps = this.#deps
    const kept = await readKept(deps, this.#component)
    const standings = await standingsOf(deps, spec, slot, kept)
    const service = isFirst ? spec.service : undefined
    const unit = service && (await deps.processes.standing?.(this.#component, service))
    const stays = unit && service && (await deps.processes.dropIns?.(this.#component, service))
    const theirs = unit && (await unitsOfHost(deps, spec)).map((u) => u.theirs)
    const alsoStarted = service === undefined ? [] : await this.#others.of(spec)
    this.#report = adoptionReport(standings, unit, { stays: [...(theirs ?? []), ...(stays ?? [])], alsoStarted })
    const others = inTheWay(standings, deps.adoption?.() ?? 'Refuse', kept)
    const problem = (await maskedError(deps, spec)) ?? foreignError(this.#component, others, deps.machine)
    this.#inTheWay = problem?.message
  }
}
