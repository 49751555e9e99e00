// The history role: the recorder of one cluster. One process may run it for many clusters, each with an identity of its own there.
import { KubeNodeError } from '#lib/errors.ts'
import { HistoryPart } from '#history/record/part.ts'
import type { RoleSetup } from '../run/role.ts'
import { runErrors } from '../run/run-errors.ts'
import type { RolesConfig } from './config.ts'

export const historyRole = ({ cluster, history }: RolesConfig): RoleSetup => ({
  setup(context) {
    if (history === undefined) throw new KubeNodeError(runErrors.KN1002_history())
    const { plainClient: client, clock, random, log, metrics } = context
    // It writes nothing to the API server.
    return [new HistoryPart({ ...history, cluster, client, clock, random, log, metrics })]
  },
})
