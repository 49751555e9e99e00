// The facts about its cluster that the Defender provides to the rules of policies.
import type { Facts } from '#policy/reading.ts'
import type { FleetView } from './fleet.ts'
import { EVERYTHING } from './tally.ts'

/** Without machines, the share is unknown, not zero. */
export function clusterFacts(fleet: FleetView, inFlight: number): Facts {
  const { total: machines, troubled, silent } = fleet.tally(EVERYTHING, 'machines')
  const unavailable = [...troubled].filter((u) => u.health !== 'Healthy').length
  const unavailableShare = machines === 0 ? undefined : unavailable / machines
  return { cluster: { machines, unavailable, unavailableShare, silent, inFlight } }
}
