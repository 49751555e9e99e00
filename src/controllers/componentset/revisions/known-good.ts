// Whether a version completed its ladder on this set at any time, with the same content and configuration: one machine alone does not speak against it.
import { completedIn, isSameVersion } from '#api/protocol/healthy-before.ts'
import { definitionDigest } from '#api/trust/statement.ts'
import { defined } from '#lib/defined.ts'
import { componentObjectName } from '#lib/names.ts'
import type { Assignment } from '#api/protocol/assignment.ts'
import type { ControllerRevision } from './revisions.ts'
import type { Seen } from '../seen.ts'

/** What people went back from since is known good too: the machines that had it were well. */
export function wasHealthyHere(
  assigned: Assignment,
  revisions: readonly ControllerRevision[],
  components: Seen['components'],
): boolean {
  if (assigned.kind === 'Remove') return false
  const { component, version, config } = assigned
  const definition = components.get(componentObjectName(component, version))
  if (definition === undefined) return false
  const wanted = { version, digest: definitionDigest(definition), ...defined({ config }) }
  return revisions.some((revision) => {
    const known = completedIn(revision).get(component)
    return known?.at !== undefined && isSameVersion(known, wanted)
  })
}
