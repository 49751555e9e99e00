// What a set's ControllerRevision records of the prediction that was made when its rollout began, and how long the rollout took. A text that cannot be read
// counts as no prediction.
import { ANNOTATIONS } from '#api/names.ts'
import { completedIn } from '#api/protocol/healthy-before.ts'
import { hasFailedSince } from '#controllers/componentset/revisions/blocks.ts'
import type { ControllerRevision } from '#controllers/componentset/revisions/revisions.ts'
import { timestamp } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'

export interface RecordedPrediction {
  /** Number of the revision: a revision that is declared again is another rollout. */
  readonly revision: number
  /** When it was made. */
  readonly at: string
  readonly seconds: number
  /** Components that the rollout switches. */
  readonly components: readonly string[]
}

/** A set has at most as many components as a machine may. */
const MAX_COMPONENTS = 64
const MAX_NAME_CHARS = 253
/** Nothing is predicted further ahead. */
const MAX_SECONDS = 14 * 86_400

export const predictionText = (
  { revision, seconds, components }: Omit<RecordedPrediction, 'at'>,
  now: number,
): string =>
  JSON.stringify({ revision, at: timestamp(now), seconds, components: components.toSorted().slice(0, MAX_COMPONENTS) })

/** The prediction of this revision's last rollout; undefined if there is none. */
export function predictionOf({ metadata, revision }: ControllerRevision): RecordedPrediction | undefined {
  const read = parsed(metadata.annotations?.[ANNOTATIONS.predicted] ?? '')
  return read?.revision === revision ? read : undefined
}

function parsed(text: string): RecordedPrediction | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return isPrediction(value) ? value : undefined
}

const isPrediction = (value: unknown): value is RecordedPrediction =>
  isObject(value) &&
  Number.isInteger(value['revision']) &&
  typeof value['at'] === 'string' &&
  !Number.isNaN(Date.parse(value['at'])) &&
  typeof value['seconds'] === 'number' &&
  value['seconds'] > 0 &&
  value['seconds'] <= MAX_SECONDS &&
  isNames(value['components'])

const isNames = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= MAX_COMPONENTS &&
  value.every((name) => typeof name === 'string' && name.length <= MAX_NAME_CHARS)

interface EndedRollout {
  readonly endedAt: number
  readonly tookMs: number
}

/**
 * When the rollout of a prediction completed: once the last of its components did. Undefined while it runs, and for ever if it failed, also if a retry completed
 * it, or another revision took its place: how long it would have taken is unknown.
 */
export function endOf(revision: ControllerRevision, { at, components }: RecordedPrediction): EndedRollout | undefined {
  const began = Date.parse(at)
  if (hasFailedSince(revision, components, began)) return undefined
  const completed = completedIn(revision)
  let endedAt = began
  for (const name of components) {
    // A version that the set left later had completed before.
    const when = Date.parse(completed.get(name)?.at ?? '')
    if (!(when > began)) return undefined
    endedAt = Math.max(endedAt, when)
  }
  return { endedAt, tookMs: endedAt - began }
}
