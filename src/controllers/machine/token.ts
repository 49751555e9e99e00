// The bootstrap token of one machine: good for that machine alone, for a few minutes, and gone with it. Pure.
import { createHash } from 'node:crypto'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { JoinBundle } from '#api/join-bundle.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, BOOTSTRAP_GROUP, LABELS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import type { ObjectKey } from '#schema/resource.ts'
import type { Secret } from './objects.ts'

export const TOKEN_NAMESPACE = 'kube-system'
export const TOKEN_TYPE = 'bootstrap.kubernetes.io/token'
const TOKEN_LIFE_MS = 15 * 60_000
/** Names are made from uids; when another machine has the name already, the next is tried. */
export const TOKEN_TRIES = 4

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'
const ID_CHARS = 6
const SECRET_CHARS = 16

/** The same machine and try give the same id: a crash after the Secret was made does not make a second one. */
export function tokenId(machineUid: string, attempt: number): string {
  const digest = createHash('sha256').update(`${machineUid}:${attempt}`).digest()
  return [...digest.subarray(0, ID_CHARS)].map((b) => LETTERS[b % LETTERS.length]).join('')
}

/** From enough random bytes; the small bias of the remainder leaves 80 bits. */
export const tokenSecret = (bytes: Uint8Array): string =>
  [...bytes.subarray(0, SECRET_CHARS)].map((b) => LETTERS[b % LETTERS.length]).join('')

export const tokenKey = (id: string): ObjectKey => ({ namespace: TOKEN_NAMESPACE, name: `bootstrap-token-${id}` })

const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64')

/** Beside the token, for hosts that somebody else has to tell how to join: all of the bundle but the token. */
export const BUNDLE_FIELD = 'join-bundle'

export function tokenFor(
  machine: Machine,
  id: string,
  secret: string,
  nowMs: number,
  bundle?: Omit<JoinBundle, 'token'>,
): Secret {
  const { name = '', uid = '' } = machine.metadata
  const data = {
    'token-id': id,
    'token-secret': secret,
    expiration: timestamp(nowMs + TOKEN_LIFE_MS),
    'usage-bootstrap-authentication': 'true',
    'auth-extra-groups': BOOTSTRAP_GROUP,
    description: `join token of machine ${name}`,
    ...(bundle !== undefined && { [BUNDLE_FIELD]: JSON.stringify(bundle) }),
  }
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...tokenKey(id),
      labels: { [LABELS.joinToken]: 'true' },
      annotations: { [ANNOTATIONS.machine]: name },
      ownerReferences: [{ apiVersion: API_GROUP_VERSION, kind: 'Machine', name, uid }],
    } as Secret['metadata'],
    type: TOKEN_TYPE,
    data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, base64(v)])),
  }
}

const field = (token: Secret, name: string): string | undefined => {
  const value = token.data?.[name]
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8')
}

/** `<id>.<secret>`, as it goes over the wire. */
export function tokenText(token: Secret): string | undefined {
  const [id, secret] = [field(token, 'token-id'), field(token, 'token-secret')]
  return id === undefined || secret === undefined ? undefined : `${id}.${secret}`
}

/** A token without a readable end counts as over. */
export const tokenExpiresAt = (token: Secret): number => Date.parse(field(token, 'expiration') ?? '') || 0

/** Made for exactly this machine, and not for one of the same name before it. */
export const isTokenOf = (token: Secret, machine: Machine): boolean =>
  token.type === TOKEN_TYPE &&
  token.metadata.annotations?.[ANNOTATIONS.machine] === machine.metadata.name &&
  token.metadata.ownerReferences?.some((o) => o.kind === 'Machine' && o.uid === machine.metadata.uid) === true
