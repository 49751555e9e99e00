// The facts about the cluster that rules of a DefenderPolicy may name, and how they are counted from what the Defender sees.
import type { Facts } from '#policy/reading.ts'
import type { Vocabulary } from '#policy/vocabulary.ts'
import type { FleetView } from './fleet.ts'

const number = (doc: string) => ({ type: 'number', doc }) as const

export const clusterVocabulary: Vocabulary = {
  facts: {
    cluster: {
      type: 'object',
      fields: {
        machines: number('All machines, and Nodes without one.'),
        unavailable: number('Those that do not work, or of which nobody knows.'),
        unavailableShare: number('The same as a share, from 0 to 1.'),
        silent: number('Those whose agent or kubelet is not heard of.'),
        inFlight: number('Grants in flight.'),
      },
    },
  },
}

/** A cluster without machines has no share; that is unknown, not zero. */
export function clusterFacts(fleet: FleetView, inFlight: number): Facts {
  const machines = fleet.units.filter((u) => u.space === 'machines')
  const unavailable = machines.filter((u) => u.health !== 'Healthy').length
  const unavailableShare = machines.length === 0 ? undefined : unavailable / machines.length
  const silent = machines.filter((u) => u.isSilent).length
  return { cluster: { machines: machines.length, unavailable, unavailableShare, silent, inFlight } }
}
