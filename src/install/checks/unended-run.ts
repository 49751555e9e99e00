// Finds an install, upgrade or uninstall that is running or was interrupted: by its turn, the uninstall mark and the Inventory. Pure.
import { ANNOTATIONS } from '#api/names.ts'
import type { Inventory } from '#api/kinds/inventory.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { TurnSeen } from '../turn.ts'

/** `by`: its name in the Lease. */
export type UnendedRun =
  | { readonly kind: 'Running'; readonly by: string }
  | { readonly kind: 'BrokenOff'; readonly verb: 'install' | 'uninstall' }

export interface RunTraces {
  readonly turn: TurnSeen | undefined
  /** KubeNode's own. */
  readonly namespace: KubeObject | undefined
  readonly inventory: Inventory | undefined
}

export function unendedRun({ turn, namespace, inventory }: RunTraces): UnendedRun | undefined {
  if (turn?.isRenewed === true) return { kind: 'Running', by: turn.by }
  if (namespace?.metadata.annotations?.[ANNOTATIONS.uninstalling] === 'true')
    return { kind: 'BrokenOff', verb: 'uninstall' }
  // A run that completes releases its turn and records what it installed.
  const isUnnoted = inventory !== undefined && inventory.spec.commit === undefined
  return turn !== undefined || isUnnoted ? { kind: 'BrokenOff', verb: 'install' } : undefined
}
