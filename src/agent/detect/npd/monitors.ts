// All monitors of a node: loads their files, feeds them, keeps their read positions, and reports unusable parts as a condition of the node.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { uptime } from 'node:os'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { DETECTION_INCOMPLETE } from '#api/node-conditions.ts'
import { readState, writeDurably } from '../../files/durable.ts'
import type { Files } from '../../files/port.ts'
import { Saver } from '../../files/saver.ts'
import { isNodeFrozen } from '../../frozen.ts'
import { onNode, positionsFile, type NodeDir } from '../../node-dir.ts'
import type { MonitorEntry } from '#api/agent-config/detect-config.ts'
import type { Expiry, Finding } from '../problems.ts'
import { HealthCheck, realHealthPorts } from './health-check.ts'
import { healthOptions } from './health-options.ts'
import { JournalHub } from './journal-hub.ts'
import type { PluginResult } from './judge.ts'
import { countLines, countOptions } from './log-count.ts'
import { openFeed, parsePosition, type Feed, type Position } from './log-feed.ts'
import { LogMonitor } from './log-monitor.ts'
import {
  parseMonitor,
  parseMonitorText,
  type MonitorConfig,
  type PluginRule,
  type StatsMonitorConfig,
} from '#api/agent-config/monitor-config.ts'
import type { ConditionStore, MonitorPort } from './monitor-port.ts'
import { PluginMonitor } from './plugin-monitor.ts'
import { runPlugin } from './run-plugin.ts'

export interface MonitorsDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly log: Logger
  readonly bootId: string
  readonly entries: readonly MonitorEntry[]
  readonly port: MonitorPort
  readonly conditions: ConditionStore & { expire(expiries: readonly Expiry[]): void }
}

interface Open {
  readonly name: string
  readonly feed: Feed
}

const SAVE_EVERY_MS = 5_000
/** After an event: the next agent must not report it again. */
const SAVE_SOON_MS = 100
const MAX_FILE = 2 ** 20
const MAX_MESSAGE = 200
const PLUGIN_ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }

export class Monitors {
  readonly #deps: MonitorsDeps
  readonly #open: Open[] = []
  readonly #plugins: PluginMonitor[] = []
  readonly #stats: StatsMonitorConfig[] = []
  readonly #journals = new Map<string, JournalHub>()
  readonly #types = new Set<string>()
  readonly #problems = new Map<string, readonly string[]>()
  readonly #saver: Saver
  /** Records of the kernel's log that were overwritten before they were read. */
  lostRecords = 0

  constructor(deps: MonitorsDeps) {
    this.#deps = deps
    const { clock, log } = deps
    this.#saver = new Saver({
      clock,
      log,
      failure: 'cannot save the log positions',
      everyMs: SAVE_EVERY_MS,
      state: () => this.#positions(),
    })
  }

  get stats(): readonly StatsMonitorConfig[] {
    return this.#stats
  }

  /** Conditions that the files list, and the one about the files. */
  get conditionTypes(): readonly string[] {
    return [...this.#types, DETECTION_INCOMPLETE]
  }

  /** Whether a file defines this condition and reports its changes. */
  tells(type: string): boolean {
    return this.#types.has(type)
  }

  /** Unusable parts, by file name. */
  get problems(): ReadonlyMap<string, readonly string[]> {
    return this.#problems
  }

  async start(): Promise<void> {
    const { files, dir, entries } = this.#deps
    const positions = await readState(files, positionsFile(dir), parsePositions)
    entries.forEach((entry, n) => this.#load(entry, `monitors[${n}]`, positions ?? {}))
    for (const { feed } of this.#open) feed.start()
    for (const plugin of this.#plugins) plugin.start()
    // Conditions kept by a previous agent may be outdated, also because nothing is configured any longer.
    if (entries.length > 0 || this.#deps.conditions.problem(DETECTION_INCOMPLETE) !== undefined) this.#show()
    if (this.#open.length > 0) this.#saver.saveIn()
  }

  async close(): Promise<void> {
    this.#saver.stop()
    for (const { feed } of this.#open) feed.close()
    for (const plugin of this.#plugins) plugin.close()
    if (this.#open.length > 0) await this.#saver.save()
  }

  /** An event was sent. */
  soon(): void {
    if (this.#open.length > 0) this.#saver.saveIn(SAVE_SOON_MS)
  }

  #load(entry: MonitorEntry, place: string, positions: Readonly<Record<string, Position>>): void {
    const { dir } = this.#deps
    const path = entry.file === undefined ? undefined : onNode(dir, entry.file)
    const name = entry.file ?? place
    const { monitor, problems } = path === undefined ? parseMonitor(entry.inline) : readMonitor(path)
    if (problems.length > 0) this.#problems.set(name, problems)
    if (monitor === undefined) return
    // A node that is a folder on another machine has no kernel of its own.
    if (monitor.kind === 'Log' && monitor.plugin.kind === 'kmsg' && dir.root !== '/') return
    const folder = path === undefined ? onNode(dir, '/') : dirname(path)
    this.#take(monitor, name, folder, positions)
    if (monitor.kind === 'Stats') return
    for (const { type } of monitor.conditions) this.#types.add(type)
    this.#deps.conditions.expire(
      monitor.conditions.map(({ type, reason, message }) => ({
        condition: type,
        clearAfterMs: entry.clearAfterMs.get(type),
        healthy: { reason, message },
      })),
    )
  }

  #take(monitor: MonitorConfig, name: string, folder: string, positions: Readonly<Record<string, Position>>): void {
    const { dir, clock, port } = this.#deps
    if (monitor.kind === 'Stats') {
      const known = monitor.knownModulesPath
      this.#stats.push(known === undefined ? monitor : { ...monitor, knownModulesPath: found(known, folder, dir) })
      return
    }
    if (monitor.kind === 'Plugin') {
      const checks = new Map(monitor.rules.map((rule) => [rule, this.#checkOf(rule, monitor.maxOutput, folder)]))
      const unknown = async (): Promise<PluginResult> => ({ status: 'Unknown', message: 'unknown check' })
      const run = async (rule: PluginRule): Promise<PluginResult> => {
        const result = await (checks.get(rule) ?? unknown)()
        this.#checkRan(`${name} rule ${rule.reason}`, rule, result)
        return result
      }
      this.#plugins.push(new PluginMonitor(monitor, port, clock, run))
      return
    }
    const log = new LogMonitor(monitor, port)
    log.start()
    const feed = openFeed({
      config: monitor,
      path: monitor.path === '' ? '' : onNode(dir, monitor.path),
      bootId: this.#deps.bootId,
      clock,
      journal: (path) => this.#journalAt(path),
      position: positions[name],
      mayMatter: (line) => log.mayMatter(line),
      onMessage: (message) => log.take(message),
      onLost: (records) => {
        this.lostRecords += records
      },
      onProblem: (problem) => this.#sourceProblem(name, problem),
    })
    this.#open.push({ name, feed })
  }

  #journalAt(path: string): JournalHub {
    const hub = this.#journals.get(path) ?? new JournalHub(path, this.#deps.clock)
    this.#journals.set(path, hub)
    return hub
  }

  /** What a rule runs: the helpers of node-problem-detector are built in, everything else is a program. */
  #checkOf(rule: PluginRule, maxOutput: number, folder: string): () => Promise<PluginResult> {
    const { clock, dir, files } = this.#deps
    const failing = (message: string) => async (): Promise<PluginResult> => ({
      status: 'Unknown',
      message,
      isNotStarted: true,
    })
    const program = basename(rule.path.replaceAll('\\', '/')).replace(/\.exe$/, '')
    if (program === 'health-checker') {
      const options = healthOptions(rule.args)
      if (typeof options === 'string') return failing(options)
      const check = new HealthCheck(options, realHealthPorts(clock, isNodeFrozen(files, dir)))
      return () => check.run()
    }
    if (program === 'log-counter') {
      const options = countOptions(rule.args)
      if (typeof options === 'string') return failing(options)
      const path = options.path === '' ? '' : onNode(dir, options.path)
      return () => {
        const upMs = Math.max(0, uptime() * 1_000 - options.delayMs)
        return countLines({ ...options, path }, clock.now() - Math.min(options.lookbackMs, upMs), rule.timeoutMs)
      }
    }
    const path = found(rule.path, folder, dir)
    const { args, timeoutMs } = rule
    return () => runPlugin({ path, args, timeoutMs, maxOutput, environment: PLUGIN_ENVIRONMENT, clock })
  }

  /** A check that cannot be run finds nothing, which looks like health. */
  #checkRan(key: string, { path }: PluginRule, { isNotStarted = false, message }: PluginResult): void {
    if (isNotStarted === this.#problems.has(key)) return
    if (isNotStarted) this.#problems.set(key, [`${path}: ${message}`])
    else this.#problems.delete(key)
    this.#show()
  }

  #sourceProblem(name: string, problem: string | undefined): void {
    const key = `${name} source`
    if (problem === undefined) this.#problems.delete(key)
    else this.#problems.set(key, [problem])
    this.#show()
  }

  #show(): void {
    const all = [...this.#problems].map(([name, problems]) => `${name}: ${problems.join(', ')}`)
    const finding: Finding =
      all.length === 0
        ? { status: 'False', reason: 'DetectionComplete', message: 'all configured monitors are running', isKept: true }
        : { status: 'True', reason: 'MonitorNotUsed', message: all.join('; ').slice(0, MAX_MESSAGE), isKept: true }
    this.#deps.conditions.find(DETECTION_INCOMPLETE, finding)
  }

  #positions() {
    const { files, dir } = this.#deps
    const text = JSON.stringify(Object.fromEntries(this.#open.map(({ name, feed }) => [name, feed.position])))
    return { text, write: () => writeDurably(files, positionsFile(dir), text) }
  }
}

function readMonitor(path: string): ReturnType<typeof parseMonitorText> {
  try {
    if (statSync(path).size > MAX_FILE) return { monitor: undefined, problems: [`is larger than ${MAX_FILE} bytes`] }
    return parseMonitorText(readFileSync(path, 'utf8'))
  } catch (e) {
    return { monitor: undefined, problems: [messageOf(e)] }
  }
}

/** Relative paths in a file start at its folder or its parent, where node-problem-detector is usually started. */
function found(path: string, folder: string, dir: NodeDir): string {
  if (isAbsolute(path)) return onNode(dir, path)
  const near = join(folder, path)
  return existsSync(near) ? near : join(dirname(folder), path)
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
