import { describe, expect, test } from 'vitest'
import { ANNOTATIONS } from '#api/names.ts'
import { completedText } from '#api/protocol/healthy-before.ts'
import { type ControllerRevision, newRevision } from '#controllers/componentset/revisions/revisions.ts'
import { timestamp } from '#lib/clock.ts'
import { START, componentSet } from '#test/support/fleets/rollout-fleet.ts'
import { accuracyOf } from './accuracy.ts'
import { predictionText } from './recorded-prediction.ts'

const MINUTE = 60_000
const versions = { beacon: '1.0.0', relay: '2.0.0' }

interface Case {
  readonly predictedMinutes?: number
  readonly beganAt?: number
  /** By component: when its ladder completed. */
  readonly completed?: Readonly<Record<string, number>>
  readonly leftAt?: number
  readonly switched?: readonly string[]
  readonly number?: number
}

const revisionOf = ({
  predictedMinutes = 10,
  beganAt = START,
  completed = { beacon: START + 8 * MINUTE },
  leftAt,
  switched = ['beacon'],
  number = 1,
}: Case): ControllerRevision => {
  const made = newRevision(componentSet(versions), [])
  const entries = Object.entries(completed).map(([name, at]) => {
    const version = versions[name as keyof typeof versions]
    const left = leftAt === undefined ? {} : { leftAt: timestamp(leftAt) }
    return [name, { version, digest: 'a'.repeat(64), at: timestamp(at), ...left }] as const
  })
  const predicted = predictionText({ revision: number, seconds: predictedMinutes * 60, components: switched }, beganAt)
  const annotations = { [ANNOTATIONS.predicted]: predicted, [ANNOTATIONS.completed]: completedText(new Map(entries)) }
  return { ...made, metadata: { ...made.metadata, annotations } }
}
const failedAt = (minute: number, component = 'beacon'): ControllerRevision => {
  const made = revisionOf({})
  const [since, liftedAt] = [timestamp(START + minute * MINUTE), timestamp(START + (minute + 1) * MINUTE)]
  const evidence = JSON.stringify([{ component, since, reason: 'ProbeFailed', machines: [], liftedAt }])
  return {
    ...made,
    metadata: { ...made.metadata, annotations: { ...made.metadata.annotations, [ANNOTATIONS.blocked]: evidence } },
  }
}
const withText = (predicted: string): ControllerRevision => {
  const made = revisionOf({})
  const annotations = { ...made.metadata.annotations, [ANNOTATIONS.predicted]: predicted }
  return { ...made, metadata: { ...made.metadata, annotations } }
}

describe('the accuracy of earlier predictions', () => {
  test('is the median share by which they were off', () => {
    const took = (minutes: number) => revisionOf({ completed: { beacon: START + minutes * MINUTE } })
    expect(accuracyOf([took(8), took(10), took(20)])).toEqual({ changes: 3, medianError: 0.25 })
  })

  test('counts a rollout as long as its last component took, and only components that it switched', () => {
    const completed = { beacon: START - MINUTE, relay: START + 5 * MINUTE }
    expect(accuracyOf([revisionOf({ completed, switched: ['relay'] })])).toEqual({ changes: 1, medianError: 1 })
    const both = { beacon: START + 20 * MINUTE, relay: START + 5 * MINUTE }
    expect(accuracyOf([revisionOf({ completed: both, switched: ['beacon', 'relay'] })]).medianError).toBe(0.5)
  })

  test.each<readonly [string, ControllerRevision]>([
    ['runs or failed', revisionOf({ completed: {} })],
    ['failed, and completed after a retry', failedAt(4)],
    ['has a component that did not complete', revisionOf({ switched: ['beacon', 'relay'] })],
    ['completed before, under an earlier declaration', revisionOf({ completed: { beacon: START - MINUTE } })],
    ['was predicted as an earlier number of the revision', revisionOf({ number: 7 })],
    ['has no prediction', withText('')],
    ['has a damaged prediction', withText('{"revision":1,"at":"now","seconds":-5,"components":"all"}')],
    ['has a prediction that is not an object', withText('[]')],
  ])('leaves out a rollout that %s', (_, revision) => {
    expect(accuracyOf([revision])).toEqual({ changes: 0 })
  })

  test('counts a rollout that completed, also if the set left its version later', () => {
    expect(accuracyOf([revisionOf({ leftAt: START + 9 * MINUTE })])).toEqual({ changes: 1, medianError: 0.25 })
  })

  test.each<readonly [string, ControllerRevision]>([
    ['before this rollout of it', failedAt(-60)],
    ['in a component that the rollout does not switch', failedAt(4, 'relay')],
  ])('counts a rollout of a revision that failed %s', (_, revision) => {
    expect(accuracyOf([revision]).changes).toBe(1)
  })

  test('is about the last twenty', () => {
    const old = revisionOf({ predictedMinutes: 80 })
    const later = (n: number) => {
      const beganAt = START + n * 3_600_000
      return revisionOf({ predictedMinutes: 8, beganAt, completed: { beacon: beganAt + 8 * MINUTE } })
    }
    const all = [...Array.from({ length: 30 }, () => old), ...Array.from({ length: 20 }, (_, n) => later(n + 1))]
    expect(accuracyOf(all)).toEqual({ changes: 20, medianError: 0 })
  })
})
