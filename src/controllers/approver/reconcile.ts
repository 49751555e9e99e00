// The approver: of our programs it alone makes join tokens and approves agents' certificates. A role of its own, with an identity that can do nothing else.
import type { RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import type { AgentIdentity, TokenRhythm } from '#identity/token-life.ts'
import { createAgentAccounts } from './accounts/agent-accounts.ts'
import { createApprover } from './certificates/csr-approver.ts'
import { createTokenKeeper } from './join-tokens/join-tokens.ts'
import { createRevokedList } from './certificates/revoked-list.ts'

export interface ApproverContext extends Omit<ControllerContext, 'config'> {
  /** How long certificates live; a week when nothing is said. */
  readonly lifeSeconds?: number
  /** What agents become that join from now on; a certificate when nothing is said. The others keep what they have. */
  readonly identity?: AgentIdentity
  readonly rhythm?: TokenRhythm
}

export const approverModule = {
  name: 'approver',
  setup: (context: ApproverContext): RunningModule => ({
    controllers: [
      createTokenKeeper(context),
      createApprover(context),
      createRevokedList(context),
      createAgentAccounts(context),
    ],
  }),
} as const satisfies ControllerModule
