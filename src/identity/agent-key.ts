// Which key a machine's agent has, recorded on the Machine by the approver alone, and which keys a user revoked. Pure.
// Without a revocation every certificate of the Machine's uid counts; with one, only the keys that were recorded after it.
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, agentKeyGroup } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'

export type Marked = Pick<Machine, 'metadata'>

/** For this Machine only; a record of an earlier one of the same name, or from a backup, does not count. */
export function recordedKey(machine: Marked): string | undefined {
  return keysOf(machine)[0]
}

/** The key that was approved last, and the one that asked for it: its answer may never have reached the host. */
function keysOf({ metadata }: Marked): readonly string[] {
  const record = parsed(metadata.annotations?.[ANNOTATIONS.agentKey])
  if (record?.['uid'] !== metadata.uid) return []
  return [record?.['key'], record?.['by']].filter((k) => typeof k === 'string' && k !== '') as string[]
}

type Reporting = Marked & Pick<Machine, 'status'>

interface RecordedBeside {
  /** The requester's key as named in its certificate, if it has one. */
  readonly by?: string | undefined
  /** How long the next certificate may live. */
  readonly seconds?: number | undefined
  /** The agent is a service account; its tokens are sealed to this key. */
  readonly tokenKey?: string | undefined
}

export function keyRecord(machine: Reporting, key: string, { by, seconds, tokenKey }: RecordedBeside = {}): string {
  // What is reported now is of the agent before.
  const left = machine.status?.agent?.phase === 'Left' ? markOfLeft(machine) : leftRecord(machine)
  return JSON.stringify({
    uid: machine.metadata.uid,
    key,
    ...defined({ by, seconds, tokenKey, left }),
  })
}

function ofThisMachine({ metadata }: Marked): Readonly<Record<string, unknown>> | undefined {
  const record = parsed(metadata.annotations?.[ANNOTATIONS.agentKey])
  return record?.['uid'] === metadata.uid ? record : undefined
}

/** Of an agent that is a service account. */
export function tokenKeyOf(machine: Marked): string | undefined {
  const tokenKey = ofThisMachine(machine)?.['tokenKey']
  return typeof tokenKey === 'string' ? tokenKey : undefined
}

function leftRecord(machine: Marked): string | undefined {
  const left = ofThisMachine(machine)?.['left']
  return typeof left === 'string' ? left : undefined
}

/** Whether the agent that is on record reported that it left its host: the report of an agent before it does not count. */
export const hasLeft = (machine: Reporting): boolean =>
  machine.status?.agent?.phase === 'Left' && leftRecord(machine) !== markOfLeft(machine)

/** Each agent makes a key of its own for secret values, and publishes it. */
const markOfLeft = ({ status }: Reporting): string => shortKey(status?.agent?.publicKey ?? 'none')

/** Who left keeps its key on record, and gets no tokens any more. */
export function recordOfLeft(machine: Reporting): string {
  const { tokenKey: _, ...rest } = ofThisMachine(machine) ?? {}
  return JSON.stringify({ ...rest, left: markOfLeft(machine) })
}

/** The record with another life, for an agent that asked for too long a one; undefined when it says so already, or when there is none. */
export function recordWithLife({ metadata }: Marked, seconds: number): string | undefined {
  const record = parsed(metadata.annotations?.[ANNOTATIONS.agentKey])
  if (record?.['uid'] !== metadata.uid || record?.['seconds'] === seconds) return undefined
  return JSON.stringify({ ...record, seconds })
}

interface Revocation {
  readonly uid: string
  readonly at: string
  readonly reason: string
  readonly keys: readonly string[]
}

/** All that are on record are refused from now on; any other was not recorded, and is refused with them. */
export function revocation(machine: Marked, nowMs: number, reason: string): string {
  const { uid = '' } = machine.metadata
  const recorded: Revocation = { uid, at: timestamp(nowMs), reason, keys: keysOf(machine) }
  return JSON.stringify(recorded)
}

/** Also when it refers to an earlier Machine of the name, or is unreadable: revoked keys stay revoked until a new key is recorded. */
export const isRevoked = ({ metadata }: Marked): boolean => (metadata.annotations?.[ANNOTATIONS.revoked] ?? '') !== ''

/** Whether the holder of a certificate with these groups may act for the Machine. The policy `kubenode-agents` says the same in CEL. */
export function acceptsKey(machine: Marked, groups: readonly string[]): boolean {
  if (!isRevoked(machine)) return true
  const named = groups.filter((g) => g.startsWith(KEY_PREFIX))
  const [group] = named
  return named.length === 1 && acceptedKeys(machine).some((key) => agentKeyGroup(key) === group)
}

/** Undone by nothing but a key that was recorded after the revocation. */
export const hasAcceptedKey = (machine: Marked): boolean => !isRevoked(machine) || acceptedKeys(machine).length > 0

/** Whether this key was on record when a user revoked it. */
export const isKeyRevoked = ({ metadata }: Marked, key: string): boolean =>
  (metadata.annotations?.[ANNOTATIONS.revoked] ?? '').includes(shortKey(key))

const KEY_PREFIX = agentKeyGroup('')
/** As certificates name it. */
export const shortKey = (key: string): string => agentKeyGroup(key).slice(KEY_PREFIX.length)
export const acceptedKeys = (machine: Marked): readonly string[] =>
  keysOf(machine).filter((k) => !isKeyRevoked(machine, k))

/** Of a key that was proved without a certificate: only one that is on record. */
export const acceptsProvedKey = (machine: Marked, key: string): boolean =>
  acceptedKeys(machine).some((k) => shortKey(k) === shortKey(key))

/** What the certificate says of its own key. */
export const keyIn = (groups: readonly string[]): string | undefined =>
  groups.find((g) => g.startsWith(KEY_PREFIX))?.slice(KEY_PREFIX.length)

function parsed(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? 'null')
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
