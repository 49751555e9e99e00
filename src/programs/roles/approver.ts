// The approver role: decides who may act as an agent.
import { approverModule } from '#controllers/approver/reconcile.ts'
import { partsOf } from '#runtime/module.ts'
import type { RoleSetup } from '../run/role.ts'
import type { RolesConfig } from './config.ts'
import { defined } from '#lib/defined.ts'

/** Its identity is worth that of every host, so it shares a process with other roles only if a user permits it. */
export const approverRole = ({ certificateSeconds: lifeSeconds, agentIdentity: identity }: RolesConfig): RoleSetup => ({
  setup(context) {
    const running = approverModule.setup({
      ...context,
      events: context.events(approverModule.name),
      ...defined({ lifeSeconds, identity }),
    })
    return partsOf(running, context.supervision)
  },
})
