// The console role: the page for people who sign in.
import { KubeNodeError } from '#lib/errors.ts'
import { ConsolePart } from '../run/console-role.ts'
import type { RoleSetup } from '../run/role.ts'
import { runErrors } from '../run/run-errors.ts'
import type { RolesConfig } from './config.ts'

/** No leader: each replica has its own users and sessions. */
export const consoleRole = ({ cluster, connection, console: served, history }: RolesConfig): RoleSetup => ({
  setup(context) {
    if (served === undefined) throw new KubeNodeError(runErrors.KN1002_console())
    return [new ConsolePart({ ...served, cluster, connection, context, history: history?.folder })]
  },
})
