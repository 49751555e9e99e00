// The approver: of our programs it alone makes join tokens and approves agents' certificates. A role of its own, with an identity that can do nothing else.
import type { RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { createApprover } from './csr-approver.ts'
import { createTokenKeeper } from './join-tokens.ts'
import { createRevokedList } from './revoked-list.ts'

export interface ApproverContext extends Omit<ControllerContext, 'config'> {
  /** How long certificates live; a week when nothing is said. */
  readonly lifeSeconds?: number
}

export const approverModule = {
  name: 'approver',
  setup: (context: ApproverContext): RunningModule => ({
    controllers: [createTokenKeeper(context), createApprover(context), createRevokedList(context)],
  }),
} as const satisfies ControllerModule
