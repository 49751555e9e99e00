// The session's second secret, for an address that several servers of this machine share: browsers send a cookie to all of them, but this only to the right
// one.
import { BASE } from './base.ts'

const KEPT_AS = 'kubenode-page'
const GIVEN = /^#page=([A-Za-z0-9_-]{43})$/

/** Called before any request: a link carries the secret behind the `#`, where it must not stay. */
export function keepPageSecret(): void {
  const secret = GIVEN.exec(location.hash)?.[1]
  if (secret === undefined) return
  // Storage is per origin, and an origin includes the port.
  localStorage.setItem(KEPT_AS, secret)
  history.replaceState(null, '', `${BASE}/`)
}

export function ownHeaders(): Readonly<Record<string, string>> {
  const secret = localStorage.getItem(KEPT_AS)
  return secret === null ? {} : { 'x-kubenode-page': secret }
}
