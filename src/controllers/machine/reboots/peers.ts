// Whether a silent machine hangs, or only cannot be heard: a network or API server that fails silences its neighbors too. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { agentLeaseName } from '#api/names.ts'
import { rebooting } from '#api/protocol/rebooting.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { formatDuration } from '#lib/duration.ts'
import { isObserved } from '#nodes/machine-node.ts'
import { type Heartbeats, isBeating } from '../heartbeats/heartbeats.ts'

/** The other machines of its zone that should have a heartbeat; those of the cluster where it is alone in its zone. */
export interface Peers {
  readonly of: 'zone' | 'cluster'
  readonly heard: number
  readonly silent: number
  /** How long heartbeats have arrived in the cluster without a gap. */
  readonly steadyMs: number
}

/** After an outage, machines reconnect one after the other, the last of them after the longest pause between two attempts. */
export const STEADY_MS = 120_000

export function peersOf(machine: Machine, all: readonly Machine[], heartbeats: Heartbeats): Peers {
  const others = all.filter(
    (m) =>
      nameOf(m) !== nameOf(machine) && m.status?.nodeRef !== undefined && !isObserved(m) && rebooting(m) === undefined,
  )
  const inZone = others.filter((m) => m.spec.zone === machine.spec.zone)
  const of = machine.spec.zone === undefined || inZone.length === 0 ? 'cluster' : 'zone'
  const readings = (of === 'zone' ? inZone : others)
    .map((m) => heartbeats.read(agentLeaseName(nameOf(m))))
    .filter((h) => h.kind !== 'None')
  const heard = readings.filter((h) => h.kind === 'Heard' && isBeating(h) === true).length
  return { of, heard, silent: readings.length - heard, steadyMs: heartbeats.steadyMs }
}

/** Why the silence may not be the machine's. A machine without peers is judged alone. */
export function doubtOf({ of, heard, silent, steadyMs }: Peers): string | undefined {
  if (heard + silent === 0) return undefined
  if (silent >= heard) return `${silent} of ${heard + silent} other machines of the ${of} are silent too`
  return steadyMs < STEADY_MS
    ? `heartbeats of the cluster have arrived without a gap for less than ${formatDuration(STEADY_MS)}`
    : undefined
}
