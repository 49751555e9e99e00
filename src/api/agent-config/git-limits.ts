// Decides which parts of agent.json may come from the cluster. A client that can write one ConfigMap must not gain a program, a listening port, another source
// of trust or the content of arbitrary files on every node: those come only from the host's file. New keys are refused here until they are listed.
import { isObject } from '#lib/json.ts'
import { CONFIG_KEYS } from './agent-config.ts'
import { parsedConfig } from './agent-config-map.ts'
import { DETECTOR_DEFAULTS } from './detector-settings.ts'
import { metricsLimitProblems } from './metrics-config.ts'
import { isBelow, isNodePath } from './node-paths.ts'

/** The file next to agent.json that only a host administrator writes; each of its keys overrides agent.json's. */
export const HOST_CONFIG_NAME = 'agent-from-host.json'

/** Lines that match a pattern become part of a Node condition, so every client that may read Nodes could read parts of other files. */
const LOG_FOLDERS: readonly string[] = ['/var/log/']
const JOURNAL_FOLDERS: readonly string[] = ['/var/log/', '/run/log/']
const KERNEL_LOG = '/dev/kmsg'
/** Pods write below /var/lib/kubelet, /opt and /run: a monitor file there could be theirs, and it names programs. */
const MONITOR_FOLDERS: readonly string[] = ['/etc/', '/usr/']
/** Excludes devices and pipes, which would never end. */
const CERTIFICATE_FOLDERS: readonly string[] = ['/etc/', '/usr/', '/var/lib/kubelet/pki/']
/** A restart by the agent needs no permit. */
const SERVICES: readonly string[] = DETECTOR_DEFAULTS.runtime.services

type Fields = Readonly<Record<string, unknown>>
/** Problems of a value, each starting with its path. */
type Check = (value: unknown, path: string) => readonly string[]

const nothing: Check = () => []

const CHECKS: Readonly<Record<string, Check>> = {
  lease: nothing,
  frozenAfter: nothing,
  frozenGrace: nothing,
  clearAfter: nothing,
  logs: (value, path) =>
    each(value, path, (log, at) => (isObject(log) ? below(log['path'], `${at}.path`, LOG_FOLDERS) : [])),
  monitors: (value, path) => each(value, path, monitorProblems),
  detectors: detectorProblems,
  metrics: metricsLimitProblems,
}

/** Why git may not declare this text; empty if it is not a configuration at all. */
export function gitLimitProblems(text: string): readonly string[] {
  const value = parsedConfig(text)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, v]) => {
    if (Object.hasOwn(CHECKS, key)) return CHECKS[key]?.(v, key) ?? []
    // Agents ignore unknown keys, which are reported as typos elsewhere.
    return CONFIG_KEYS.includes(key) ? [`${key} is only for the host to set`] : []
  })
}

function monitorProblems(value: unknown, path: string): readonly string[] {
  if (typeof value === 'string') return below(value, path, MONITOR_FOLDERS)
  if (!isObject(value)) return []
  const { file, config } = value
  return [
    ...(file === undefined ? [] : below(file, `${path}.file`, MONITOR_FOLDERS)),
    ...(isObject(config) ? inlineProblems(config, `${path}.config`) : []),
  ]
}

function inlineProblems(config: Fields, path: string): readonly string[] {
  switch (config['plugin']) {
    case undefined:
      return statsProblems(config, path)
    case 'kmsg':
      return config['logPath'] === KERNEL_LOG ? [] : optionalBelow(config['logPath'], `${path}.logPath`, LOG_FOLDERS)
    case 'journald':
      return optionalBelow(config['logPath'], `${path}.logPath`, JOURNAL_FOLDERS)
    case 'filelog':
      return optionalBelow(config['logPath'], `${path}.logPath`, LOG_FOLDERS)
    default:
      return [`${path}.plugin is ${JSON.stringify(config['plugin'])}, which runs programs (only in a file on the node)`]
  }
}

function statsProblems({ osFeature }: Fields, path: string): readonly string[] {
  const modules = isObject(osFeature) ? osFeature['KnownModulesConfigPath'] : undefined
  return optionalBelow(modules, `${path}.osFeature.KnownModulesConfigPath`, MONITOR_FOLDERS)
}

function detectorProblems(value: unknown, path: string): readonly string[] {
  if (!isObject(value)) return []
  const listOf = (detector: string, key: string): unknown => {
    const settings = value[detector]
    return isObject(settings) ? settings[key] : undefined
  }
  const services = listOf('runtime', 'services')
  return [
    ...each(listOf('disk', 'paths'), `${path}.disk.paths`, absolute),
    ...each(listOf('readOnly', 'mustWrite'), `${path}.readOnly.mustWrite`, absolute),
    ...each(listOf('certificates', 'paths'), `${path}.certificates.paths`, (v, at) =>
      below(v, at, CERTIFICATE_FOLDERS),
    ),
    ...each(services, `${path}.runtime.services`, (v, at) =>
      SERVICES.some((s) => s === v) ? [] : [`${at} is none of ${SERVICES.join(', ')}`],
    ),
  ]
}

const each = (value: unknown, path: string, check: Check): readonly string[] =>
  Array.isArray(value) ? value.flatMap((v: unknown, n) => check(v, `${path}[${n}]`)) : []

const absolute: Check = (value, path) =>
  typeof value === 'string' && isNodePath(value) ? [] : [`${path} is not an absolute path without ..`]

const below = (value: unknown, path: string, folders: readonly string[]): readonly string[] =>
  typeof value === 'string' && isBelow(value, folders) ? [] : [`${path} is not below ${folders.join(' or ')}`]

const optionalBelow = (value: unknown, path: string, folders: readonly string[]): readonly string[] =>
  value === undefined || value === '' ? [] : below(value, path, folders)
