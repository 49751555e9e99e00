// The bootstrap token of one machine. It works for that machine only, once, for a few minutes, and is deleted with the machine. Pure.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, BOOTSTRAP_GROUP, LABELS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { handOverKey, isForMachine, LIFE_FIELD } from '#identity/join-token.ts'
import type { Secret } from '#nodes/objects.ts'
import type { ObjectKey } from '#api/schema/resource.ts'
import { recordedKey } from '#identity/agent-key.ts'
import { sha256 } from '#lib/sha256.ts'

const TOKEN_NAMESPACE = 'kube-system'
const TOKEN_TYPE = 'bootstrap.kubernetes.io/token'
const TOKEN_LIFE_MS = 15 * 60_000
/** Token ids are derived from uids. If another machine already has the id, the next one is tried. */
export const TOKEN_TRIES = 4

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'
const ID_CHARS = 6
const SECRET_CHARS = 16

/** The same machine and attempt give the same id, so a crash after creating the Secret does not create a second one. */
export function tokenId(machineUid: string, attempt: number): string {
  const digest = sha256(`${machineUid}:${attempt}`)
  return [...digest.subarray(0, ID_CHARS)].map((b) => LETTERS[b % LETTERS.length]).join('')
}

/** With enough random bytes, the small bias of the remainder still leaves 80 bits. */
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

/**
 * With a replaced key, the token is for a rejoin that a user requested. Without one, it is for the first key, and for that key again after a crash.
 */
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

/** The part that the machine controller reads. The token itself is stored where only the approver can read it. */
export function handOverOf(token: Secret, machine: Machine, lifeSeconds?: number): Secret {
  const keys = ['token-id', 'token-secret', 'expiration']
  const data = Object.fromEntries(keys.map((k) => [k, Buffer.from(token.data?.[k] ?? '', 'base64').toString('utf8')]))
  const life: Record<string, string> = lifeSeconds === undefined ? {} : { [LIFE_FIELD]: String(lifeSeconds) }
  return secretOf(handOverKey(machine.metadata.uid ?? ''), machine, { ...data, ...life })
}

/** Created for exactly this machine, not for an earlier one with the same name. */
export const isTokenOf = (token: Secret, machine: Machine): boolean =>
  token.type === TOKEN_TYPE && isForMachine(token, machine)

/** A token works once: for the first key, or for the key that replaces the one on record at its creation. */
export const isUnused = (token: Secret, machine: Machine, key: string): boolean => {
  const recorded = recordedKey(machine)
  return recorded === key || (recorded ?? '') === (token.metadata.annotations?.[ANNOTATIONS.replacesKey] ?? '')
}
