// Decides which URLs of objects the controllers may call: only origins that the operator listed.
import { isIP } from 'node:net'
import { KubeNodeError } from '#lib/errors.ts'
import { runtimeErrors } from '../runtime-errors.ts'
import { hostOf } from './checked-lookup.ts'
import { isLocalName } from './refused-url.ts'

interface Place {
  /** `https://host:port`, in the form that URLs compare. */
  readonly origin: string
  /** Empty, or starts with a slash: the URL's path must equal it or be below it. */
  readonly path: string
  /** Written as an address or localhost, so the author meant that machine. */
  readonly isLiteral: boolean
}

export interface OutboundPlaces {
  readonly places: readonly Place[]
}

/** `https://hooks.example.org/repairs`; `http:` only if written so. */
export function parsePlaces(texts: readonly string[]): OutboundPlaces {
  return {
    places: texts.map((text) => {
      const url = URL.canParse(text) ? new URL(text) : undefined
      const isPlain =
        url !== undefined && url.username === '' && url.password === '' && url.search === '' && url.hash === ''
      if (url === undefined || !isPlain || (url.protocol !== 'https:' && url.protocol !== 'http:'))
        throw new KubeNodeError(runtimeErrors.KN1002_calls({ text: JSON.stringify(text) }))
      const host = hostOf(url)
      return {
        origin: url.origin,
        path: url.pathname.replace(/\/$/, ''),
        isLiteral: isIP(host) > 0 || isLocalName(url),
      }
    }),
  }
}

export type UrlVerdict =
  | { readonly kind: 'Allowed'; readonly url: URL; readonly place: Place }
  | { readonly kind: 'Refused'; readonly why: string }

/** Judges the parsed URL, never its text. Messages name only the origin: a path may hold a secret. */
export function judgeUrl(text: string, { places }: OutboundPlaces): UrlVerdict {
  const refused = (why: string): UrlVerdict => ({ kind: 'Refused', why })
  if (!URL.canParse(text)) return refused('not a URL')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused(`${url.protocol} is not supported`)
  if (url.username !== '' || url.password !== '') return refused('the URL contains credentials; use a secretRef')
  const found = places.find((p) => p.origin === url.origin && isBelow(url.pathname, p.path))
  return found === undefined
    ? refused(`${url.origin} with this path is not among the places that the controllers may call`)
    : { kind: 'Allowed', url, place: found }
}

/** The parser keeps `%2e%2e` and `%2f`, but the other side may decode them. */
const isBelow = (path: string, root: string): boolean =>
  (path === root || path.startsWith(`${root}/`)) && !(root !== '' && /%2e|%2f|%5c/i.test(path))
