// The API server address for hosts if the settings name none: the one chosen before, else the kubeconfig's. Pure.
import { isLoopbackHost } from '#artifacts/oci/reference.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { Values } from './load.ts'

/** Addresses of this machine or the pod network: hosts cannot reach them before they are nodes. */
const UNREACHABLE = /^(0\.0\.0\.0|\[::\]|kubernetes(\.default(\.svc.*)?)?)$/i

export function isForHosts(server: string): boolean {
  if (!URL.canParse(server)) return false
  const { protocol, hostname } = new URL(server)
  return protocol === 'https:' && !isLoopbackHost(hostname) && !UNREACHABLE.test(hostname)
}

export interface HostServer {
  readonly values: Values
  /** Set if the kubeconfig decided, so that the user sees it. */
  readonly chosen?: string
  /** The kubeconfig's address, if hosts cannot use it. */
  readonly unusable?: string
}

const urlIn = ({ apiServer }: Values): string | undefined =>
  isObject(apiServer) && typeof apiServer['url'] === 'string' ? apiServer['url'] : undefined

/** A second kubeconfig, such as one through a tunnel, does not change the address that hosts already use. */
export function withHostServer(values: Values, stored: Values, server: string | undefined): HostServer {
  const { roles, apiServer } = values
  const hasNodes = roles === undefined || (Array.isArray(roles) && roles.includes('business'))
  if (!hasNodes || urlIn(values) !== undefined || (apiServer !== undefined && !isObject(apiServer))) return { values }
  const before = urlIn(stored)
  const url = before ?? (server !== undefined && isForHosts(server) ? server.replace(/\/$/, '') : undefined)
  if (url === undefined) return { values, ...defined({ unusable: server }) }
  return {
    values: { ...values, apiServer: { ...apiServer, url } },
    ...(before === undefined && { chosen: url }),
  }
}
