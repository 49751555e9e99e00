// Whether a version ever completed its ladder on this set with the same content and configuration. If so, one failed machine does not count against
// it.
import { completedIn, isSameVersion } from '#api/protocol/healthy-before.ts'
import type { ComponentTarget } from '#api/protocol/component-order.ts'
import type { ControllerRevision } from './revisions.ts'
import type { Seen } from '../seen.ts'
import { healthyVersionOf } from './way-back.ts'

/** A version that people went back from is also known good: the machines that had it were healthy. */
export function wasHealthyHere(
  target: ComponentTarget,
  revisions: readonly ControllerRevision[],
  components: Seen['components'],
): boolean {
  const wanted = healthyVersionOf(target, components)
  if (wanted === undefined) return false
  return revisions.some((revision) => {
    const known = completedIn(revision).get(target.name)
    return known?.at !== undefined && isSameVersion(known, wanted)
  })
}
