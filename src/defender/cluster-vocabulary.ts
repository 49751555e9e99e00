// The facts about the cluster that rules of a DefenderPolicy may name, and how they are counted from what the Defender sees.
import type { Facts } from '#policy/reading.ts'
import type { Vocabulary } from '#policy/vocabulary.ts'
import type { FleetView } from './fleet.ts'
import { EVERYTHING } from './tally.ts'

const number = (doc: string) => ({ type: 'number', doc }) as const

export const clusterVocabulary: Vocabulary = {
  facts: {
    cluster: {
      type: 'object',
      fields: {
        machines: number('All machines that serve or served before, and Nodes without a machine.'),
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
  const { total: machines, troubled, silent } = fleet.tally(EVERYTHING, 'machines')
  const unavailable = [...troubled].filter((u) => u.health !== 'Healthy').length
  const unavailableShare = machines === 0 ? undefined : unavailable / machines
  return { cluster: { machines, unavailable, unavailableShare, silent, inFlight } }
}
