// Machines whose agents miss their heartbeats: until they count as silent, their status is what they reported last. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { agentLeaseName } from '#api/names.ts'
import { formatDuration } from '#lib/duration.ts'
import type { Lease } from '#runtime/lease.ts'
import { machineCondition, type MachineCondition } from './attention/observed.ts'
import type { Finding } from './finding.ts'

/** Two renewals were missed. */
const LATE_AFTER_MS = 25_000
const BEYOND: ReadonlySet<string> = new Set(['Pending', 'Provisioning', 'Deleting', 'Lost'])

const PREFIX = agentLeaseName('')

export const heartbeatsIn = (leases: readonly Lease[]): ReadonlyMap<string, number> =>
  new Map(
    leases.flatMap(({ metadata: { name = '' }, spec }) => {
      const renewed = Date.parse(spec?.renewTime ?? '')
      return name.startsWith(PREFIX) && !Number.isNaN(renewed) ? [[name.slice(PREFIX.length), renewed] as const] : []
    }),
  )

/** By the clock of the reader, which may differ from that of the node: a hint, and no verdict. Undefined: in time, or its status tells. */
export function lateSince(
  { phase, silent }: Pick<MachineCondition, 'phase' | 'silent'>,
  renewed: number | undefined,
  now: number,
): number | undefined {
  if (renewed === undefined || silent !== 'No' || BEYOND.has(phase)) return undefined
  return now - renewed < LATE_AFTER_MS ? undefined : renewed
}

/** What is to be known of a status that may be out of date. */
export const LATE_TEXT = 'this state may be out of date'
export const LATE_ENDS = 'its agent reports again, or counts as silent'

export function lateHeartbeat(machine: Machine, lease: Lease | undefined, now: number): readonly Finding[] {
  const { name = '' } = machine.metadata
  const renewed = lease && heartbeatsIn([lease]).get(name)
  const since = lateSince(machineCondition(machine), renewed, now)
  if (since === undefined) return []
  return [
    {
      text: `No heartbeat from its agent for ${formatDuration(now - since)}: ${LATE_TEXT}`,
      cause: LATE_CAUSE,
      urgency: 'Waiting',
      since,
      ends: LATE_ENDS,
    },
  ]
}

export const LATE_CAUSE = 'machines/late'
