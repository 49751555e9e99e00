// Turns at jump hosts. A worker that waited for its turn would be missing for other hosts: a thousand behind one jump host would take all of them.
import type { SshSpec } from '#api/kinds/machine.ts'
import type { Reconcile } from '#runtime/controller.ts'
import { requeueAfter } from '#runtime/outcome.ts'
import { PER_JUMP_HOST } from '#ssh/ssh-sessions.ts'

/** Nothing is read or written to find out. */
const AGAIN_MS = 2_000

export type JumpHost = Pick<NonNullable<SshSpec['jump']>, 'host' | 'port'>

/**
 * `jumpOf`: the jump host through which the next reconcile of a name opens a session, if it opens one. Such a reconcile runs only when one of the turns is
 * free, and is repeated otherwise; all others need no turn.
 */
export function inTurnAtJump(jumpOf: (name: string) => JumpHost | undefined, reconcile: Reconcile): Reconcile {
  const inside = new Map<string, number>()
  return async (name, context) => {
    const jump = jumpOf(name)
    if (jump === undefined) return reconcile(name, context)
    const at = `${jump.host}:${jump.port}`
    const taken = inside.get(at) ?? 0
    if (taken >= PER_JUMP_HOST) return requeueAfter(AGAIN_MS)
    inside.set(at, taken + 1)
    try {
      return await reconcile(name, context)
    } finally {
      const left = (inside.get(at) ?? 1) - 1
      if (left === 0) inside.delete(at)
      else inside.set(at, left)
    }
  }
}
