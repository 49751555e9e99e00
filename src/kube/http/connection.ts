// How to reach one API server and with which identity. Data only: files are named here and read (repeatedly) by credentials.ts.
import { KubeNodeError } from '#lib/errors.ts'
import { kubeErrors } from '../kube-errors.ts'

export type Source = { readonly data: string } | { readonly file: string }

/** The answer of an exec plugin or another external source of identity. */
export interface Identity {
  readonly token?: string
  readonly clientCertificate?: { readonly cert: string; readonly key: string }
  /** Valid for this long; absent: until the server refuses it. */
  readonly goodForMs?: number
}

export interface ConnectionConfig {
  /** `https://host:port`, with a path prefix if the server is behind a proxy that wants one. */
  readonly server: string
  /** PEM; without it the system's roots decide. */
  readonly ca?: Source
  readonly clientCertificate?: { readonly cert: Source; readonly key: Source }
  readonly token?: Source
  /** Called when first needed, after expiry, and with `true` after the server refused the last answer. Wins over `token` and `clientCertificate`. */
  readonly identity?: (isRefused: boolean) => Promise<Identity>
  readonly tlsServerName?: string
  /** Variables of a proxy, such as HTTPS_PROXY and NO_PROXY; those of our environment have no say. */
  readonly proxy?: Readonly<Record<string, string>>
  /** Only from a user's own kubeconfig; the loader warns about it. */
  readonly insecureSkipTlsVerify?: boolean
  readonly impersonate?: { readonly user: string; readonly groups?: readonly string[] }
  /** The namespace of the context, for commands that ask for none. */
  readonly namespace?: string
}

const LOOPBACK = /^(127(\.[0-9]{1,3}){3}|localhost|\[::1\])$/

/** Plain HTTP is for a proxy on this machine alone, and never together with credentials. */
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

/** An address that could not be parsed may hold a password: show only the part after the last @. */
const safeText = (text: string): string => text.slice(text.lastIndexOf('@') + 1).slice(0, 200)
