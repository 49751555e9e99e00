// The host's proxy: for downloads, and for the API server if the join command set that.
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { agentErrors } from '../agent-errors.ts'
import { KubeNodeError } from '#lib/errors.ts'

export interface HostProxy {
  /** May contain a password, so it is never logged. */
  readonly url: string
  /** Hosts that are reached directly, as in NO_PROXY. */
  readonly not?: string
  readonly api?: boolean
}

const MAX_CHARS = 4_096

/** Undefined when there is no proxy. Throws for one that no client could use. */
export function parseHostProxy(value: unknown): HostProxy | undefined {
  if (value === undefined) return undefined
  const { url, not, api } = isObject(value) ? value : {}
  if (typeof url !== 'string' || url.length > MAX_CHARS || !isProxyUrl(url))
    throw new KubeNodeError(
      agentErrors.KN1002_joinOption({
        option: 'HTTPS_PROXY',
        why: 'it is not an address such as http://proxy.example.org:3128',
      }),
    )
  const hasExceptions = typeof not === 'string' && not !== '' && not.length <= MAX_CHARS
  return { url, ...(hasExceptions && { not }), ...(api === true && { api }) }
}

const isProxyUrl = (url: string): boolean => ['http:', 'https:'].includes(URL.parse(url)?.protocol ?? '')

/** In the form that Node.js agents accept. */
export const proxyEnv = ({ url, not }: HostProxy): { readonly [name: string]: string } => ({
  HTTPS_PROXY: url,
  HTTP_PROXY: url,
  ...defined({ NO_PROXY: not }),
})

/** Undefined unless the join command put the API server behind the proxy. */
export const apiProxy = ({ proxy }: { readonly proxy?: HostProxy }) =>
  proxy?.api === true ? proxyEnv(proxy) : undefined
