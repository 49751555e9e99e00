// The facts about the cluster that rules of a DefenderPolicy may name.
import type { Vocabulary } from './vocabulary.ts'

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
