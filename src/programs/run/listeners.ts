// Where a role answers probes and scrapers: on loopback for this host, and on pod addresses where they are configured.
import { isIP } from 'node:net'
import { METRICS_SERVER_NAME, metricsSecretName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { StatusHttp } from '#runtime/http.ts'
import type { Part } from '#runtime/manager.ts'
import { type KeyFiles, MetricsServer } from '#runtime/metrics-server.ts'
import { readText } from '#artifacts/authoring/statement-file.ts'
import { announcedPart } from './announced-metrics.ts'
import { runErrors } from './run-errors.ts'
import type { Served } from './role.ts'

export interface ListenOptions {
  readonly metricsPort: string
  readonly healthListen?: string
  readonly metricsListen?: string
  readonly metricsInsecure?: boolean
  readonly metricsTlsCert?: string
  readonly metricsTlsKey?: string
  readonly metricsClientCa?: string
  readonly metricsAnnounce?: string
}

export interface Address {
  readonly host: string
  readonly port: number
}

export interface Listening {
  /** Loopback port of /metrics, /healthz and /readyz; 0 picks a free one. */
  readonly loopback?: number
  /** Folder in which a Prometheus of this host finds that port. */
  readonly announced?: string
  readonly health?: Address
  readonly metrics?: Address & {
    readonly isInsecure: boolean
    /** The role's shared Secret if left out. */
    readonly files?: KeyFiles
    readonly clientCa?: string
  }
}

const MAX_PORT = 65_535

/** `10.0.0.7:8081`, `[::]:8081`. */
export function addressIn(option: string, text: string): Address {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain ?? ''
  const port = Number(digits)
  if (isIP(host) === 0 || digits === '' || port > MAX_PORT)
    throw new KubeNodeError(runErrors.KN1002_address({ option, text: JSON.stringify(text) }))
  return { host, port }
}

/** Throws on impossible combinations. */
export function listeningOf(options: ListenOptions, roles: readonly string[]): Listening {
  const { metricsPort, healthListen } = options
  const port = Number(metricsPort)
  if (!/^\d+$/.test(metricsPort) || port > MAX_PORT)
    throw new KubeNodeError(runErrors.KN1002_metricsPort({ port: JSON.stringify(metricsPort), maxPort: MAX_PORT }))
  const health = healthListen === undefined ? undefined : addressIn('--health-listen', healthListen)
  const metrics = metricsIn(options)
  const taken = [port, health?.port, metrics?.port].find((p) => p !== undefined && p !== 0)
  if (taken !== undefined && roles.length > 1)
    throw new KubeNodeError(runErrors.KN1002_sharedPort({ port: taken, roles: roles.join(' and ') }))
  return {
    // With a pod address there is no use for a loopback port that changes at every start.
    ...(((health === undefined && metrics === undefined) || port !== 0) && { loopback: port }),
    ...defined({ health, metrics, announced: options.metricsAnnounce }),
  }
}

function metricsIn(options: ListenOptions): Listening['metrics'] {
  const { metricsListen, metricsInsecure: isInsecure = false, metricsClientCa } = options
  const { metricsTlsCert: cert, metricsTlsKey: key } = options
  if (metricsListen === undefined) return undefined
  if ((cert === undefined) !== (key === undefined)) throw new KubeNodeError(runErrors.KN1002_metricsPair())
  return {
    ...addressIn('--metrics-listen', metricsListen),
    isInsecure,
    ...(cert !== undefined && key !== undefined && { files: { cert, key } }),
    ...(metricsClientCa !== undefined && {
      clientCa: readText(metricsClientCa, 'authority of clients that read metrics'),
    }),
  }
}

export interface RoleOfCluster {
  readonly role: string
  readonly cluster: string | undefined
}

export function listenersOf(listening: Listening, served: Served, of: RoleOfCluster): readonly Part[] {
  const { loopback, health: at } = listening
  const { health, log } = served
  return [
    ...(loopback === undefined ? [] : [loopbackPart(loopback, listening.announced, served, of)]),
    ...(at === undefined ? [] : [new StatusHttp({ health, log, ...at })]),
    ...(listening.metrics === undefined ? [] : [metricsPart(listening.metrics, served, of.role)]),
  ]
}

function loopbackPart(
  port: number,
  folder: string | undefined,
  { health, metrics, log }: Served,
  { role, cluster = 'none' }: RoleOfCluster,
): Part {
  const http = new StatusHttp({ health, metrics: metrics.registry, log, port })
  return folder === undefined ? http : announcedPart(http, { folder, cluster, role })
}

function metricsPart(
  { isInsecure, files, clientCa, ...at }: NonNullable<Listening['metrics']>,
  { metrics, log, client }: Served,
  role: string,
): Part {
  if (isInsecure) {
    log.warn('metrics are served over plain HTTP to everyone who reaches this address', { ...at })
    return new StatusHttp({ metrics: metrics.registry, log, ...at })
  }
  const secret = { namespace: SYSTEM_NAMESPACE, name: metricsSecretName(role) }
  const keys = files ?? { secret, serverName: METRICS_SERVER_NAME }
  const more = clientCa === undefined ? {} : { clientCa }
  return new MetricsServer({ metrics: metrics.registry, client, clock: systemClock, log, keys, ...at, ...more })
}
