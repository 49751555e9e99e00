// The facts that custom gates of a ReleasePipeline may use: a cluster, its labels, its stage, and the release.
import type { Vocabulary } from './vocabulary.ts'

const number = (doc: string) => ({ type: 'number', doc }) as const
const string = (doc: string) => ({ type: 'string', doc }) as const

export const releaseVocabulary: Vocabulary = {
  facts: {
    cluster: {
      type: 'object',
      fields: {
        name: string('Name of the cluster; hub for the hub itself.'),
        machines: number('All machines.'),
        ready: number('Machines that are Ready.'),
        readyShare: number('Ready machines as a share of all, from 0 to 1; unknown without machines.'),
        newNotReady: number('Machines that are not Ready and were before the release.'),
        consistent: number('Machines that run what is declared for them.'),
        consistentShare: number('Consistent machines as a share of all, from 0 to 1; unknown without machines.'),
        newInconsistent: number('Inconsistent machines that were consistent before the release, without skipped ones.'),
        skipped: number('Machines that their sets leave for later.'),
        repairsLastHour: number('Repairs that started in the last hour.'),
        repairsLastDay: number('Repairs that started in the last 24 hours.'),
        newRepairs: number(
          'Repairs that started since the release began there, of nodes that were well before; before it, all known ones.',
        ),
      },
    },
    labels: { type: 'map', of: { type: 'string' }, doc: 'A label of the Cluster.' },
    stage: {
      type: 'object',
      fields: {
        name: string('Name of the stage.'),
        healthy: number('Its clusters that are healthy.'),
        failed: number('Its clusters that failed.'),
        offline: number('Its clusters that do not respond.'),
        total: number('All its clusters.'),
        minutes: number('Minutes since the stage opened; unknown before.'),
      },
    },
    release: {
      type: 'object',
      fields: {
        track: string('The track.'),
        signer: string('Who signed the commit; unknown without a signature.'),
        isRevert: { type: 'boolean', doc: 'The commit reverts another one.' },
        clusters: number('Clusters that the release has objects for.'),
        changed: number('Clusters whose objects it changes.'),
        minutes: number('Minutes since the first stage was reached.'),
      },
    },
  },
}
