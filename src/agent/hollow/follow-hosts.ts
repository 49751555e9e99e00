// Keeps a fleet in sync with the provider's folder: a new file starts a host, a deleted file ends it, and a changed boot id restarts it.
import { type FSWatcher, watch } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { hostsFolder, machineOfFile, readHost, rebootFile } from '#providers/hollow/hosts.ts'
import { type HollowParams, parseParams } from '#providers/hollow/params.ts'
import type { HollowFaults } from './faults.ts'
import type { HollowFleet } from './fleet.ts'

/** Kernel events may be lost when very many arrive at once. */
const POLL_ALL_MS = 10_000
/** Number of files read in parallel. */
const AT_ONCE = 32

interface Known {
  readonly bootId: string
  readonly params: HollowParams
}

export class HostFollower {
  readonly #dir: string
  readonly #known = new Map<string, Known>()
  readonly #dirty = new Set<string>()
  #working: Promise<void> | undefined

  constructor(dir: string) {
    this.#dir = dir
  }

  /** The faults that the hosts' parameters select. */
  get faults(): HollowFaults {
    const of = (machine: string) => this.#known.get(machine)?.params
    return {
      behavior: (machine, component, version) => {
        const key = `${component}@${version}`
        if (of(machine)?.crashes.has(key) === true) return 'Crashes'
        return of(machine)?.fails.has(key) === true ? 'ProbeFails' : 'Works'
      },
      stageMs: (machine) => of(machine)?.stageMs ?? 0,
      hasKubelet: (machine) => of(machine)?.hasKubelet === true,
      report: (machine, truth) => {
        const isLie = of(machine)?.lies.has(`${truth.name}@${truth.desired ?? ''}`) === true
        return isLie && truth.desired !== undefined ? { ...truth, version: truth.desired, state: 'Healthy' } : truth
      },
    }
  }

  /** Its provider restarts the host and writes a new boot id into the host's file. */
  async reboot(machine: string): Promise<void> {
    await writeFile(rebootFile(this.#dir, machine), '{}\n', { mode: 0o600 })
  }

  /** Runs until the signal aborts. */
  async run(fleet: HollowFleet, clock: Clock, log: Logger, signal: AbortSignal): Promise<void> {
    const folder = hostsFolder(this.#dir)
    const watcher: FSWatcher = watch(folder, (_, file) => {
      const machine = file === null ? undefined : machineOfFile(file)
      if (machine === undefined) return
      this.#dirty.add(machine)
      this.#working ??= this.#work(fleet, log).finally(() => (this.#working = undefined))
    })
    try {
      while (!signal.aborted) {
        const there = (await readdir(folder)).flatMap((file) => machineOfFile(file) ?? [])
        for (const machine of [...there, ...this.#known.keys()]) this.#dirty.add(machine)
        await (this.#working ??= this.#work(fleet, log).finally(() => (this.#working = undefined)))
        await clock.sleep(POLL_ALL_MS, signal).catch(() => undefined)
      }
    } finally {
      watcher.close()
    }
  }

  async #work(fleet: HollowFleet, log: Logger): Promise<void> {
    while (this.#dirty.size > 0) {
      const some = [...this.#dirty].slice(0, AT_ONCE)
      for (const machine of some) this.#dirty.delete(machine)
      await Promise.all(
        some.map((machine) =>
          this.#observe(fleet, machine).catch((error: unknown) =>
            log.warn('cannot follow the host', { machine, error: messageOf(error) }),
          ),
        ),
      )
    }
  }

  async #observe(fleet: HollowFleet, machine: string): Promise<void> {
    const host = await readHost(this.#dir, machine)
    const known = this.#known.get(machine)
    if (host === undefined) {
      this.#known.delete(machine)
      return known && fleet.remove(machine)
    }
    if (known?.bootId === host.bootId) return undefined
    const parsed = parseParams(host.params)
    if (parsed.kind === 'Refused') return undefined
    this.#known.set(machine, { bootId: host.bootId, params: parsed.params })
    const seen = { uid: host.machineUid }
    await (known === undefined ? fleet.add(machine, host.bootId, seen) : fleet.reboot(machine, host.bootId, seen))
    if (parsed.params.isSilent) fleet.node(machine)?.silence()
    return undefined
  }
}
