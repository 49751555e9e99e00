// Which commit brought each version of a set. Pure.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { Status } from '../seen.ts'
import type { Revisions } from './tracks.ts'
import { defined } from '#lib/defined.ts'

type Versions = NonNullable<Status['versions']>

/** A commit that changes something else in the set does not count. */
export function versionsOf({ update }: Revisions, { metadata, status }: MachineComponentSet): Versions {
  const commit = metadata.annotations?.[ANNOTATIONS.commit]
  const before = new Map(status?.versions?.map((v) => [v.component, v]))
  return (update.data?.components ?? []).map(({ name, version }) => {
    const known = before.get(name)
    if (known?.version === version) return known
    return { component: name, version, ...defined({ commit }) }
  })
}

const COMMIT_ID = /^[0-9a-f]{40}([0-9a-f]{24})?$/

/**
 * The one commit whose revert takes a version back. If the set, its revision and the version name different commits, several commits changed the set,
 * and the right one to revert must be found in the repository.
 */
export function commitToRevert(revisions: Revisions, set: MachineComponentSet, component: string): string | undefined {
  const last = set.metadata.annotations?.[ANNOTATIONS.commit]
  const recorded = revisions.update.metadata.annotations?.[ANNOTATIONS.commit]
  const brought = versionsOf(revisions, set).find((v) => v.component === component)?.commit
  return last !== undefined && COMMIT_ID.test(last) && last === recorded && last === brought ? last : undefined
}
