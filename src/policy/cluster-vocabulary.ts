// The cluster facts that rules of a DefenderPolicy may use.
import type { Vocabulary } from './vocabulary.ts'

const number = (doc: string) => ({ type: 'number', doc }) as const

export const clusterVocabulary: Vocabulary = {
  facts: {
    cluster: {
      type: 'object',
      fields: {
        machines: number('All machines that serve or have served, and Nodes without a Machine.'),
        unavailable: number('Machines that are unavailable or of unknown state.'),
        unavailableShare: number('Unavailable machines as a share of all, from 0 to 1.'),
        silent: number('Machines whose agent or kubelet is silent.'),
        inFlight: number('Granted operations that are still running.'),
      },
    },
  },
}
