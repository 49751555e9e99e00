// Why an object's URL is never requested, judging by its text. What its name resolves to is checked at each request. Pure.
import { forbiddenHostOf, hostOf } from './checked-lookup.ts'
import { isApiServerName, KUBERNETES_PORTS } from './forbidden-address.ts'

/** `allow`: origins the operator vouches for, wherever they lead. `own`: canonical addresses of this host and of API servers. */
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

/** Names that every host resolves to itself. */
export const isLocalName = (url: URL): boolean => LOCAL_NAMES.test(hostOf(url))
