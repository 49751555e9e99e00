// Runs components on nodes without systemd: each in its own process group that outlives the agent. After an agent restart it finds them again by pid and
// start time, or by the mark in their environment, and they keep running.
import { randomUUID } from 'node:crypto'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { ProcessReading } from '../components/seen.ts'
import { removeDurably, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { componentsFolder, processFile } from '../node-dir.ts'
import { LOOP_CRASHES } from './brake.ts'
import { EACH_TICK_MS } from '../shared-tick.ts'
import { AGENT_COMPONENT } from '../self/switch-file.ts'
import { GRACE_MS, hangs, terminate } from './ending.ts'
import { launch, type LaunchPlace } from './launch.ts'
import { logFile, logSize, readLogEnd, rotateLog } from './log-file.ts'
import { familyOf, mainOf, processesOfNode } from './mark.ts'
import type { LogPlace, Processes, Service, StartRequest } from './port.ts'
import { isFrozenState, livingStat, send, type ProcessId } from './proc.ts'
import { endOfProcess, type ProcessEnd } from './process-end.ts'
import { parseProcess, type KnownProcess } from './process-file.ts'
import { ProcessStates } from './process-states.ts'
import { Restraint, type RestraintLimits } from './restraint.ts'
import { newSight, noteStopped, type Sight } from './sight.ts'

export interface SupervisorOptions extends LaunchPlace, RestraintLimits {
  readonly files: Files
  readonly clock: Clock
  readonly log: Logger
  /** A process from a previous boot did not crash. */
  readonly bootId: string
  readonly pollEveryMs?: number
  /** Stopped by a signal for this long counts as frozen. */
  readonly frozenAfterMs?: number
  readonly graceMs?: number
}

/** Exits of child processes are reported immediately; polling finds frozen ones, and those that a previous agent started. */
const POLL_MS = EACH_TICK_MS
const ROTATE_EVERY_MS = 10_000
const FLOOD_EVERY_MS = 1_000

interface Entry extends Sight {
  readonly component: string
  readonly slot: string
  readonly id: ProcessId
  readonly restart: Service['restart']
  readonly killMode: Service['killMode']
  readonly startedAt: number
  readonly start: string
  /** Size of its log before it was started. */
  readonly logFrom: number
  isStopping: boolean
  /** Started by this agent process. */
  isOurChild: boolean
}

export class Supervisor implements Processes {
  readonly #o: SupervisorOptions
  readonly #entries = new Map<string, Entry>()
  readonly #restraint: Restraint
  readonly #states = new ProcessStates()
  readonly #listeners = new Set<(component: string) => void>()
  #timer: { cancel(): void } | undefined
  #isClosed = false
  #rotateAt = 0

  constructor(options: SupervisorOptions) {
    this.#o = options
    this.#restraint = new Restraint(options)
  }

  async adopt(): Promise<void> {
    const { files, dir, log, bootId, clock } = this.#o
    const components = await files.list(componentsFolder(dir))
    // Reading every process of the machine is expensive, and a new node has none to find.
    const marked = components.length === 0 ? [] : processesOfNode(dir.path)
    const known = new Set<string>()
    for (const component of components) {
      known.add(component)
      const process =
        parseProcess(await files.read(processFile(dir, component))) ?? (await this.#unwritten(component, marked))
      if (process === undefined) continue
      const isAlive = livingStat(process.id) !== undefined
      const entry = entryOf(component, process, clock.monotonic())
      this.#entries.set(component, entry)
      if (!isAlive) entry.reading = 'Stopped'
      // It ended in this boot without a request: the agent was stopped, not the node.
      if (!isAlive && process.bootId === bootId) this.#died(entry, null, null)
      log.info('component found', { component, pid: process.id.pid, running: isAlive })
    }
    for (const { mark, process } of marked) {
      const entry = this.#entries.get(mark.component)
      // A leftover from an earlier start, not meant to survive.
      if (
        mark.killMode !== 'Group' ||
        (entry !== undefined && (entry.start === mark.start || entry.id.pid === process.pid))
      )
        continue
      if (entry === undefined && known.has(mark.component)) continue
      send(process.pid, 'SIGKILL')
      log.warn('killed a stray process of a component', { component: mark.component, pid: process.pid })
    }
    this.#poll()
  }

  /** Started right before a crash, so there is no record. */
  async #unwritten(component: string, marked: ReturnType<typeof processesOfNode>): Promise<KnownProcess | undefined> {
    const main = mainOf(marked, component)
    if (main === undefined) return undefined
    const { mark, process } = main
    const found: KnownProcess = {
      id: { pid: process.pid, startTime: process.startTime },
      slot: mark.slot,
      bootId: this.#o.bootId,
      restart: 'Always',
      killMode: mark.killMode,
      start: mark.start,
    }
    await this.#write(component, found)
    return found
  }

  async start(request: StartRequest): Promise<void> {
    const { component, slot, service, keep = false } = request
    const old = this.#entries.get(component)
    if (old !== undefined && old.slot === slot && old.reading === 'Running' && livingStat(old.id) !== undefined) return
    if (keep && old?.reading === 'Running' && livingStat(old.id) !== undefined) return this.#move(old, slot)
    if (old !== undefined) await this.stop(component)
    const start = randomUUID()
    const logFrom = logSize(logFile(this.#o.dir, component))
    const id = await launch(request, start, this.#o, (pid, code, signal) => this.#ended(component, pid, code, signal))
    this.#o.log.info('component started', { component, pid: id.pid, slot })
    const { bootId } = this.#o
    const { restart, killMode } = service
    const process: KnownProcess = { id, slot, bootId, restart, killMode, start }
    this.#entries.set(component, {
      ...entryOf(component, process, this.#o.clock.monotonic()),
      isOurChild: true,
      logFrom,
    })
    await this.#write(component, process)
    this.#changed(component)
  }

  async #move(entry: Entry, slot: string): Promise<void> {
    const { component, id, restart, killMode, start } = entry
    this.#entries.set(component, { ...entry, slot })
    await this.#write(component, { id, slot, bootId: this.#o.bootId, restart, killMode, start })
  }

  /** The process keeps running; nothing supervises it from now on. */
  async release(component: string): Promise<void> {
    const { files, dir } = this.#o
    this.#entries.delete(component)
    await removeDurably(files, processFile(dir, component))
  }

  async stop(component: string): Promise<void> {
    const { files, dir } = this.#o
    const entry = this.#entries.get(component)
    if (entry === undefined) return
    entry.isStopping = true
    try {
      await this.#end(entry)
    } catch (e) {
      entry.isStopping = false
      throw e
    }
    this.#entries.delete(component)
    await removeDurably(files, processFile(dir, component))
    this.#changed(component)
  }

  /** Ends the process itself first, so that it can end its children cleanly; then the rest of its group. */
  async #end(entry: Entry): Promise<void> {
    const { clock, log, graceMs = GRACE_MS } = this.#o
    const { id, component, killMode, startedAt } = entry
    if (livingStat(id) !== undefined) {
      if (!(await terminate(clock, [id], graceMs))) throw hangs(component, id.pid)
      log.info('component stopped', { component, pid: id.pid, afterMs: Math.round(clock.monotonic() - startedAt) })
    }
    const family = (): readonly ProcessId[] =>
      familyOf(processesOfNode(this.#o.dir.path), { component, group: id.pid, killMode })
    const left = family()
    if (left.length === 0) return
    log.info('component stopped, but some of its processes are still running', { component, count: left.length })
    if (await terminate(clock, left, graceMs)) return
    const [first] = family()
    if (first !== undefined) throw hangs(component, first.pid)
  }

  signal(component: string, signal: 'SIGHUP' | 'SIGUSR1' | 'SIGUSR2'): void {
    const entry = this.#entries.get(component)
    if (entry !== undefined && livingStat(entry.id) !== undefined) send(entry.id.pid, signal)
  }

  main(component: string): number | undefined {
    return this.#entries.get(component)?.id.pid
  }

  reading(component: string): ProcessReading {
    return this.#entries.get(component)?.reading ?? 'Stopped'
  }

  describe(component: string): string | undefined {
    const crashes = this.#restraint.crashes(component)
    const why = this.#entries.get(component)?.why
    return why !== undefined && crashes >= LOOP_CRASHES ? `${why} (${crashes} times in a row)` : why
  }

  end(component: string): ProcessEnd | undefined {
    return this.#entries.get(component)?.end
  }

  async lastOutput(component: string): Promise<string> {
    return readLogEnd(logFile(this.#o.dir, component), this.#entries.get(component)?.logFrom ?? 0)
  }

  logPlace(component: string): LogPlace {
    // The provider starts the agent, and uses a shorter name for it.
    return { kind: 'File', path: logFile(this.#o.dir, component === AGENT_COMPONENT ? 'agent' : component) }
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
    this.#states.keepOnly([])
  }

  #ended(component: string, pid: number, code: number | null, signal: string | null): void {
    const entry = this.#entries.get(component)
    if (entry?.id.pid === pid && !entry.isStopping) this.#died(entry, code, signal)
  }

  #died(entry: Entry, code: number | null, signal: string | null): void {
    if (entry.reading === 'Crashed' || entry.reading === 'Ended') return
    const now = this.#o.clock.monotonic()
    const isExpected = entry.restart === 'Never' || (entry.restart === 'OnFailure' && code === 0)
    entry.reading = isExpected ? 'Ended' : 'Crashed'
    entry.frozenAt = undefined
    entry.end = endOfProcess(code, signal)
    entry.why = entry.end.how
    if (!isExpected) this.#restraint.crashed(entry.component, now, now - entry.startedAt)
    this.#o.log.warn('component ended', {
      component: entry.component,
      pid: entry.id.pid,
      code,
      signal,
      reading: entry.reading,
    })
    this.#changed(entry.component)
  }

  /** Finds what causes no event: ends of processes that a previous agent started, and frozen processes. */
  #poll(): void {
    if (this.#isClosed) return
    const { clock, frozenAfterMs, pollEveryMs = POLL_MS, log } = this.#o
    const now = clock.monotonic()
    const observed: ProcessId[] = []
    for (const entry of this.#entries.values()) {
      if (entry.isStopping || (entry.reading !== 'Running' && entry.reading !== 'Frozen')) continue
      observed.push(entry.id)
      const state = this.#states.state(entry.id)
      if (state === undefined) {
        // The exit event of a child process arrives shortly and shows how it ended; for other processes only the end is visible.
        if (!entry.isOurChild) this.#died(entry, null, null)
      } else if (noteStopped(entry, isFrozenState(state), { now, afterMs: frozenAfterMs })) {
        if (entry.reading === 'Frozen') log.warn('component frozen', { component: entry.component, pid: entry.id.pid })
        this.#changed(entry.component)
      }
    }
    this.#states.keepOnly(observed)
    this.#rotateLogs(now)
    this.#timer = clock.after(pollEveryMs, () => this.#poll())
  }

  #rotateLogs(now: number): void {
    if (now < this.#rotateAt) return
    this.#rotateAt = now + ROTATE_EVERY_MS
    for (const component of this.#entries.keys()) {
      const { problem, isFlood } = rotateLog(logFile(this.#o.dir, component))
      if (isFlood) this.#rotateAt = now + FLOOD_EVERY_MS
      if (problem !== undefined) this.#o.log.warn('cannot rotate the component log', { component, problem })
    }
  }

  async #write(component: string, process: KnownProcess): Promise<void> {
    await writeDurably(this.#o.files, processFile(this.#o.dir, component), JSON.stringify(process))
  }

  #changed(component: string): void {
    for (const listener of this.#listeners) listener(component)
  }
}

const entryOf = (component: string, process: KnownProcess, now: number): Entry => ({
  component,
  ...process,
  ...newSight(),
  startedAt: now,
  logFrom: 0,
  isStopping: false,
  isOurChild: false,
})
