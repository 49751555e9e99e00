// Whether install, upgrade or uninstall is running, or was broken off: by its turn, the mark of an uninstall and the Inventory. Pure.
import { ANNOTATIONS } from '#api/names.ts'
import type { Inventory } from '#api/kinds/inventory.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { TurnSeen } from '../turn.ts'

/** `by`: as it calls itself in its Lease. */
export type UnendedRun =
  | { readonly kind: 'Running'; readonly by: string }
  | { readonly kind: 'BrokenOff'; readonly verb: 'install' | 'uninstall' }

export interface RunTraces {
  readonly turn: TurnSeen | undefined
  /** Ours. */
  readonly namespace: KubeObject | undefined
  readonly inventory: Inventory | undefined
}

export function unendedRun({ turn, namespace, inventory }: RunTraces): UnendedRun | undefined {
  if (turn?.isRenewed === true) return { kind: 'Running', by: turn.by }
  if (namespace?.metadata.annotations?.[ANNOTATIONS.uninstalling] === 'true')
    return { kind: 'BrokenOff', verb: 'uninstall' }
  // A run that ends gives its turn back, and notes what it installed.
  const isUnnoted = inventory !== undefined && inventory.spec.commit === undefined
  return turn !== undefined || isUnnoted ? { kind: 'BrokenOff', verb: 'install' } : undefined
}
