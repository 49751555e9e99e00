// All monitors of a node: loads their files, reloads them when they change, saves the read positions of their logs, and reports unusable parts as a node condition.
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { DETECTION_INCOMPLETE } from '#api/node-conditions.ts'
import type { MonitorEntry } from '#api/agent-config/detect-config.ts'
import {
  parseMonitor,
  type MonitorConfig,
  type PluginRule,
  type StatsMonitorConfig,
} from '#api/agent-config/monitor-config.ts'
import type { OperationName } from '#api/kinds/operations.ts'
import { readState, writeDurably } from '../../files/durable.ts'
import type { Files } from '../../files/port.ts'
import { Saver } from '../../files/saver.ts'
import { onNode, positionsFile, type NodeDir } from '../../node-dir.ts'
import type { ProblemBoard } from '../problem-board.ts'
import type { Finding } from '../problems.ts'
import { JournalHub } from './journal-hub.ts'
import type { PluginResult } from './judge.ts'
import { parsePosition, type Position } from './log-feed.ts'
import { fileChange, isSameText, readMonitorText, type MonitorText } from './monitor-file.ts'
import type { ConditionStore, MonitorPort } from './monitor-port.ts'
import type { ProblemMetrics } from './problem-metrics.ts'
import { foundPath, logMonitor, pluginMonitor, type MonitorPlace, type RunningMonitor } from './running-monitor.ts'

export interface MonitorsDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly log: Logger
  readonly bootId: string
  readonly environment: Readonly<Record<string, string>>
  readonly entries: readonly MonitorEntry[]
  readonly metrics: ProblemMetrics
  readonly onEvent: MonitorPort['onEvent']
  readonly board: Pick<ProblemBoard, 'open' | 'withdraw' | 'problem'>
}

/** One entry of the configuration, and what runs for it. */
interface Slot {
  readonly entry: MonitorEntry
  readonly name: string
  /** Source name of its conditions, different from that of every other entry. */
  readonly source: string
  /** The file's content when it was last read. */
  found: MonitorText | undefined
  conditions: ConditionStore | undefined
  running: RunningMonitor | undefined
  stats: StatsMonitorConfig | undefined
}

const SAVE_EVERY_MS = 5_000
/** Save soon after an event, so that the next agent does not report it again. */
const SAVE_SOON_MS = 100
/** A component may add or replace a file after the agent started. Each poll is a few small reads. */
const POLL_FILES_MS = 10_000
export const MAX_MESSAGE = 200
const OWN_SOURCE = 'monitors'

export class Monitors {
  readonly #deps: MonitorsDeps
  readonly #slots: readonly Slot[]
  readonly #journals = new Map<string, JournalHub>()
  readonly #problems = new Map<string, readonly string[]>()
  readonly #saver: Saver
  #own: ConditionStore | undefined
  #timer: { cancel(): void } | undefined
  #hasStarted = false
  #isClosed = false
  /** Kernel log records that were overwritten before they were read. */
  lostRecords = 0

  constructor(deps: MonitorsDeps) {
    this.#deps = deps
    const { clock, log, entries } = deps
    this.#slots = entries.map((entry, n) => slotOf(entry, n, entries))
    this.#saver = new Saver({
      clock,
      log,
      failure: 'cannot save the log positions',
      everyMs: SAVE_EVERY_MS,
      state: () => this.#positions(),
    })
  }

  get stats(): readonly StatsMonitorConfig[] {
    return this.#slots.flatMap((s) => s.stats ?? [])
  }

  /** Whether this source is a monitor. Monitors report changes of their conditions themselves. */
  reports(source: string): boolean {
    return this.#slots.some((s) => s.source === source && s.running !== undefined)
  }

  /** Unusable parts, by file name. */
  get problems(): ReadonlyMap<string, readonly string[]> {
    return this.#problems
  }

  async start(): Promise<void> {
    const { files, dir, board, entries } = this.#deps
    this.#own = board.open(OWN_SOURCE, { owns: (type) => type === DETECTION_INCOMPLETE })
    const positions = (await readState(files, positionsFile(dir), parsePositions)) ?? {}
    for (const slot of this.#slots) await this.#loadSlot(slot, positions[slot.name])
    this.#hasStarted = true
    for (const { running } of this.#slots) running?.start()
    // A previous agent's conditions may be outdated, also when nothing is configured any longer.
    if (entries.length > 0 || board.problem(DETECTION_INCOMPLETE) !== undefined) this.#show()
    this.#saveIn()
    if (entries.some((e) => e.file !== undefined)) this.#readLater()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#saver.stop()
    for (const { running } of this.#slots) running?.close()
    if (this.#readsLogs) await this.#saver.save()
  }

  /** An event was sent: save soon. */
  soon(): void {
    this.#saveIn(SAVE_SOON_MS)
  }

  /** Ends the conditions that this operation is known to fix, unless their monitor observed them again since the step began. */
  repaired(operation: OperationName, beganAt: number): void {
    for (const { entry, conditions } of this.#slots)
      for (const [type, operations] of entry.clearedBy) {
        const p = conditions?.problem(type)
        if (p?.isTrue !== true || !operations.has(operation) || p.seenAt >= beganAt) continue
        const message = `${operation} succeeded and it was not seen since`
        conditions?.find(type, { status: 'False', reason: 'Repaired', message, isKept: p.isKept })
      }
  }

  get #readsLogs(): boolean {
    return this.#slots.some((s) => s.running?.readsLog === true)
  }

  #saveIn(ms?: number): void {
    if (this.#readsLogs) this.#saver.saveIn(ms)
  }

  #readLater(): void {
    this.#timer = this.#deps.clock.after(POLL_FILES_MS, () => {
      void this.#reload().finally(() => {
        if (!this.#isClosed) this.#readLater()
      })
    })
  }

  async #reload(): Promise<void> {
    for (const slot of this.#slots) await this.#loadSlot(slot)
  }

  /** Loads an entry's monitor when its content changed. */
  async #loadSlot(slot: Slot, kept?: Position): Promise<void> {
    const { dir, files, log } = this.#deps
    const { file, inline } = slot.entry
    if (file === undefined) {
      const { monitor, problems } = parseMonitor(inline)
      this.#note(slot.name, problems)
      if (monitor !== undefined) this.#load(slot, monitor, onNode(dir, '/'), kept)
      return
    }
    const found = await readMonitorText(files, onNode(dir, file))
    const before = slot.found
    if (this.#isClosed || isSameText(found, before)) return
    slot.found = found
    const isRunning = slot.running !== undefined || slot.stats !== undefined
    const { run, problems } = fileChange(found, before, isRunning)
    if (before !== undefined && before.kind !== found.kind)
      log.info('the file of a monitor changed', { file, problems: problems.join('; ') })
    this.#note(slot.name, problems)
    const position = slot.running?.position ?? kept
    if (run === 'Nothing') {
      this.#end(slot)
      this.#deps.board.withdraw(slot.source)
    } else if (run !== 'Keep') this.#load(slot, run, dirname(onNode(dir, file)), position)
    if (this.#hasStarted) this.#show()
  }

  #end(slot: Slot): void {
    slot.running?.close()
    for (const key of this.#problems.keys()) if (key.startsWith(`${slot.name} `)) this.#problems.delete(key)
    slot.running = undefined
    slot.stats = undefined
    slot.conditions = undefined
  }

  #load(slot: Slot, monitor: MonitorConfig, folder: string, position: Position | undefined): void {
    const { board, metrics, onEvent, dir } = this.#deps
    const { entry, name, source } = slot
    this.#end(slot)
    if (monitor.kind === 'Stats') {
      const known = monitor.knownModulesPath
      slot.stats = known === undefined ? monitor : { ...monitor, knownModulesPath: foundPath(known, folder, dir) }
      return board.withdraw(source)
    }
    if (isOfNoKernel(monitor, dir)) return board.withdraw(source)
    const types = new Set(monitor.conditions.map(({ type }) => type))
    const expiries = monitor.conditions.map(({ type, reason, message }) => ({
      condition: type,
      clearAfterMs: entry.clearAfterMs.get(type),
      healthy: { reason, message },
    }))
    const conditions = board.open(source, { owns: (type) => types.has(type), expiries })
    const port: MonitorPort = { conditions, metrics, onEvent }
    const place: MonitorPlace = { ...this.#deps, port, folder }
    slot.conditions = conditions
    slot.running =
      monitor.kind === 'Plugin'
        ? pluginMonitor(monitor, place, (rule, result) => this.#ran(`${name} rule ${rule.reason}`, rule, result))
        : logMonitor(monitor, place, {
            journal: (path) => this.#journalAt(path),
            position,
            onLost: (records) => {
              this.lostRecords += records
            },
            onProblem: (problem) => {
              this.#note(`${name} source`, problem === undefined ? [] : [problem])
              this.#show()
            },
          })
    if (this.#hasStarted) slot.running.start()
  }

  /** Monitors that start together share one reader; a later one gets its own. */
  #journalAt(path: string): JournalHub {
    const hub = (this.#hasStarted ? undefined : this.#journals.get(path)) ?? new JournalHub(path, this.#deps.clock)
    this.#journals.set(path, hub)
    return hub
  }

  /** A check that cannot run finds nothing, which would look healthy, so it is reported. */
  #ran(key: string, { path }: PluginRule, { isNotStarted = false, message }: PluginResult): void {
    if (isNotStarted === this.#problems.has(key)) return
    this.#note(key, isNotStarted ? [`${path}: ${message}`] : [])
    this.#show()
  }

  #note(key: string, problems: readonly string[]): void {
    if (problems.length === 0) this.#problems.delete(key)
    else this.#problems.set(key, problems)
  }

  #show(): void {
    const all = [...this.#problems].map(([name, problems]) => `${name}: ${problems.join(', ')}`)
    const finding: Finding =
      all.length === 0
        ? { status: 'False', reason: 'DetectionComplete', message: 'all configured monitors are running', isKept: true }
        : { status: 'True', reason: 'MonitorNotUsed', message: all.join('; ').slice(0, MAX_MESSAGE), isKept: true }
    this.#own?.find(DETECTION_INCOMPLETE, finding)
  }

  #positions() {
    const { files, dir } = this.#deps
    const positions = this.#slots.map(({ name, running }) => [name, running?.position])
    const text = JSON.stringify(Object.fromEntries(positions))
    return { text, write: () => writeDurably(files, positionsFile(dir), text) }
  }
}

/** An inline monitor is identified by its source, because its position in the list may change. */
function slotOf(entry: MonitorEntry, n: number, entries: readonly MonitorEntry[]): Slot {
  const idOf = ({ file, inline }: MonitorEntry): string =>
    file ?? (isObject(inline) ? `in place ${String(inline['source'])}` : 'in place')
  const id = idOf(entry)
  const before = entries.slice(0, n).filter((e) => idOf(e) === id).length
  const source = `monitor ${id}${before === 0 ? '' : ` ${before + 1}`}`
  const nothing = { found: undefined, conditions: undefined, running: undefined, stats: undefined }
  return { entry, name: entry.file ?? `monitors[${n}]`, source, ...nothing }
}

function parsePositions(v: unknown): Readonly<Record<string, Position>> | undefined {
  if (!isObject(v)) return undefined
  return Object.fromEntries(
    Object.entries(v).flatMap(([name, value]) => {
      const position = parsePosition(value)
      return position === undefined ? [] : [[name, position]]
    }),
  )
}

/** A node that is a folder has no kernel of its own, unless a file of it is played as the log of one. */
const isOfNoKernel = (monitor: MonitorConfig, dir: NodeDir): boolean =>
  monitor.kind === 'Log' &&
  monitor.plugin.kind === 'kmsg' &&
  dir.root !== '/' &&
  statSync(onNode(dir, monitor.path), { throwIfNoEntry: false })?.isFile() !== true
