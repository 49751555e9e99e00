// What would happen to a component if it left now. Cached until one of its inputs changes.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { KnownDigests } from '../files/digest.ts'
import { keptFile } from '../node-dir.ts'
import type { ComponentRecord, RemovalPlan } from './record.ts'
import { isAdopted, readKept } from './kept.ts'
import { observeRemoval } from './observe-removal.ts'
import type { WorkerDeps } from './worker-deps.ts'

type SpecOf = (record: ComponentRecord | undefined) => Promise<MachineComponentSpec | undefined>

/** How the component differs from what was installed. */
interface Change {
  readonly drift: string | undefined
  /** Number of foreign files left in place. */
  readonly foreign: number
}

export class RemovalOutlook {
  readonly #deps: WorkerDeps & { readonly digests: KnownDigests }
  readonly #component: string
  readonly #specInUse: SpecOf
  #last: { readonly key: string; readonly slot: string; readonly plan: RemovalPlan } | undefined

  constructor(deps: WorkerDeps & { readonly digests: KnownDigests }, component: string, specInUse: SpecOf) {
    this.#deps = deps
    this.#component = component
    this.#specInUse = specInUse
  }

  /** Undefined until the plan is computed for the version in use: a plan for another version is never reported. */
  planFor(record: ComponentRecord | undefined): RemovalPlan | undefined {
    return record?.current !== undefined && record.current.id === this.#last?.slot ? this.#last.plan : undefined
  }

  /** Returns true when the plan was computed again. */
  async inspect(record: ComponentRecord | undefined, { drift, foreign }: Change): Promise<boolean> {
    if (record?.current === undefined || record.open !== undefined || record.removal !== undefined) return false
    const { processes, files, dir } = this.#deps
    const key = JSON.stringify([
      record.current.id,
      record.onRemoval,
      drift,
      foreign,
      processes.main?.(this.#component),
      processes.reading(this.#component),
      this.#isObserved(),
      (await files.stat(keptFile(dir, this.#component)))?.modifiedMs,
    ])
    if (this.#last?.key === key) return false
    this.#last = { key, slot: record.current.id, plan: await this.#planned(record) }
    return true
  }

  /** If the removal was reported as harmless, and allowed on that basis, it restarts nothing. */
  async now(record: ComponentRecord | undefined): Promise<RemovalPlan> {
    const now = await this.#planned(record)
    return now.restarts && this.#last?.plan.restarts === false ? { how: 'Keep', restarts: false } : now
  }

  async #planned(record: ComponentRecord | undefined): Promise<RemovalPlan> {
    const spec = await this.#specInUse(record)
    if (record?.current === undefined || spec === undefined) return this.#unread(record)
    const { id: slot, version } = record.current
    const use = { component: this.#component, slot, version, spec }
    return observeRemoval(this.#deps, use, { wanted: record.onRemoval, isObserved: this.#isObserved() })
  }

  /** The version in use is unreadable; only the originals are known. */
  async #unread(record: ComponentRecord | undefined): Promise<RemovalPlan> {
    const keeps = this.#isObserved() || record?.onRemoval === 'Keep'
    const adopted = isAdopted(await readKept(this.#deps, this.#component))
    return { how: keeps ? 'Keep' : adopted ? 'Restore' : 'Uninstall', restarts: false }
  }

  #isObserved(): boolean {
    return this.#deps.isObserved?.() ?? false
  }
}
