// Lanes of a controller whose reconciles last long. A worker that waited for its turn would be missing for other objects: a thousand hosts behind one jump host
// would take all of them.
import type { Reconcile } from './controller.ts'
import { requeueAfter } from './outcome.ts'

/** A group of objects, of which only so many are reconciled at once. */
export interface Lane {
  readonly name: string
  readonly most: number
}

/** Nothing is read or written to find out. */
const AGAIN_MS = 2_000

/** `laneOf`: the lane of the next reconcile of a name; undefined: it needs none. A reconcile whose lane is full is repeated later. */
export function inLane(laneOf: (name: string) => Lane | undefined, reconcile: Reconcile): Reconcile {
  const inside = new Map<string, number>()
  return async (name, context) => {
    const lane = laneOf(name)
    if (lane === undefined) return reconcile(name, context)
    const taken = inside.get(lane.name) ?? 0
    if (taken >= lane.most) return requeueAfter(AGAIN_MS)
    inside.set(lane.name, taken + 1)
    try {
      return await reconcile(name, context)
    } finally {
      const left = (inside.get(lane.name) ?? 1) - 1
      if (left === 0) inside.delete(lane.name)
      else inside.set(lane.name, left)
    }
  }
}
