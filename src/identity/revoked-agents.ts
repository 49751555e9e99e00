// The revoked agents, as one ConfigMap for admission policies: policies can compare a certificate with a parameter, but cannot read a Machine. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { acceptedKeys, isRevoked, type Marked, shortKey } from './agent-key.ts'
import { LONGEST_LIFE_SECONDS } from './certificate-life.ts'

/** By uid of the Machine: when the entry can be dropped, and the keys that still count. */
export type RevokedAgents = Readonly<Record<string, string>>

/** A line takes 130 characters, and a ConfigMap holds one MiB. */
export const MAX_REVOKED = 4_096
/** No certificate lives longer, so an older entry is useless. */
const KEPT_MS = LONGEST_LIFE_SECONDS * 1_000

const untilOf = (entry: string): number => Date.parse(entry.split(' ')[0] ?? '')
const entryOf = (untilMs: number, keys: readonly string[]): string =>
  [timestamp(untilMs), ...keys.map(shortKey)].join(' ')

function revokedAt({ metadata }: Marked): number {
  try {
    const recorded: unknown = JSON.parse(metadata.annotations?.[ANNOTATIONS.revoked] ?? '')
    return isObject(recorded) && typeof recorded['at'] === 'string' ? Date.parse(recorded['at']) : Number.NaN
  } catch {
    // An unreadable revocation still counts, from now on.
    return Number.NaN
  }
}

/** The entries for these Machines. A deleted Machine keeps its entry, without any key, until its certificates have expired. */
export function revokedAgents(before: RevokedAgents, machines: readonly Machine[], nowMs: number): RevokedAgents {
  const live = new Map(machines.map((m) => [m.metadata.uid ?? '', m]))
  const expired = Object.entries(before).flatMap(([uid, entry]): [string, string][] =>
    live.has(uid) || Number.isNaN(untilOf(entry)) ? [] : [[uid, entryOf(untilOf(entry), [])]],
  )
  const revoked = machines.filter(isRevoked).map((machine): [string, string] => {
    const { uid = '' } = machine.metadata
    const at = revokedAt(machine)
    const known = untilOf(before[uid] ?? '')
    const until = Number.isNaN(at) ? (Number.isNaN(known) ? nowMs + KEPT_MS : known) : Math.min(at, nowMs) + KEPT_MS
    return [uid, entryOf(until, acceptedKeys(machine))]
  })
  const entries = [...expired, ...revoked]
    .filter(([uid, entry]) => uid !== '' && untilOf(entry) > nowMs)
    .toSorted(([a, x], [b, y]) => untilOf(y) - untilOf(x) || (a < b ? -1 : 1))
    .slice(0, MAX_REVOKED)
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
