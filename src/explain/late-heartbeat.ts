// Machines whose agents miss heartbeats. Until they count as silent, their status shows the last report. Pure.
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

/** Uses the reader's clock, which may differ from the node's: a hint, not a verdict. Undefined: in time, or the status already shows it. */
export function lateSince(
  { phase, silent }: Pick<MachineCondition, 'phase' | 'silent'>,
  renewed: number | undefined,
  now: number,
): number | undefined {
  if (renewed === undefined || silent !== 'No' || BEYOND.has(phase)) return undefined
  return now - renewed < LATE_AFTER_MS ? undefined : renewed
}

/** The note for a status that may be out of date. */
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
