// What the machines of a simulation boot: each has a boot loader that boots one entry once, and its default otherwise. And what must hold of it.
import type { ComponentRecord } from '#agent/components/record.ts'
import type { OsPort } from '#agent/os/port.ts'
import { isAtRest } from '#agent/components/record.ts'

/** What machines boot, and what their agents do about it. */
export interface BootLoaders {
  port(machine: string): OsPort
  /** `panics`: what was armed does not come up, and the machine boots again by itself. */
  boot(machine: string, how: 'Shutdown' | 'PowerCut', panics: boolean): void
  /** Of machines that are up. */
  problem(records: ReadonlyMap<string, readonly ComponentRecord[]>): string | undefined
}

export const kernelOf = (version: string): string => `6.${version}`

interface Loader {
  running: string
  byDefault: string
  once: string | undefined
}

export interface KernelsOptions {
  readonly component: string
  /** The version that all machines run at the beginning. */
  readonly first: string
  /** A planted bug: a kernel is the default before it was healthy. */
  readonly armsForGood?: boolean | undefined
}

export class Kernels implements BootLoaders {
  readonly #o: KernelsOptions
  readonly #loaders = new Map<string, Loader>()

  constructor(o: KernelsOptions) {
    this.#o = o
  }

  get #first(): Loader {
    const kernel = kernelOf(this.#o.first)
    return { running: kernel, byDefault: kernel, once: undefined }
  }

  #of(machine: string): Loader {
    const loader = this.#loaders.get(machine) ?? this.#first
    this.#loaders.set(machine, loader)
    return loader
  }

  boot(machine: string, _how: 'Shutdown' | 'PowerCut', panics: boolean): void {
    const loader = this.#of(machine)
    const { once, byDefault } = loader
    loader.running = panics ? byDefault : (once ?? byDefault)
    loader.once = undefined
  }

  port(machine: string): OsPort {
    const loader = this.#of(machine)
    return {
      refusal: () => Promise.resolve(undefined),
      stage: () => Promise.resolve(),
      byDefault: () => Promise.resolve(loader.byDefault),
      arm: ({ spec }) => {
        const kernel = spec.os?.kernel ?? ''
        if (this.#o.armsForGood === true) loader.byDefault = kernel
        else loader.once = kernel
        return Promise.resolve()
      },
      putOnTrial: () => Promise.resolve(),
      disarm: (before) => {
        loader.once = undefined
        if (before !== undefined) loader.byDefault = before
        return Promise.resolve()
      },
      confirm: () => {
        loader.byDefault = loader.running
        loader.once = undefined
        return Promise.resolve()
      },
      mismatch: ({ spec }) => {
        const kernel = spec.os?.kernel ?? ''
        return Promise.resolve(
          loader.running === kernel
            ? undefined
            : { what: `Linux ${loader.running} runs, not ${kernel}`, booted: 'Other' },
        )
      },
      tidy: () => Promise.resolve(),
    }
  }

  /** What boots after a power cut is what the agent keeps, at any moment. */
  problem(records: ReadonlyMap<string, readonly ComponentRecord[]>): string | undefined {
    for (const [machine, all] of records) {
      const record = all.find((r) => r.component === this.#o.component)
      const loader = this.#of(machine)
      if (record === undefined) continue
      const { state } = record
      const [kept, next] = keptBy(record, this.#o.first).map(kernelOf)
      if (loader.byDefault !== kept && loader.byDefault !== next)
        return `${machine}: ${loader.byDefault} boots by default, and ${kept} is kept (${state})`
      if (isAtRest(record) && loader.once !== undefined) return `${machine}: ${loader.once} boots next (${state})`
      if (state === 'Healthy' && loader.running !== kept) return `${machine}: ${loader.running} runs, not ${kept}`
    }
    return undefined
  }
}

/** The version that a machine keeps, and the one that it may keep already: it is committed right after it is confirmed. */
export function keptBy({ current, open }: ComponentRecord, first: string): readonly [string, string] {
  const kept = (open === undefined ? current : open.from)?.version ?? first
  return [kept, open?.phase === 'Probing' ? open.to.version : kept]
}
