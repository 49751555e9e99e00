// A user's decision about an agent that lost its identity: the host is confirmed as the same one, and may rejoin in this way. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { hasAcceptedKey, recordedKey } from './agent-key.ts'

export interface Readmission {
  readonly uid: string
  readonly until: string
  /** The key on record at the time of the decision, empty for none. When the host is back, the decision has been used. */
  readonly replaces: string
  /** Includes a join token: also for a host whose certificate has expired. */
  readonly token: boolean
}

export function readmission(machine: Machine, untilMs: number, token: boolean): string {
  const { uid = '' } = machine.metadata
  const recorded: Readmission = { uid, until: timestamp(untilMs), replaces: recordedKey(machine) ?? '', token }
  return JSON.stringify(recorded)
}

/** For exactly this Machine, and until it expires. A policy allows only users who may create machines/readmit to write it. */
export function readmissionOf(machine: Machine, nowMs: number): Readmission | undefined {
  const recorded = recordedOf(machine, nowMs)
  return recorded !== undefined && (recordedKey(machine) ?? '') === recorded.replaces ? recorded : undefined
}

/** A host rejoined with a join token: its key is on record, but it may not have its answer yet. */
export function usedReadmissionOf(machine: Machine, nowMs: number): Readmission | undefined {
  const recorded = recordedOf(machine, nowMs)
  const key = recordedKey(machine)
  return recorded?.token === true && key !== undefined && key !== recorded.replaces && hasAcceptedKey(machine)
    ? recorded
    : undefined
}

function recordedOf({ metadata }: Machine, nowMs: number): Readmission | undefined {
  try {
    const recorded: unknown = JSON.parse(metadata.annotations?.[ANNOTATIONS.readmit] ?? 'null')
    if (!isObject(recorded) || recorded['uid'] !== metadata.uid || typeof recorded['until'] !== 'string')
      return undefined
    const { uid, until, replaces } = recorded
    if (typeof replaces !== 'string' || !(Date.parse(until) > nowMs)) return undefined
    return { uid: String(uid), until, replaces, token: recorded['token'] === true }
  } catch {
    return undefined
  }
}
