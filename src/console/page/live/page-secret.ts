// The second secret of a session at an address that several servers of this machine share: browsers send a cookie to all of them, and this to none but ours.

const KEPT_AS = 'kubenode-page'
const GIVEN = /^#page=([A-Za-z0-9_-]{43})$/

/** Before anything is asked: a link brings it behind the `#`, where it must not stay. */
export function keepPageSecret(): void {
  const secret = GIVEN.exec(location.hash)?.[1]
  if (secret === undefined) return
  // Per origin, and an origin has a port.
  localStorage.setItem(KEPT_AS, secret)
  history.replaceState(null, '', '/')
}

export function ownHeaders(): Readonly<Record<string, string>> {
  const secret = localStorage.getItem(KEPT_AS)
  return secret === null ? {} : { 'x-kubenode-page': secret }
}
