// Puts a version of a component in use on the node: its links, its originals kept, its process. Every step can be repeated; one symbolic link defines the
// version in use.
import { defined } from '#lib/defined.ts'
import { removeDurably, relink } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { currentLink, slotFolder, type NodeDir } from '../node-dir.ts'
import type { Processes, StartRequest } from '../supervise/port.ts'
import { effectFor, inTheWay, standingsOf, type AdoptionMode } from './adoption.ts'
import { switchEffect, type SlotOf } from './effect.ts'
import { foreignError } from './foreign-error.ts'
import { digestsInUse, restore, restorePath } from './hand-back.ts'
import { linksOn } from './host-units.ts'
import { keepOriginals, readKept, type Kept, type KeptProcess } from './kept.ts'
import { layoutOf } from './layout.ts'
import { makeLinks } from './links.ts'
import type { Then } from './reboot-switch.ts'

export interface InstallerDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly processes: Processes
  /** Name of the machine, for hints to users. */
  readonly machine?: string
  /** What to do with files of other owners; Refuse when unknown. */
  readonly adoption?: () => AdoptionMode
}

export class Installer {
  readonly #deps: InstallerDeps
  readonly #component: string

  constructor(deps: InstallerDeps, component: string) {
    this.#deps = deps
    this.#component = component
  }

  async use(to: SlotOf, from: SlotOf | undefined, then: Then): Promise<void> {
    const { files, dir, processes } = this.#deps
    const { id, spec } = to
    const link = currentLink(dir, this.#component)
    const target = slotFolder(dir, this.#component, id)
    const effect = await switchEffect(this.#deps, this.#component, from, to)
    const { kept, notThis } = await this.#adopt(to, from)
    // No process of the old version may run while the link changes.
    if (then === 'Stop' || (effect === 'Restart' && (await files.readLink(link)) !== target))
      await processes.stop(this.#component)
    await relink(files, link, target)
    await makeLinks(this.#deps, this.#component, await linksOn(this.#deps, spec))
    const stays = new Set(layoutOf(spec).links.map((l) => l.path))
    const removed = from === undefined ? [] : layoutOf(from.spec).links.filter((l) => !stays.has(l.path))
    for (const { path } of removed) await restorePath(this.#deps, this.#component, kept, path)
    if (from?.spec.service !== undefined && spec.service === undefined)
      await processes.forget?.(this.#component, from.spec.service)
    if (then === 'Stop') return
    await this.start(to, { keep: effect !== 'Restart', ...defined({ notThis }) })
    const { reloadSignal } = spec.service ?? {}
    if (effect === 'Reload' && reloadSignal !== undefined) processes.signal(this.#component, reloadSignal)
  }

  /** Keeps the originals at the component's paths, if they may be replaced. `notThis`: the process that runs from files that are about to be replaced. */
  async #adopt(
    { id, spec }: SlotOf,
    from: SlotOf | undefined,
  ): Promise<{ readonly kept: Kept; readonly notThis?: KeptProcess }> {
    const { processes, adoption } = this.#deps
    const component = this.#component
    const before = await readKept(this.#deps, component)
    const standings = await standingsOf(this.#deps, spec, id, before)
    const foreign = foreignError(component, inTheWay(standings, adoption?.() ?? 'Refuse', before), this.#deps.machine)
    if (foreign !== undefined) throw foreign
    const isFirst = from === undefined && before?.unit === undefined && spec.service !== undefined
    const unit = isFirst ? await processes.standing?.(component, spec.service) : undefined
    const kept = await keepOriginals(this.#deps, component, await linksOn(this.#deps, spec), unit)
    const replaced = from === undefined && (await this.#isReplaced(kept, { id, spec }))
    return { kept, ...(replaced && kept.unit?.main !== undefined && { notThis: kept.unit.main }) }
  }

  /** Compares the kept originals, not the current files, so that an interrupted adoption makes the same restart decision. */
  async #isReplaced(kept: Kept, { id, spec }: SlotOf): Promise<boolean> {
    const inUse = await digestsInUse(this.#deps, { component: this.#component, slot: id, spec })
    return layoutOf(spec).links.some((link) => {
      const original = kept.originals.find((o) => o.path === link.path)
      if (original === undefined || effectFor(spec, link) !== 'Restart') return false
      return original.kind === 'Absent' || original.sha256 !== inUse.get(link.path)
    })
  }

  async start({ id, spec: { service } }: SlotOf, how: Pick<StartRequest, 'keep' | 'notThis'> = {}): Promise<void> {
    const { processes } = this.#deps
    const { keep = false, notThis } = how
    if (service === undefined) await processes.stop(this.#component)
    else
      await processes.start({
        component: this.#component,
        slot: id,
        service,
        ...(keep && { keep }),
        ...defined({ notThis }),
      })
  }

  /** Undoes a first install. `failed`: undefined where its slot is damaged. */
  async undoFirst(failed: SlotOf | undefined): Promise<void> {
    const { files, dir, processes } = this.#deps
    if (failed === undefined) {
      await processes.stop(this.#component)
      await processes.forget?.(this.#component, undefined)
    } else await this.#restoreFirst(failed)
    await removeDurably(files, currentLink(dir, this.#component))
  }

  /** Runs the previous program again, in its own version. */
  async #restoreFirst({ id, spec }: SlotOf): Promise<void> {
    const kept = await readKept(this.#deps, this.#component)
    const { unit } = kept ?? {}
    const isOriginal = unit !== undefined && (await this.#deps.processes.isMain?.(this.#component, unit)) === true
    const inUse = { component: this.#component, slot: id, spec }
    await restore(this.#deps, inUse, { restarts: unit !== undefined && !isOriginal, isUndo: true })
  }
}
