// How to reach one API server and with which identity. Data only: credentials.ts reads the named files, repeatedly.
import { KubeNodeError } from '#lib/errors.ts'
import { kubeErrors } from '../kube-errors.ts'

export type Source = { readonly data: string } | { readonly file: string }

/** The answer of an exec plugin or another external identity source. */
export interface Identity {
  readonly token?: string
  readonly clientCertificate?: { readonly cert: string; readonly key: string }
  /** How long it is valid; if left out, until the server refuses it. */
  readonly goodForMs?: number
}

export interface ConnectionConfig {
  /** `https://host:port`, with a path prefix if a proxy in front of the server needs one. */
  readonly server: string
  /** PEM; the system's roots if left out. */
  readonly ca?: Source
  readonly clientCertificate?: { readonly cert: Source; readonly key: Source }
  readonly token?: Source
  /** Called at first use, after expiry, and with `true` after the server refused the last answer. Overrides `token` and `clientCertificate`. */
  readonly identity?: (isRefused: boolean) => Promise<Identity>
  readonly tlsServerName?: string
  /** Proxy variables such as HTTPS_PROXY and NO_PROXY; this process's environment is ignored. */
  readonly proxy?: Readonly<Record<string, string>>
  /** Only from a user's own kubeconfig; the loader warns about it. */
  readonly insecureSkipTlsVerify?: boolean
  readonly impersonate?: { readonly user: string; readonly groups?: readonly string[] }
  /** The context's namespace, for commands without one. */
  readonly namespace?: string
}

const LOOPBACK = /^(127(\.[0-9]{1,3}){3}|localhost|\[::1\])$/

/** Plain HTTP is only for a proxy on this machine, and never with credentials. */
export function parseServer(config: ConnectionConfig): URL {
  const url = URL.parse(config.server)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new KubeNodeError(kubeErrors.KN2010({ server: JSON.stringify(safeText(config.server)) }))
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new KubeNodeError(kubeErrors.KN2010_parts({ host: url.host }))
  if (url.protocol === 'https:') return url
  const hasCredentials =
    config.token !== undefined || config.clientCertificate !== undefined || config.identity !== undefined
  if (!LOOPBACK.test(url.hostname) || hasCredentials)
    throw new KubeNodeError(kubeErrors.KN2010_plain({ host: url.host }))
  return url
}

/** An address that failed to parse may contain a password: show only the part after the last @. */
const safeText = (text: string): string => text.slice(text.lastIndexOf('@') + 1).slice(0, 200)
