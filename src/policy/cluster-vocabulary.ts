// The facts about a cluster and a target's pool that rules of a DefenderPolicy may use.
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
    pool: {
      type: 'object',
      doc: 'The pool of the target. Rules about it let recoveries pass.',
      fields: {
        name: { type: 'string', doc: 'Its name.' },
        budgetLeft: number(
          'Share of its error budget of the last 30 days (99.9 % of node-seconds good) that is left: 1 untouched, 0 spent, below 0 overspent. Unknown if it was not measured in the last half hour.',
        ),
      },
    },
  },
}
