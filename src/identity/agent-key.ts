// Which key a machine's agent has, and which keys a user revoked. Only the approver records keys on the Machine. Pure. Without a revocation every
// certificate for the Machine's uid counts; after one, only keys recorded later count.
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, agentKeyGroup } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'

export type Marked = Pick<Machine, 'metadata'>

/** For this Machine only; a record of an earlier Machine with the same name, or from a backup, does not count. */
export function recordedKey(machine: Marked): string | undefined {
  return keysOf(machine)[0]
}

/** The last approved key, and the key that requested it: the answer may never have reached the host. */
function keysOf({ metadata }: Marked): readonly string[] {
  const record = parsed(metadata.annotations?.[ANNOTATIONS.agentKey])
  if (record?.['uid'] !== metadata.uid) return []
  return [record?.['key'], record?.['by']].filter((k) => typeof k === 'string' && k !== '') as string[]
}

type Reporting = Marked & Pick<Machine, 'status'>

interface RecordedBeside {
  /** The requester's key from its certificate, if it has one. */
  readonly by?: string | undefined
  /** Maximum lifetime of the next certificate. */
  readonly seconds?: number | undefined
  /** The agent is a service account; its tokens are sealed to this key. */
  readonly tokenKey?: string | undefined
}

export function keyRecord(machine: Reporting, key: string, { by, seconds, tokenKey }: RecordedBeside = {}): string {
  // The current report comes from the previous agent.
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

/** For an agent with a service account. */
export function tokenKeyOf(machine: Marked): string | undefined {
  const tokenKey = ofThisMachine(machine)?.['tokenKey']
  return typeof tokenKey === 'string' ? tokenKey : undefined
}

function leftRecord(machine: Marked): string | undefined {
  const left = ofThisMachine(machine)?.['left']
  return typeof left === 'string' ? left : undefined
}

/** Whether the recorded agent reported that it left its host; a report by an earlier agent does not count. */
export const hasLeft = (machine: Reporting): boolean =>
  machine.status?.agent?.phase === 'Left' && leftRecord(machine) !== markOfLeft(machine)

/** Each agent creates its own key for secret values, and publishes it. */
const markOfLeft = ({ status }: Reporting): string => shortKey(status?.agent?.publicKey ?? 'none')

/** An agent that left keeps its recorded key, but no longer gets tokens. */
export function recordOfLeft(machine: Reporting): string {
  const { tokenKey: _, ...rest } = ofThisMachine(machine) ?? {}
  return JSON.stringify({ ...rest, left: markOfLeft(machine) })
}

/**
 * The record with another lifetime, for an agent that requested one that is too long. Undefined when it already has this lifetime, or there is no
 * record.
 */
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

/** Refuses every recorded key from now on. Any other key was never recorded, and is refused too. */
export function revocation(machine: Marked, nowMs: number, reason: string): string {
  const { uid = '' } = machine.metadata
  const recorded: Revocation = { uid, at: timestamp(nowMs), reason, keys: keysOf(machine) }
  return JSON.stringify(recorded)
}

/** Also true when it refers to an earlier Machine with the same name, or is unreadable: revoked keys stay revoked until a new key is recorded. */
export const isRevoked = ({ metadata }: Marked): boolean => (metadata.annotations?.[ANNOTATIONS.revoked] ?? '') !== ''

/** Whether the holder of a certificate with these groups may act for the Machine. Policy `kubenode-agents` has the same rule in CEL. */
export function acceptsKey(machine: Marked, groups: readonly string[]): boolean {
  if (!isRevoked(machine)) return true
  const named = groups.filter((g) => g.startsWith(KEY_PREFIX))
  const [group] = named
  return named.length === 1 && acceptedKeys(machine).some((key) => agentKeyGroup(key) === group)
}

/** Only a key recorded after the revocation undoes it. */
export const hasAcceptedKey = (machine: Marked): boolean => !isRevoked(machine) || acceptedKeys(machine).length > 0

/** Whether this key was on record when a user revoked it. */
export const isKeyRevoked = ({ metadata }: Marked, key: string): boolean =>
  (metadata.annotations?.[ANNOTATIONS.revoked] ?? '').includes(shortKey(key))

const KEY_PREFIX = agentKeyGroup('')
/** The short form in certificates. */
export const shortKey = (key: string): string => agentKeyGroup(key).slice(KEY_PREFIX.length)
export const acceptedKeys = (machine: Marked): readonly string[] =>
  keysOf(machine).filter((k) => !isKeyRevoked(machine, k))

/** For a key proved without a certificate: only a recorded key counts. */
export const acceptsProvedKey = (machine: Marked, key: string): boolean =>
  acceptedKeys(machine).some((k) => shortKey(k) === shortKey(key))

/** The certificate's own key, from its groups. */
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
