// Which objects a source may write, and therefore also delete. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { ObjectRef } from './object-ref.ts'

export type Writes = NonNullable<FleetSource['spec']['writes']>

/**
 * What the list lacks for the object, in the list's syntax. Empty if the source may write it. Without a list everything is allowed: a fleet with one
 * source needs none.
 */
export function missingWrites(
  writes: Writes | undefined,
  { group, kind, namespace, name }: ObjectRef,
): readonly string[] {
  if (writes === undefined) return []
  const listed = group === '' ? kind : `${kind}.${group}`
  const within = group === '' && kind === 'Namespace' ? name : namespace
  return [
    ...(writes.kinds.includes(listed) ? [] : [`kind ${listed}`]),
    ...(within === '' || writes.namespaces.includes(within) ? [] : [`namespace ${within}`]),
  ]
}

export const mayWrite = (writes: Writes | undefined, ref: ObjectRef): boolean => missingWrites(writes, ref).length === 0
