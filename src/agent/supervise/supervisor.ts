// Runs components on nodes without systemd: each in a process group of its own that outlives the agent. After a restart of the agent they are found
// again by pid and start time, or by the mark in their environment, and go on undisturbed.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import type { ProcessReading } from '../components/plan.ts'
import { removeDurably, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { componentsFolder, onNode, processFile, type NodeDir } from '../node-dir.ts'
import { Brake, LOOP_CRASHES, type BrakeLimits } from './brake.ts'
import { rotateLog } from './log-file.ts'
import type { Processes, Service, StartRequest } from './port.ts'
import { MARK, familyOf, mainOf, markText, processesOfNode } from './mark.ts'
import { isFrozenState, livingStat, readStat, send, type ProcessId } from './proc.ts'
import { userIds } from './user.ts'

export interface SupervisorOptions {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly log: Logger
  /** What was running in another boot has not crashed. */
  readonly bootId: string
  /** First in the PATH of components, so that scripts find the runtime that we run on. */
  readonly binFolder: string
  /** What components are told about their node. */
  readonly environment: Readonly<Record<string, string>>
  readonly lookEveryMs?: number
  /** Stopped by a signal for so long counts as frozen. */
  readonly frozenAfterMs?: number
  readonly graceMs?: number
  readonly crashBrake?: BrakeLimits
  /** How long a frozen component is left to repairs that keep evidence first, before we restart it ourselves. */
  readonly frozenGraceMs?: number
}

/** Ends of our own children are told at once; this is for frozen ones, and for those that an agent before us started. */
const LOOK_EVERY_MS = 1_000
const ROTATE_EVERY_MS = 10_000
const FROZEN_AFTER_MS = 2_000
const FROZEN_GRACE_MS = 60_000
const GRACE_MS = 10_000
/** After KILL the kernel needs a moment; a process that hangs in the kernel needs more than we have. */
const KILL_WAIT_MS = 5_000
const STOP_LOOK_MS = 25

interface Entry {
  readonly component: string
  readonly slot: string
  readonly id: ProcessId
  readonly restart: Service['restart']
  readonly killMode: Service['killMode']
  readonly startedAt: number
  readonly start: string
  reading: ProcessReading
  why: string | undefined
  stoppedSince: number | undefined
  frozenAt: number | undefined
  isStopping: boolean
  /** Started by this very process. */
  isOurChild: boolean
}

export class Supervisor implements Processes {
  readonly #o: SupervisorOptions
  readonly #entries = new Map<string, Entry>()
  readonly #brakes = new Map<string, Brake>()
  readonly #listeners = new Set<(component: string) => void>()
  #timer: { cancel(): void } | undefined
  #isClosed = false
  #rotateAt = 0

  constructor(options: SupervisorOptions) {
    this.#o = options
  }

  async adopt(): Promise<void> {
    const { files, dir, log, bootId, clock } = this.#o
    const components = await files.list(componentsFolder(dir))
    // Asking every process of the machine is dear, and on a new node there is nobody to find.
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
      // Its end in this boot was nobody's wish: the agent was away, not the node.
      if (!isAlive && process.bootId === bootId) this.#died(entry, null, null)
      log.info('component found', { component, pid: process.id.pid, running: isAlive })
    }
    for (const { mark, process } of marked) {
      const entry = this.#entries.get(mark.component)
      // Of a start that is over, and nothing of it was to live on.
      if (
        mark.killMode !== 'Group' ||
        (entry !== undefined && (entry.start === mark.start || entry.id.pid === process.pid))
      )
        continue
      if (entry === undefined && known.has(mark.component)) continue
      send(process.pid, 'SIGKILL')
      log.warn('stray process of a component killed', { component: mark.component, pid: process.pid })
    }
    this.#look()
  }

  /** Started right before a crash, so not written down. */
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
    const id = await this.#spawn(request, start)
    const { bootId } = this.#o
    const { restart, killMode } = service
    const process: KnownProcess = { id, slot, bootId, restart, killMode, start }
    this.#entries.set(component, { ...entryOf(component, process, this.#o.clock.monotonic()), isOurChild: true })
    await this.#write(component, process)
    this.#changed(component)
  }

  async #move(entry: Entry, slot: string): Promise<void> {
    const { component, id, restart, killMode, start } = entry
    this.#entries.set(component, { ...entry, slot })
    await this.#write(component, { id, slot, bootId: this.#o.bootId, restart, killMode, start })
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

  /** The process itself first, so that it can end what is its own in order; then what is left of its family. */
  async #end(entry: Entry): Promise<void> {
    const { clock, log, graceMs = GRACE_MS } = this.#o
    const { id, component, killMode, startedAt } = entry
    if (livingStat(id) !== undefined) {
      if (!(await this.#terminate([id], graceMs))) throw hangs(component, id.pid)
      log.info('component stopped', { component, pid: id.pid, afterMs: Math.round(clock.monotonic() - startedAt) })
    }
    const family = (): readonly ProcessId[] =>
      familyOf(processesOfNode(this.#o.dir.path), { component, group: id.pid, killMode })
    const left = family()
    if (left.length === 0) return
    log.info('processes of a component are left', { component, count: left.length })
    if (await this.#terminate(left, graceMs)) return
    const [first] = family()
    if (first !== undefined) throw hangs(component, first.pid)
  }

  /** TERM, patience, KILL. False when something is left even then. */
  async #terminate(processes: readonly ProcessId[], graceMs: number): Promise<boolean> {
    const all = (signal: NodeJS.Signals): void => {
      for (const p of processes) if (livingStat(p) !== undefined) send(p.pid, signal)
    }
    all('SIGTERM')
    // What is stopped by a signal cannot obey TERM before it is continued.
    all('SIGCONT')
    if (await this.#areGoneWithin(processes, graceMs)) return true
    all('SIGKILL')
    return this.#areGoneWithin(processes, KILL_WAIT_MS)
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
    const crashes = this.#brakes.get(component)?.crashes ?? 0
    const why = this.#entries.get(component)?.why
    return why !== undefined && crashes >= LOOP_CRASHES ? `${why}, for the ${crashes}. time` : why
  }

  brakeMs(component: string): number {
    const { clock, frozenGraceMs = FROZEN_GRACE_MS } = this.#o
    const entry = this.#entries.get(component)
    if (entry?.frozenAt !== undefined) return Math.max(0, entry.frozenAt + frozenGraceMs - clock.monotonic())
    return this.#brakes.get(component)?.waitMs(clock.monotonic()) ?? 0
  }

  onChange(listener: (component: string) => void): void {
    this.#listeners.add(listener)
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  async #spawn({ component, slot, service }: StartRequest, start: string): Promise<ProcessId> {
    const { dir, binFolder, environment, log } = this.#o
    if (service.exec === undefined)
      throw new KubeNodeError(
        'KN8032',
        `cannot start ${component}: its service names a systemd unit, and there is no systemd here`,
      )
    const user = userIds(component, service.user, dir.root)
    const logPath = join(dir.logs, `${component}.log`)
    mkdirSync(dirname(logPath), { recursive: true })
    const output = openSync(logPath, 'a', 0o640)
    try {
      const program = onNode(dir, service.exec)
      const child = spawn(existsSync(program) ? program : service.exec, [...(service.args ?? [])], {
        cwd: dir.root,
        detached: true,
        stdio: ['ignore', output, output],
        ...user,
        env: {
          PATH: `${binFolder}:/usr/local/bin:/usr/bin:/bin`,
          ...environment,
          ...service.env,
          KUBENODE_COMPONENT: component,
          KUBENODE_ROOT: dir.root,
          [MARK]: markText(dir.path, { component, slot, killMode: service.killMode, start }),
        },
      })
      const pid = await new Promise<number>((resolve, reject) => {
        child.once('error', reject)
        child.once('spawn', () => resolve(child.pid ?? 0))
      })
      child.unref()
      child.on('exit', (code, signal) => this.#ended(component, pid, code, signal))
      log.info('component started', { component, pid, slot })
      return { pid, startTime: readStat(pid)?.startTime ?? '' }
    } catch (e) {
      throw new KubeNodeError('KN8030', `cannot start ${component}: ${messageOf(e)}; see ${logPath}`, {
        retry: 'later',
        cause: e,
      })
    } finally {
      closeSync(output)
    }
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
    entry.why = endText(code, signal)
    if (!isExpected) this.#brakeOf(entry.component).crashed(now, now - entry.startedAt)
    this.#o.log.warn('component ended', {
      component: entry.component,
      pid: entry.id.pid,
      code,
      signal,
      reading: entry.reading,
    })
    this.#changed(entry.component)
  }

  #brakeOf(component: string): Brake {
    const brake = this.#brakes.get(component) ?? new Brake(this.#o.crashBrake)
    this.#brakes.set(component, brake)
    return brake
  }

  /** Sees what sends no event: processes that an agent before us started, and frozen ones. */
  #look(): void {
    if (this.#isClosed) return
    const { clock, frozenAfterMs = FROZEN_AFTER_MS, lookEveryMs = LOOK_EVERY_MS, log } = this.#o
    const now = clock.monotonic()
    for (const entry of this.#entries.values()) {
      if (entry.isStopping || (entry.reading !== 'Running' && entry.reading !== 'Frozen')) continue
      const stat = livingStat(entry.id)
      // A child of ours that ended tells how, in a moment; of others only the end is seen.
      if (stat === undefined && !entry.isOurChild) this.#died(entry, null, null)
      else if (stat === undefined) continue
      else if (isFrozenState(stat.state)) {
        entry.stoppedSince ??= now
        if (entry.reading === 'Running' && now - entry.stoppedSince >= frozenAfterMs) {
          entry.reading = 'Frozen'
          entry.frozenAt = now
          entry.why = 'stopped by a signal'
          log.warn('component frozen', { component: entry.component, pid: entry.id.pid })
          this.#changed(entry.component)
        }
      } else {
        entry.stoppedSince = undefined
        if (entry.reading !== 'Frozen') continue
        entry.reading = 'Running'
        entry.frozenAt = undefined
        entry.why = undefined
        this.#changed(entry.component)
      }
    }
    this.#rotateLogs(now)
    this.#timer = clock.after(lookEveryMs, () => this.#look())
  }

  #rotateLogs(now: number): void {
    if (now < this.#rotateAt) return
    this.#rotateAt = now + ROTATE_EVERY_MS
    for (const component of this.#entries.keys()) {
      const problem = rotateLog(join(this.#o.dir.logs, `${component}.log`))
      if (problem !== undefined) this.#o.log.warn('component log not rotated', { component, problem })
    }
  }

  async #areGoneWithin(processes: readonly ProcessId[], ms: number): Promise<boolean> {
    const { clock } = this.#o
    const until = clock.monotonic() + ms
    while (processes.some((p) => livingStat(p) !== undefined)) {
      if (clock.monotonic() >= until) return false
      await clock.sleep(STOP_LOOK_MS)
    }
    return true
  }

  async #write(component: string, process: KnownProcess): Promise<void> {
    await writeDurably(this.#o.files, processFile(this.#o.dir, component), JSON.stringify(process))
  }

  #changed(component: string): void {
    for (const listener of this.#listeners) listener(component)
  }
}

interface KnownProcess {
  readonly id: ProcessId
  readonly bootId: string
  readonly slot: string
  readonly restart: Service['restart']
  readonly killMode: Service['killMode']
  /** Names this start of it; empty when an older agent started it. */
  readonly start: string
}

function parseProcess(bytes: Buffer | undefined): KnownProcess | undefined {
  if (bytes === undefined) return undefined
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    const isGood =
      isObject(value) &&
      isObject(value['id']) &&
      Number.isSafeInteger(value['id']['pid']) &&
      Number(value['id']['pid']) > 1 &&
      typeof value['id']['startTime'] === 'string' &&
      typeof value['slot'] === 'string' &&
      typeof value['bootId'] === 'string'
    return isGood ? ({ start: '', ...value } as unknown as KnownProcess) : undefined
  } catch {
    // Written durably, so this is foreign: the mark in the environment finds the process if there is one.
    return undefined
  }
}

const entryOf = (component: string, process: KnownProcess, now: number): Entry => ({
  component,
  ...process,
  startedAt: now,
  reading: 'Running',
  why: undefined,
  stoppedSince: undefined,
  frozenAt: undefined,
  isStopping: false,
  isOurChild: false,
})

/** Both are null for a process that another agent had started: its end is seen, not how it ended. */
function endText(code: number | null, signal: string | null): string {
  if (signal !== null) return `ended by ${signal}`
  return code === null ? 'ended' : `exited with ${code}`
}

const hangs = (component: string, pid: number) =>
  new KubeNodeError(
    'KN8031',
    `cannot stop ${component}: process ${pid} hangs in the kernel; the node may need a reboot`,
    { retry: 'later' },
  )
