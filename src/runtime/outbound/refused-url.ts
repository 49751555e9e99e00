// Why a URL of an object is never asked, as far as its text says: what a name resolves to is checked at each request. Pure.
import { forbiddenHostOf, hostOf } from './checked-lookup.ts'

/** `allow`: origins that the operator vouches for, wherever they lead. */
export function refusedUrl(text: string, allow: ReadonlySet<string>): string | undefined {
  const url = URL.parse(text)
  if (url === null) return 'not a valid URL'
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `unsupported scheme ${url.protocol} (http and https only)`
  if (url.username !== '' || url.password !== '') return 'credentials in the URL are not allowed'
  const host = allow.has(url.origin) ? undefined : forbiddenHostOf(url)
  return host === undefined ? undefined : forbiddenText(url.origin, host)
}

export const forbiddenText = (origin: string, address: string): string =>
  `${origin} leads to ${address}, which is not asked; allow the origin where the controllers are started`

const LOCAL_NAMES = /(^|\.)localhost$/i

/** Names that every host takes for itself. */
export const isLocalName = (url: URL): boolean => LOCAL_NAMES.test(hostOf(url))
