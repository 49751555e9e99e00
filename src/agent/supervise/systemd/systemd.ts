// Runs components as units of the host's systemd, which keeps them running without an agent. A foreign unit gets only a drop-in. A running one that
// equals the declaration is adopted without a restart. No other unit is ever touched.
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { componentsOnDisk } from '../../components/on-disk.ts'
import type { ProcessReading } from '../../components/seen.ts'
import { readState, removeDurably, writeDurably } from '../../files/durable.ts'
import type { Files } from '../../files/port.ts'
import { enabledFile, processFile, type NodeDir } from '../../node-dir.ts'
import type { KeptProcess, KeptUnit } from '../../components/kept.ts'
import type { LogPlace, Processes, Release, Service, StartRequest } from '../port.ts'
import { endOfUnit, type ProcessEnd } from '../process-end.ts'
import { isFrozenState, type ProcessId } from '../proc.ts'
import { Restraint, type RestraintLimits } from '../restraint.ts'
import { newSight, noteStopped, type Sight } from '../sight.ts'
import { kernelHere, type Kernel } from './kernel.ts'
import { unitReading } from './reading.ts'
import type { Systemctl, UnitState } from './systemctl.ts'
import { ownUnitName, unitName } from './unit.ts'
import { UnitFiles, type OwnUnit } from './unit-files.ts'
import { agentErrors } from '../../agent-errors.ts'
import { AGENT_UNIT } from '../../leave/leave-host.ts'
import { AGENT_COMPONENT } from '../../self/switch-file.ts'

export interface SystemdOptions extends RestraintLimits {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly log: Logger
  readonly systemctl: Systemctl
  readonly environment: Readonly<Record<string, string>>
  /** Reports the processes that systemd names. Default: the kernel of this host. */
  readonly kernel?: Kernel
  readonly pollEveryMs?: number
  /** What an earlier instance saw on the same host. Default: nothing. */
  readonly past?: UnitsPast
  readonly frozenAfterMs?: number
}

/** What outlives a Systemd, where one is made for each round: otherwise each round would take an old restart for a new crash. */
export class UnitsPast {
  readonly restarts = new Map<string, { readonly unit: string; readonly count: number }>()
  readonly restraint: Restraint

  constructor(limits: RestraintLimits = {}) {
    this.restraint = new Restraint(limits)
  }
}

const POLL_MS = 500
/** How often systemd is queried about everything, to find changes that /proc does not show. */
const ASK_EVERY_MS = 60_000

interface Entry extends Sight, OwnUnit {
  readonly component: string
  readonly slot: string
  readonly restart: Service['restart']
  main: ProcessId | undefined
  restarts: number
  startedAt: number
  isBusy: boolean
}

/** The state on the disk. */
interface Known extends OwnUnit {
  readonly slot: string
  readonly restart: Service['restart']
}

export class Systemd implements Processes {
  readonly #o: SystemdOptions
  readonly #entries = new Map<string, Entry>()
  readonly #past: UnitsPast
  readonly #restraint: Restraint
  readonly #kernel: Kernel
  readonly #unitFiles: UnitFiles
  readonly #listeners = new Set<(component: string) => void>()
  #timer: { cancel(): void } | undefined
  #isClosed = false
  #askAt = 0

  constructor(options: SystemdOptions) {
    this.#o = options
    this.#past = options.past ?? new UnitsPast(options)
    this.#restraint = this.#past.restraint
    this.#kernel = options.kernel ?? kernelHere()
    this.#unitFiles = new UnitFiles(options)
  }

  async adopt(): Promise<void> {
    const { files, dir, log } = this.#o
    for (const component of await componentsOnDisk({ files, dir })) {
      const known = await readState(files, processFile(dir, component), parseKnown)
      if (known === undefined) continue
      const entry = entryOf(component, known, this.#o.clock.monotonic())
      const before = this.#past.restarts.get(component)
      if (before?.unit === entry.unit) entry.restarts = before.count
      this.#entries.set(component, entry)
    }
    await this.#ask([...this.#entries.values()])
    for (const { component, unit, reading } of this.#entries.values())
      log.info('component found', { component, unit, reading })
    this.#askAt = this.#o.clock.monotonic() + ASK_EVERY_MS
    this.#pollLater()
  }

  async start({ component, slot, service, keep = false, notThis }: StartRequest): Promise<void> {
    const unit = unitName(component, service)
    const old = this.#entries.get(component)
    if (old !== undefined && old.unit !== unit) await this.forget(component, undefined)
    const ours = await this.#unitFiles.write({ component, service }, unit, old)
    const state = await this.#unitFiles.state(unit)
    const isUp = state.active === 'active' && (state.mainPid === 0 || this.#statOf(state) !== undefined)
    const isReplaced = notThis !== undefined && this.#isSame(notThis, state)
    if (isUp && !isReplaced && (old?.unit === unit ? keep || old.slot === slot : this.#isDeclared(state, service))) {
      if (old === undefined) this.#o.log.info('adopted the running unit unchanged', { component, unit })
    } else await this.#bringUp(component, state, ours)
    await this.#remember(component, { unit, slot, restart: service.restart, ours })
  }

  async #bringUp(component: string, { unit, load, file }: UnitState, ours: boolean): Promise<void> {
    const { systemctl, log, files, dir } = this.#o
    if (load === 'masked') throw new KubeNodeError(agentErrors.KN8055({ component, unit }), { retry: 'later' })
    if (load !== 'loaded')
      throw new KubeNodeError(agentErrors.KN8032_unit({ component, unit, load: load || 'nothing' }), { retry: 'later' })
    const entry = this.#entries.get(component)
    if (entry !== undefined) entry.isBusy = true
    try {
      // A unit that the component installs is a link to its slot; systemd calls that linked.
      if (file === 'disabled' || file === 'linked') {
        if (!ours) await writeDurably(files, enabledFile(dir, component), JSON.stringify({ unit }))
        await systemctl.run('enable', '--', unit)
      }
      await this.#unitFiles.anchor(component, unit)
      await this.#restart(unit)
      log.info('component started', { component, unit })
    } finally {
      if (entry !== undefined) entry.isBusy = false
    }
  }

  /** Earlier starts do not count, also of a unit that has not failed: systemd would refuse a good version because of those that crashed before it. */
  async #restart(unit: string): Promise<void> {
    const { systemctl } = this.#o
    // Refused for a unit that is not in memory, which has no starts either.
    await systemctl.run('reset-failed', '--', unit).catch(() => undefined)
    await systemctl.run('restart', '--', unit)
  }

  async #remember(component: string, known: Known): Promise<void> {
    const { files, dir, clock } = this.#o
    const entry = entryOf(component, known, clock.monotonic())
    this.#entries.set(component, entry)
    const state = await this.#unitFiles.state(known.unit)
    entry.restarts = state.restarts
    this.#take(entry, state)
    await writeDurably(files, processFile(dir, component), JSON.stringify(known))
    this.#changed(component)
  }

  async stop(component: string): Promise<void> {
    const { systemctl, files, dir, log } = this.#o
    const entry = this.#entries.get(component)
    if (entry === undefined) return
    entry.isBusy = true
    try {
      await systemctl.run('stop', '--', entry.unit)
    } finally {
      entry.isBusy = false
    }
    log.info('component stopped', { component, unit: entry.unit })
    this.#entries.delete(component)
    // The caller's next start keeps its unit, or `forget` removes it.
    await removeDurably(files, processFile(dir, component))
    this.#changed(component)
  }

  async forget(component: string, service: Service | undefined): Promise<void> {
    const unit =
      this.#entries.get(component)?.unit ?? (service === undefined ? undefined : unitName(component, service))
    await this.stop(component)
    if (unit !== undefined) await this.#unitFiles.remove(component, unit)
  }

  async standing(component: string, service: Service): Promise<KeptUnit | undefined> {
    const unit = unitName(component, service)
    const state = await this.#unitFiles.state(unit)
    if (state.load !== 'loaded' || (await this.#unitFiles.isOwn(component, unit))) return undefined
    const main = this.#statOf(state)
    return {
      unit,
      active: state.active,
      file: state.file,
      ...(main !== undefined && { main: { pid: main.pid, startTime: main.startTime, bootId: this.#kernel.bootId() } }),
      isDeclared: main !== undefined && this.#isDeclared(state, service),
    }
  }

  async isMain(component: string, { unit, main }: KeptUnit): Promise<boolean> {
    const now = this.#entries.get(component)?.unit ?? unit
    return main !== undefined && this.#isSame(main, await this.#unitFiles.state(now))
  }

  #isSame({ pid, startTime, bootId }: KeptProcess, state: UnitState): boolean {
    return state.mainPid === pid && this.#statOf(state)?.startTime === startTime && this.#kernel.bootId() === bootId
  }

  dropIns(component: string, service: Service): Promise<readonly string[]> {
    return this.#unitFiles.dropIns(unitName(component, service))
  }

  async release(component: string, service: Service, release: Release): Promise<void> {
    const { files, dir, log } = this.#o
    const unit = unitName(component, service)
    const entry = this.#entries.get(component)
    if (entry !== undefined) entry.isBusy = true
    if (release.kind === 'Keep') await this.#unitFiles.disown(component, unit)
    else await this.#restore(component, unit, release)
    this.#entries.delete(component)
    for (const path of [processFile(dir, component), enabledFile(dir, component)]) await removeDurably(files, path)
    log.info('component released', { component, unit, how: release.kind })
  }

  /** Its files are already restored. If a unit was enabled and no longer is, a user disabled it: the agent never does that. */
  async #restore(component: string, unit: string, release: Release & { kind: 'Restore' }): Promise<void> {
    const { systemctl, files, dir } = this.#o
    const { unit: kept, restarts, isUndo = false } = release
    const isKnown = this.#entries.has(component)
    await this.#unitFiles.remove(component, unit)
    await systemctl.run('daemon-reload')
    const { load, file, active, path } = await this.#unitFiles.state(unit)
    const leave = (why: string): void => this.#o.log.warn('the unit stays as it is', { component, unit, why })
    if (load === 'masked') return leave('it was masked on the node')
    if (load !== 'loaded') return leave('the host has no such unit any more')
    await this.#unitFiles.lead(component, unit, path)
    const wasEnabledHere = (await files.stat(enabledFile(dir, component))) !== undefined
    if (kept.file === 'disabled' && file === 'enabled' && wasEnabledHere) await systemctl.run('disable', '--', unit)
    if (kept.file === 'enabled' && file === 'disabled') leave('it was disabled on the node')
    if (kept.active !== 'active') {
      if (active === 'active') await systemctl.run('stop', '--', unit)
    } else if (active === 'inactive' && isKnown && !isUndo) leave('it was stopped on the node')
    else if (active !== 'active' || restarts) await this.#restart(unit)
  }

  signal(component: string, signal: 'SIGHUP' | 'SIGUSR1' | 'SIGUSR2'): void {
    const { systemctl, log } = this.#o
    const unit = this.#entries.get(component)?.unit
    if (unit === undefined) return
    systemctl
      .run('kill', '--kill-who=main', '-s', signal, '--', unit)
      .catch((error: unknown) => log.warn('cannot send the signal', { component, signal, error }))
  }

  async drift(request: StartRequest): Promise<string | undefined> {
    const entry = this.#entries.get(request.component)
    return entry === undefined ? undefined : this.#unitFiles.drift(request, entry)
  }

  async mend(request: StartRequest): Promise<void> {
    const entry = this.#entries.get(request.component)
    if (entry !== undefined) await this.#unitFiles.mend(request, entry)
  }

  async additions(component: string): Promise<readonly string[]> {
    const entry = this.#entries.get(component)
    return entry === undefined ? [] : this.#unitFiles.additions(entry)
  }

  unitFile(component: string): string | undefined {
    const entry = this.#entries.get(component)
    return entry === undefined ? undefined : this.#unitFiles.pathOf(entry)
  }

  main(component: string): number | undefined {
    return this.#entries.get(component)?.main?.pid
  }

  reading(component: string): ProcessReading {
    return this.#entries.get(component)?.reading ?? 'Stopped'
  }

  describe(component: string): string | undefined {
    return this.#entries.get(component)?.why
  }

  end(component: string): ProcessEnd | undefined {
    return this.#entries.get(component)?.end
  }

  async lastOutput(component: string): Promise<string> {
    const unit = this.#entries.get(component)?.unit
    if (unit === undefined) return ''
    return (await this.#kernel.output(unit)) ?? ''
  }

  logPlace(component: string): LogPlace {
    if (component === AGENT_COMPONENT) return { kind: 'Journal', unit: AGENT_UNIT }
    // A stopped component still has its unit's log.
    return { kind: 'Journal', unit: this.#entries.get(component)?.unit ?? ownUnitName(component) }
  }

  brakeMs(component: string): number {
    return this.#restraint.waitMs(component, this.#entries.get(component), this.#o.clock.monotonic())
  }

  onChange(listener: (component: string) => void): void {
    this.#listeners.add(listener)
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#kernel.keepOnly([])
  }

  #statOf({ mainPid }: UnitState): ProcessId | undefined {
    return this.#kernel.process(mainPid)
  }

  /** Whether the running process is the declared one: same program, same arguments. */
  #isDeclared({ mainPid }: UnitState, { exec, args }: Service): boolean {
    if (exec === undefined) return true
    return JSON.stringify(this.#kernel.arguments(mainPid)) === JSON.stringify([exec, ...(args ?? [])])
  }

  async #ask(entries: readonly Entry[]): Promise<void> {
    if (entries.length === 0) return
    const states = await this.#o.systemctl.show(entries.map((e) => e.unit))
    for (const [n, entry] of entries.entries()) {
      const state = states[n]
      if (state !== undefined && !entry.isBusy) this.#take(entry, state)
    }
  }

  #take(entry: Entry, state: UnitState): void {
    const { clock, log } = this.#o
    const before = entry.reading
    const { reading, why } = unitReading(state, entry.restart, entry.restarts)
    entry.restarts = Math.max(entry.restarts, state.restarts)
    this.#past.restarts.set(entry.component, { unit: entry.unit, count: state.restarts })
    entry.main = this.#statOf(state)
    entry.reading = entry.frozenAt !== undefined && reading === 'Running' ? 'Frozen' : reading
    entry.why = why
    if (entry.frozenAt === undefined) entry.end = endAfter(entry.end, reading, state)
    if (reading === before) return
    if (reading === 'Crashed') {
      const now = clock.monotonic()
      this.#restraint.crashed(entry.component, now, now - entry.startedAt)
      entry.startedAt = now
    }
    if (reading !== 'Running')
      log.warn('component ended', { component: entry.component, unit: entry.unit, reading, why })
    this.#changed(entry.component)
  }

  #pollLater(): void {
    if (this.#isClosed) return
    this.#timer = this.#o.clock.after(this.#o.pollEveryMs ?? POLL_MS, () => {
      this.#poll()
        .catch((error: unknown) => this.#o.log.warn('cannot read the units', { error }))
        .finally(() => this.#pollLater())
    })
  }

  /** /proc is cheap and shows whether a query is needed. */
  async #poll(): Promise<void> {
    const now = this.#o.clock.monotonic()
    const isDue = now >= this.#askAt
    if (isDue) this.#askAt = now + ASK_EVERY_MS
    const mains: ProcessId[] = []
    const unclear = [...this.#entries.values()].filter((entry) => {
      if (entry.main !== undefined) mains.push(entry.main)
      if (entry.isBusy) return false
      const state = entry.main === undefined ? undefined : this.#kernel.state(entry.main)
      const isFrozen = state !== undefined && isFrozenState(state)
      if (state !== undefined && noteStopped(entry, isFrozen, { now, afterMs: this.#o.frozenAfterMs }))
        this.#changed(entry.component)
      // Units that have ended for good are queried together with the others.
      return isDue || (state === undefined && entry.reading !== 'Ended') || entry.reading === 'Crashed'
    })
    this.#kernel.keepOnly(mains)
    await this.#ask(unclear)
  }

  #changed(component: string): void {
    for (const listener of this.#listeners) listener(component)
  }
}

/** After a restart, systemd no longer reports how the process ended: keep the previous reading. */
function endAfter(before: ProcessEnd | undefined, reading: ProcessReading, state: UnitState): ProcessEnd | undefined {
  if (reading !== 'Crashed' && reading !== 'Ended') return undefined
  return before?.isEvidence === true ? before : endOfUnit(state)
}

const parseKnown = (v: unknown): Known | undefined =>
  isObject(v) &&
  typeof v['unit'] === 'string' &&
  typeof v['slot'] === 'string' &&
  typeof v['restart'] === 'string' &&
  typeof v['ours'] === 'boolean'
    ? (v as unknown as Known)
    : undefined

const entryOf = (component: string, known: Known, now: number): Entry => ({
  component,
  ...known,
  ...newSight(),
  main: undefined,
  restarts: 0,
  startedAt: now,
  isBusy: false,
})
