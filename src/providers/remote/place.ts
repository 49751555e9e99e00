// Where to reach a program that serves a provider: a Unix socket of the same user, or an https address with CA and token in files. The files are reread every
// minute, so both can be replaced at run time; a socket's owner is checked before each connection.
import { readFile } from 'node:fs/promises'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { doubtOfSocket } from '#lib/own-socket.ts'
import { providersErrors } from '../providers-errors.ts'

export type RemotePlace =
  | { readonly kind: 'Socket'; readonly path: string }
  | { readonly kind: 'Https'; readonly url: string; readonly ca: string; readonly tokenFile?: string }

/** How to connect, and the token to send. */
export type Door =
  | { readonly kind: 'Socket'; readonly path: string }
  | { readonly kind: 'Https'; readonly url: URL; readonly ca: string; readonly token?: string }

export const placeText = (place: RemotePlace): string => (place.kind === 'Socket' ? place.path : place.url)

/** Throws unless this user owns the socket. */
export function checkSocket(path: string): void {
  const doubt = doubtOfSocket(path)
  if (doubt !== undefined) throw new KubeNodeError(providersErrors.KN11062({ path, why: doubt }))
}

/** Throws if nothing there can be trusted. */
export async function doorAt(place: RemotePlace): Promise<Door> {
  if (place.kind === 'Socket') {
    checkSocket(place.path)
    return place
  }
  const { url, ca, tokenFile } = place
  const token = tokenFile === undefined ? undefined : (await readFile(tokenFile, 'utf8')).trim()
  return { kind: 'Https', url: new URL(url), ca: await readFile(ca, 'utf8'), ...defined({ token }) }
}

/** A connection error's text, with the cause that Node's own message omits. */
export const connectTrouble = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = messageOf(error)
  return message === '' ? code || 'no reason given' : message
}
