// URLs in CEL, parsed as Go does: absolute, or a path from the root; escapes are kept as written.
import { fn, method, type Overload, readsFirst } from './functions.ts'
import { BOOL, listOf, mapOf, opaque, STRING } from './types.ts'
import { CelBox, BuiltMap, CelError, CelList, type CelOpaque, type CelValue } from './values.ts'

export const URL_TYPE = opaque('kubernetes.URL')

interface Parts {
  readonly text: string
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly query: string
}

class CelUrl extends CelBox<Parts> {
  readonly type = URL_TYPE

  equals(other: CelOpaque): boolean {
    return other instanceof CelUrl && other.of.text === this.of.text
  }
}

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/
const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/
const HOST = /^(\[[0-9A-Fa-f:.]+(%25[^\]]+)?\]|[^\s<>"{}|\\^`/?#[\]@:]*)(:\d*)?$/

/** Undefined when the text is no URL that can be asked for. */
function parse(text: string): Parts | undefined {
  // No control characters anywhere, as in a request line.
  if (text === '' || Array.from(text).some((c) => c < ' ' || c === '\x7f')) return undefined
  const [whole = ''] = text.split('#', 1)
  const scheme = SCHEME.exec(whole)?.[1] ?? ''
  const rest = scheme === '' ? whole : whole.slice(scheme.length + 1)
  const mark = rest.indexOf('?')
  const query = mark === -1 ? '' : rest.slice(mark + 1)
  const hierarchy = mark === -1 ? rest : rest.slice(0, mark)
  if (!hierarchy.startsWith('/'))
    return scheme === '' ? undefined : { text, scheme: scheme.toLowerCase(), host: '', path: '', query }
  const hasAuthority = hierarchy.startsWith('//') && (scheme !== '' || !hierarchy.startsWith('///'))
  const slash = hasAuthority ? hierarchy.indexOf('/', 2) : 0
  const path = slash === -1 ? '' : hierarchy.slice(slash)
  const authority = hasAuthority ? hierarchy.slice(2, slash === -1 ? undefined : slash) : ''
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  if (!HOST.test(host) || BAD_ESCAPE.test(path)) return undefined
  return { text, scheme: scheme.toLowerCase(), host, path: escapePath(path), query }
}

const escapePath = (path: string): string =>
  path.replace(/[^A-Za-z0-9\-_.~!$&'()*+,;=:@/%[\]]/gu, (c) => encodeURIComponent(c.toWellFormed()))

const portOf = (host: string): string => /:(\d*)$/.exec(host)?.[1] ?? ''

function hostname(host: string): string {
  const bare = host.replace(/:\d*$/, '')
  return bare.startsWith('[') ? bare.slice(1, -1) : bare
}

/** Pairs that cannot be read are left out. */
function queryMap(query: string): CelValue {
  const values = new Map<string, string[]>()
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue
    const at = pair.indexOf('=')
    const [key, value] = [unescape(at === -1 ? pair : pair.slice(0, at)), at === -1 ? '' : unescape(pair.slice(at + 1))]
    if (key === undefined || value === undefined) continue
    values.set(key, [...(values.get(key) ?? []), value])
  }
  const map = new BuiltMap()
  for (const [key, list] of values) map.add(key, CelList.of(list))
  return map
}

function unescape(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

function make(text: string): CelValue {
  const parts = parse(text)
  const quoted = JSON.stringify(text)
  return parts === undefined
    ? new CelError(`URL parse error during conversion from string: parse ${quoted}: invalid URI for request`)
    : new CelUrl(parts)
}

const get = (name: string, read: (p: Parts) => string): Overload =>
  method(name, [URL_TYPE], STRING, (u: CelUrl) => read(u.of))

export const URL_FUNCTIONS: readonly Overload[] = [
  fn('url', [STRING], URL_TYPE, make, readsFirst()),
  fn('isURL', [STRING], BOOL, (s: string) => parse(s) !== undefined, readsFirst()),
  get('getScheme', (p) => p.scheme),
  get('getHost', (p) => p.host),
  get('getHostname', (p) => hostname(p.host)),
  get('getPort', (p) => portOf(p.host)),
  get('getEscapedPath', (p) => p.path),
  method('getQuery', [URL_TYPE], mapOf(STRING, listOf(STRING)), (u: CelUrl) => queryMap(u.of.query)),
]
