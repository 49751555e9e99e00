// Whether install, upgrade or uninstall is running, or was broken off: by the Lease of its turn, the mark of an uninstall and the Inventory. Pure.
import { ANNOTATIONS } from '#api/names.ts'
import type { Inventory } from '#api/kinds/inventory.ts'
import { holderOf, lapsedAt, type Lease } from '#runtime/lease.ts'
import type { KubeObject } from '#schema/object.ts'

/** `by`: as it calls itself in its Lease. */
export type UnendedRun =
  | { readonly kind: 'Running'; readonly by: string }
  | { readonly kind: 'BrokenOff'; readonly verb: 'install' | 'uninstall' }

export interface RunTraces {
  readonly lease: Lease | undefined
  /** Ours. */
  readonly namespace: KubeObject | undefined
  readonly inventory: Inventory | undefined
}

export function unendedRun({ lease, namespace, inventory }: RunTraces, now: number): UnendedRun | undefined {
  const holder = lease === undefined ? undefined : holderOf(lease)
  if (lease !== undefined && holder !== undefined && lapsedAt(lease, now) === undefined)
    return { kind: 'Running', by: holder }
  if (namespace?.metadata.annotations?.[ANNOTATIONS.uninstalling] === 'true')
    return { kind: 'BrokenOff', verb: 'uninstall' }
  // A run that ends gives its turn back, and notes what it installed.
  const isUnnoted = inventory !== undefined && inventory.spec.commit === undefined
  return holder !== undefined || isUnnoted ? { kind: 'BrokenOff', verb: 'install' } : undefined
}
