// `metrics` in agent.json: which metrics an agent exports, and whether Prometheus may scrape it at the node's address. That port uses the cluster's authentication
// and authorization; the port on loopback is open to programs of the host.
import { isObject } from '#lib/json.ts'
import { isBelow, isNodePath } from './node-paths.ts'
import { unknownKeys } from './unknown-keys.ts'

const METRIC_NAMES = ['npd', 'node-exporter', 'both'] as const
type MetricNameSet = (typeof METRIC_NAMES)[number]

/** HTTPS at the node's address, for users who may get nodes/metrics of this node. */
export interface ScrapeConfig {
  readonly port: number
  /** PEM files on the node; without them the agent creates its own certificate. */
  readonly cert: string | undefined
  readonly key: string | undefined
  /** PEM file on the node: clients with a certificate from this authority need no token. */
  readonly clientCa: string | undefined
}

export interface MetricsConfig {
  /** On loopback; undefined for none. */
  readonly port: number | undefined
  /** Undefined: closed to other hosts. */
  readonly scrape: ScrapeConfig | undefined
  readonly names: MetricNameSet
  /** Failed logins, new listeners, setuid files, and kernel hardening. */
  readonly security: boolean
}

/** Next to node-problem-detector's 20257, which may be in use. */
const LOOPBACK_PORT = 20_259
export const SCRAPE_PORT = 20_260
const KEYS: readonly string[] = ['port', 'scrape', 'names', 'security']
const SCRAPE_KEYS: readonly string[] = ['port', 'cert', 'key', 'clientCa']
/** Folders in which kubeadm and kubelets keep a node's certificates. A commit may name no other file. */
const PEM_FOLDERS: readonly string[] = ['/etc/kubernetes/', '/var/lib/kubelet/pki/']
/** A commit must not take a port that another program of the node may need. */
const LOWEST_GIT_PORT = 1_024

export const DEFAULT_METRICS: MetricsConfig = {
  port: LOOPBACK_PORT,
  scrape: undefined,
  names: 'both',
  security: false,
}

export function parseMetrics(v: unknown, problems: string[]): MetricsConfig {
  if (v === undefined) return DEFAULT_METRICS
  if (v === false) return { ...DEFAULT_METRICS, port: undefined }
  if (!isObject(v)) {
    problems.push('metrics must be false or an object')
    return DEFAULT_METRICS
  }
  problems.push(...unknownKeys('metrics', v, KEYS))
  const names = METRIC_NAMES.find((n) => n === v['names'])
  if (v['names'] !== undefined && names === undefined)
    problems.push(`metrics.names must be one of ${METRIC_NAMES.join(', ')}`)
  if (v['security'] !== undefined && typeof v['security'] !== 'boolean')
    problems.push('metrics.security is not true or false')
  return {
    port: portOf(v['port'], 'metrics.port', LOOPBACK_PORT, problems),
    scrape: scrapeOf(v['scrape'], problems),
    names: names ?? DEFAULT_METRICS.names,
    security: v['security'] === true,
  }
}

const isPort = (v: unknown): v is number => typeof v === 'number' && Number.isSafeInteger(v) && v >= 0 && v < 65_536

function portOf(v: unknown, path: string, otherwise: number, problems: string[]): number {
  if (v === undefined) return otherwise
  if (isPort(v)) return v
  problems.push(`${path} is not a port`)
  return otherwise
}

/** A mistake keeps the port closed: an incomplete setting must not serve with another certificate than the requested one. */
function scrapeOf(v: unknown, problems: string[]): ScrapeConfig | undefined {
  if (v === undefined || v === false) return undefined
  if (v === true) return { port: SCRAPE_PORT, cert: undefined, key: undefined, clientCa: undefined }
  const found: string[] = []
  if (!isObject(v)) found.push('metrics.scrape must be true, false or an object')
  const given = isObject(v) ? v : {}
  found.push(...unknownKeys('metrics.scrape', given, SCRAPE_KEYS))
  const port = portOf(given['port'], 'metrics.scrape.port', SCRAPE_PORT, found)
  const file = (name: string): string | undefined => {
    const path = given[name]
    if (path === undefined) return undefined
    if (typeof path === 'string' && isNodePath(path)) return path
    found.push(`metrics.scrape.${name} must be an absolute path without ..`)
    return undefined
  }
  const [cert, key, clientCa] = [file('cert'), file('key'), file('clientCa')]
  if ((given['cert'] === undefined) !== (given['key'] === undefined))
    found.push('metrics.scrape needs both cert and key, or neither')
  problems.push(...found)
  return found.length > 0 ? undefined : { port, cert, key, clientCa }
}

/** Why git may not declare this: the loopback port serves every reader. */
export function metricsLimitProblems(value: unknown, path: string): readonly string[] {
  if (!isObject(value)) return []
  const { port, scrape } = value
  const given = isObject(scrape) ? scrape : {}
  const files = ['cert', 'key', 'clientCa'].flatMap((name) => {
    const file = given[name]
    const isFine = file === undefined || (typeof file === 'string' && isBelow(file, PEM_FOLDERS))
    return isFine ? [] : [`${path}.scrape.${name} is not below ${PEM_FOLDERS.join(' or ')}`]
  })
  const low = isPort(given['port']) && given['port'] < LOWEST_GIT_PORT
  return [
    ...(port === undefined ? [] : [`${path}.port opens a port without authorization (only for the host to set)`]),
    ...(low ? [`${path}.scrape.port is below ${LOWEST_GIT_PORT}`] : []),
    ...files,
  ]
}
