// How well the predictions held that were recorded when earlier rollouts began. Pure.
import type { ControllerRevision } from '#controllers/componentset/revisions/revisions.ts'
import { quantile } from '#lib/quantile.ts'
import { endOf, predictionOf } from './recorded-prediction.ts'

export interface Accuracy {
  /** Rollouts that were predicted and have completed; of many, the last ones. */
  readonly changes: number
  /** Half of the predictions were off by at most this share of what the rollout took. Undefined without changes. */
  readonly medianError?: number
}

/** Older fleets and older recorded durations say little about the next rollout. */
const MOST_CHANGES = 20

export function accuracyOf(revisions: readonly ControllerRevision[]): Accuracy {
  const ended = revisions.flatMap((revision) => {
    const prediction = predictionOf(revision)
    const end = prediction && endOf(revision, prediction)
    if (prediction === undefined || end === undefined) return []
    return [{ endedAt: end.endedAt, error: Math.abs(prediction.seconds * 1_000 - end.tookMs) / end.tookMs }]
  })
  const last = ended.toSorted((a, b) => b.endedAt - a.endedAt).slice(0, MOST_CHANGES)
  const medianError = quantile(
    last.map((e) => e.error),
    0.5,
  )
  return medianError === undefined ? { changes: 0 } : { changes: last.length, medianError }
}
