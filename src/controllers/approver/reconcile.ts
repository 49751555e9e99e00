// The approver. Of our programs, only the approver creates join tokens and approves agents' certificates. It runs in its own role, with an identity
// that can do nothing else.
import type { RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import type { AgentIdentity, TokenRhythm } from '#identity/token-life.ts'
import { createAgentAccounts } from './accounts/agent-accounts.ts'
import { createApprover } from './certificates/csr-approver.ts'
import { createTokenKeeper } from './join-tokens/join-tokens.ts'
import { createRevokedList } from './certificates/revoked-list.ts'

export interface ApproverContext extends Omit<ControllerContext, 'config'> {
  /** Lifetime of certificates. Default: one week. */
  readonly lifeSeconds?: number
  /** The identity for agents that join from now on. Default: a certificate. Agents that already joined keep theirs. */
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
