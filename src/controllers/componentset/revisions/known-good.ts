// Whether a version completed its ladder on this set at any time, with the same content and configuration: one machine alone does not speak against it.
import { completedIn, isSameVersion } from '#api/protocol/healthy-before.ts'
import type { ComponentTarget } from '#api/protocol/component-order.ts'
import type { ControllerRevision } from './revisions.ts'
import type { Seen } from '../seen.ts'
import { healthyVersionOf } from './way-back.ts'

/** What people went back from since is known good too: the machines that had it were well. */
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
