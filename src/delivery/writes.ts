// Which objects a source may write at all, and so also take away. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { ObjectRef } from './object-ref.ts'

export type Writes = NonNullable<FleetSource['spec']['writes']>

/** Without a list everything is allowed: a fleet of one source needs none. */
export function mayWrite(writes: Writes | undefined, { group, kind, namespace, name }: ObjectRef): boolean {
  if (writes === undefined) return true
  const isKind = writes.kinds.includes(group === '' ? kind : `${kind}.${group}`)
  const within = group === '' && kind === 'Namespace' ? name : namespace
  return isKind && (within === '' || writes.namespaces.includes(within))
}
