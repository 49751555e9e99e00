// Runs one monitor from its configuration: follows its log or runs its checks, until closed.
import { existsSync } from 'node:fs'
import { uptime } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import type { LogMonitorConfig, PluginMonitorConfig, PluginRule } from '#api/agent-config/monitor-config.ts'
import type { Files } from '../../files/port.ts'
import { isNodeFrozen } from '../../frozen.ts'
import { onNode, type NodeDir } from '../../node-dir.ts'
import { HealthCheck, realHealthPorts } from './health-check.ts'
import { healthOptions } from './health-options.ts'
import type { JournalHub } from './journal-hub.ts'
import type { PluginResult } from './judge.ts'
import { countLines, countOptions } from './log-count.ts'
import { openFeed, type Position } from './log-feed.ts'
import { LogMonitor } from './log-monitor.ts'
import type { MonitorPort } from './monitor-port.ts'
import { PluginMonitor } from './plugin-monitor.ts'
import { runPlugin } from './run-plugin.ts'

export interface MonitorPlace {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly bootId: string
  /** Environment of the check programs. */
  readonly environment: Readonly<Record<string, string>>
  readonly port: MonitorPort
  /** Base folder for relative paths. */
  readonly folder: string
}

export interface RunningMonitor {
  readonly readsLog: boolean
  /** Read position in its log; undefined: nothing was read yet. */
  readonly position: Position | undefined
  start(): void
  close(): void
}

export interface LogNeeds {
  readonly position: Position | undefined
  readonly journal: (path: string) => JournalHub
  readonly onLost: (records: number) => void
  readonly onProblem: (problem: string | undefined) => void
}

export function logMonitor(monitor: LogMonitorConfig, place: MonitorPlace, needs: LogNeeds): RunningMonitor {
  const { dir, clock, bootId, port } = place
  const log = new LogMonitor(monitor, port)
  const feed = openFeed({
    ...needs,
    config: monitor,
    path: monitor.path === '' ? '' : onNode(dir, monitor.path),
    bootId,
    clock,
    mayMatter: (line) => log.mayMatter(line),
    onMessage: (message) => log.take(message),
  })
  log.start()
  return {
    readsLog: true,
    get position() {
      return feed.position
    },
    start: () => feed.start(),
    close: () => feed.close(),
  }
}

/** `onRan`: called when a check ran, or could not be started. */
export function pluginMonitor(
  monitor: PluginMonitorConfig,
  place: MonitorPlace,
  onRan: (rule: PluginRule, result: PluginResult) => void,
): RunningMonitor {
  const checks = new Map(monitor.rules.map((rule) => [rule, checkOf(rule, monitor.maxOutput, place)]))
  const unknown = async (): Promise<PluginResult> => ({ status: 'Unknown', message: 'unknown check' })
  const run = async (rule: PluginRule): Promise<PluginResult> => {
    const result = await (checks.get(rule) ?? unknown)()
    onRan(rule, result)
    return result
  }
  const plugin = new PluginMonitor(monitor, place.port, place.clock, run)
  return { readsLog: false, position: undefined, start: () => plugin.start(), close: () => plugin.close() }
}

/** What a rule runs: node-problem-detector's helpers are built in, everything else is a program. */
function checkOf(rule: PluginRule, maxOutput: number, place: MonitorPlace): () => Promise<PluginResult> {
  const { clock, dir, files, environment } = place
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
  const path = foundPath(rule.path, place.folder, dir)
  const { args, timeoutMs } = rule
  return () => runPlugin({ path, args, timeoutMs, maxOutput, environment, folder: dir.root, clock })
}

/** Relative paths in a file start at its folder or its parent, where node-problem-detector usually starts. */
export function foundPath(path: string, folder: string, dir: NodeDir): string {
  if (isAbsolute(path)) return onNode(dir, path)
  const near = join(folder, path)
  return existsSync(near) ? near : join(dirname(folder), path)
}
