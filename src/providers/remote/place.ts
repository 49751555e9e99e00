// Where a program that serves a provider is reached: a Unix socket of our own user, or an https address whose authority and token are in files. What is in
// the files is read again every minute, so that both can be replaced while we run; whose a socket is, before each connection.
import { readFile } from 'node:fs/promises'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { doubtOfSocket } from '#lib/own-socket.ts'
import { providersErrors } from '../providers-errors.ts'

export type RemotePlace =
  | { readonly kind: 'Socket'; readonly path: string }
  | { readonly kind: 'Https'; readonly url: string; readonly ca: string; readonly tokenFile?: string }

/** How to connect, and the token to show. */
export type Door =
  | { readonly kind: 'Socket'; readonly path: string }
  | { readonly kind: 'Https'; readonly url: URL; readonly ca: string; readonly token?: string }

export const placeText = (place: RemotePlace): string => (place.kind === 'Socket' ? place.path : place.url)

/** Throws unless the socket is ours. */
export function checkSocket(path: string): void {
  const doubt = doubtOfSocket(path)
  if (doubt !== undefined) throw new KubeNodeError(providersErrors.KN11062({ path, why: doubt }))
}

/** Throws when nothing there can be trusted. */
export async function doorAt(place: RemotePlace): Promise<Door> {
  if (place.kind === 'Socket') {
    checkSocket(place.path)
    return place
  }
  const { url, ca, tokenFile } = place
  const token = tokenFile === undefined ? undefined : (await readFile(tokenFile, 'utf8')).trim()
  return { kind: 'Https', url: new URL(url), ca: await readFile(ca, 'utf8'), ...defined({ token }) }
}

/** The text of what failed while connecting, with the cause that Node's own message leaves out. */
export const connectTrouble = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = messageOf(error)
  return message === '' ? code || 'no reason given' : message
}
