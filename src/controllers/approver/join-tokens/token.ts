// The bootstrap token of one machine: good for that machine alone, once, for a few minutes, and deleted with it. Pure.
import { createHash } from 'node:crypto'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, BOOTSTRAP_GROUP, LABELS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { handOverKey, isForMachine, LIFE_FIELD } from '#identity/join-token.ts'
import type { Secret } from '#nodes/objects.ts'
import type { ObjectKey } from '#api/schema/resource.ts'
import { recordedKey } from '#identity/agent-key.ts'

const TOKEN_NAMESPACE = 'kube-system'
const TOKEN_TYPE = 'bootstrap.kubernetes.io/token'
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
const encoded = (data: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(data).map(([k, v]) => [k, base64(v)]))

const secretOf = (
  key: ObjectKey,
  machine: Machine,
  data: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>> = {},
): Secret => {
  const { name = '', uid = '' } = machine.metadata
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...key,
      labels: { [LABELS.joinToken]: 'true' },
      annotations: { [ANNOTATIONS.machine]: name, [ANNOTATIONS.machineUid]: uid, ...annotations },
      ownerReferences: [{ apiVersion: API_GROUP_VERSION, kind: 'Machine', name, uid }],
    } as Secret['metadata'],
    data: encoded(data),
  }
}

/** With a replaced key it is for a join that a user requested; without one for the first key, and for that key again after a crash. */
export function tokenFor(machine: Machine, id: string, secret: string, nowMs: number, replaces = ''): Secret {
  const data = {
    'token-id': id,
    'token-secret': secret,
    expiration: timestamp(nowMs + TOKEN_LIFE_MS),
    'usage-bootstrap-authentication': 'true',
    'auth-extra-groups': BOOTSTRAP_GROUP,
    description: `join token of machine ${machine.metadata.name}`,
  }
  const annotations = { [ANNOTATIONS.replacesKey]: replaces }
  return { ...secretOf(tokenKey(id), machine, data, annotations), type: TOKEN_TYPE }
}

/** The part that the machine controller reads: the token itself is stored where only the approver can read it. */
export function handOverOf(token: Secret, machine: Machine, lifeSeconds?: number): Secret {
  const keys = ['token-id', 'token-secret', 'expiration']
  const data = Object.fromEntries(keys.map((k) => [k, Buffer.from(token.data?.[k] ?? '', 'base64').toString('utf8')]))
  const life: Record<string, string> = lifeSeconds === undefined ? {} : { [LIFE_FIELD]: String(lifeSeconds) }
  return secretOf(handOverKey(machine.metadata.uid ?? ''), machine, { ...data, ...life })
}

/** Made for exactly this machine, and not for one of the same name before it. */
export const isTokenOf = (token: Secret, machine: Machine): boolean =>
  token.type === TOKEN_TYPE && isForMachine(token, machine)

/** A token is good once: for the first key, or for the one that replaces the key that was on record when it was made. */
export const isUnused = (token: Secret, machine: Machine, key: string): boolean => {
  const recorded = recordedKey(machine)
  return recorded === key || (recorded ?? '') === (token.metadata.annotations?.[ANNOTATIONS.replacesKey] ?? '')
}
