// Where a role answers probes and scrapers: on the loopback address for people and programs of this host, on addresses of the pod where they are given.
import { isIP } from 'node:net'
import { KubeNodeError } from '#lib/errors.ts'
import { StatusHttp } from '#runtime/http.ts'
import type { Part } from '#runtime/manager.ts'
import { cliErrors } from '../cli-errors.ts'
import type { Served } from './role.ts'

export interface ListenOptions {
  readonly metricsPort: string
  readonly healthListen?: string
}

export interface Address {
  readonly host: string
  readonly port: number
}

export interface Listening {
  /** Of /metrics, /healthz and /readyz on loopback; 0 takes a free one. */
  readonly loopback?: number
  readonly health?: Address
}

const MAX_PORT = 65_535

/** `10.0.0.7:8081`, `[::]:8081`. */
export function addressIn(option: string, text: string): Address {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain ?? ''
  const port = Number(digits)
  if (isIP(host) === 0 || digits === '' || port > MAX_PORT)
    throw new KubeNodeError(cliErrors.KN1306({ option, text: JSON.stringify(text) }))
  return { host, port }
}

/** Throws for what cannot be meant. */
export function listeningOf(options: ListenOptions, roles: readonly string[]): Listening {
  const { metricsPort, healthListen } = options
  const port = Number(metricsPort)
  if (!/^\d+$/.test(metricsPort) || port > MAX_PORT)
    throw new KubeNodeError(cliErrors.KN1309({ port: JSON.stringify(metricsPort), maxPort: MAX_PORT }))
  const health = healthListen === undefined ? undefined : addressIn('--health-listen', healthListen)
  const taken = [port, health?.port].find((p) => p !== undefined && p !== 0)
  if (taken !== undefined && roles.length > 1)
    throw new KubeNodeError(cliErrors.KN1308({ port: taken, roles: roles.join(' and ') }))
  return {
    // With an address of the pod there is no use for a port of loopback that changes with every start.
    ...((health === undefined || port !== 0) && { loopback: port }),
    ...(health !== undefined && { health }),
  }
}

export function listenersOf({ loopback, health: at }: Listening, { health, metrics, log }: Served): readonly Part[] {
  return [
    ...(loopback === undefined ? [] : [new StatusHttp({ health, metrics: metrics.registry, log, port: loopback })]),
    ...(at === undefined ? [] : [new StatusHttp({ health, log, ...at })]),
  ]
}
