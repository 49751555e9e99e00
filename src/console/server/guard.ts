// Whether a request comes from this page: its host, its origin as reported by the browser, and its content. Pure.
import { isOwnHost } from '#lib/host-header.ts'

export interface Asked {
  readonly method: string
  readonly host: string | undefined
  readonly localAddress: string | undefined
  readonly origin: string | undefined
  /** Sec-Fetch-Site. */
  readonly site: string | undefined
  readonly contentType: string | undefined
  /** `http` or `https`, as the browser uses it. */
  readonly scheme: string
}

export interface Denied {
  readonly status: number
  readonly code: 'WrongHost' | 'CrossSite' | 'NotJson' | 'MethodNotAllowed'
  readonly message: string
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** `names`: names besides loopback by which browsers reach this server. `isData`: only the page itself requests it. */
export function denied(asked: Asked, names: readonly string[], isData: boolean): Denied | undefined {
  if (!isOwnHost(asked.host, asked.localAddress, names))
    return {
      status: 421,
      code: 'WrongHost',
      message:
        'the Host header names another server; open the link that the console printed when it started, or use a name of its settings, which a reverse proxy must pass on as Host',
    }
  const isSafe = SAFE.has(asked.method)
  if (!isSafe && asked.method !== 'POST')
    return { status: 405, code: 'MethodNotAllowed', message: 'method not allowed; use GET or POST' }
  // A mail or another page may link to this page; another site may request nothing else.
  if ((isData || !isSafe) && isForeign(asked))
    return { status: 403, code: 'CrossSite', message: 'requests from other sites are refused' }
  if (!isSafe && !/^application\/json(;|$)/i.test(asked.contentType ?? ''))
    return { status: 415, code: 'NotJson', message: 'send application/json' }
  return undefined
}

/** Browsers report a request's origin in one of these; other programs send neither. */
function isForeign({ site, origin, host, scheme }: Asked): boolean {
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  return origin !== undefined && origin !== `${scheme}://${host}`
}
