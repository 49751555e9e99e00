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
  const ended = revisions.flatMap((revision) => comparedOf(revision) ?? [])
  const last = ended.toSorted((a, b) => b.endedAt - a.endedAt).slice(0, MOST_CHANGES)
  const medianError = quantile(
    last.map((e) => e.error),
    0.5,
  )
  return medianError === undefined ? { changes: 0 } : { changes: last.length, medianError }
}

export interface Compared {
  readonly endedAt: number
  readonly tookMs: number
  /** The share of what the rollout took by which its prediction was off. */
  readonly error: number
}

/** Undefined: it was not predicted, or says nothing about its prediction. */
export function comparedOf(revision: ControllerRevision): Compared | undefined {
  const prediction = predictionOf(revision)
  const end = prediction && endOf(revision, prediction)
  if (prediction === undefined || end === undefined) return undefined
  return { ...end, error: Math.abs(prediction.seconds * 1_000 - end.tookMs) / end.tookMs }
}
