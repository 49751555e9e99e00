// Why a URL of an object is never asked, as far as its text says: what a name resolves to is checked at each request. Pure.
import { forbiddenHostOf, hostOf } from './checked-lookup.ts'
import { isApiServerName, KUBERNETES_PORTS } from './forbidden-address.ts'

/** `allow`: origins that the operator vouches for, wherever they lead. `own`: addresses of this host and of API servers, canonical. */
export function refusedUrl(
  text: string,
  allow: ReadonlySet<string>,
  own: ReadonlySet<string> = new Set(),
): string | undefined {
  const url = URL.parse(text)
  if (url === null) return 'not a valid URL'
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `unsupported scheme ${url.protocol} (http and https only)`
  if (url.username !== '' || url.password !== '') return 'credentials in the URL are not allowed'
  if (allow.has(url.origin)) return undefined
  if (KUBERNETES_PORTS.has(Number(url.port))) return forbiddenText(url.origin, `port ${url.port} of Kubernetes itself`)
  const host = forbiddenHostOf(url, own)
  if (host !== undefined) return forbiddenText(url.origin, host)
  return isApiServerName(hostOf(url)) || own.has(hostOf(url).toLowerCase())
    ? forbiddenText(url.origin, 'an API server')
    : undefined
}

export const forbiddenText = (origin: string, address: string): string =>
  `${origin} leads to ${address}, which is not asked; allow the origin where the controllers are started`

const LOCAL_NAMES = /(^|\.)localhost$/i

/** Names that every host takes for itself. */
export const isLocalName = (url: URL): boolean => LOCAL_NAMES.test(hostOf(url))
