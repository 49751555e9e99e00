// Carries out one planned action and decides nothing.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { logRequest } from '#api/kinds/log-request.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { assertNever } from '#lib/errors.ts'
import { applyObject } from '#kube/apply.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'
import type { LogAction } from './actions.ts'

export async function act(client: KubeClient, action: LogAction, signal: AbortSignal): Promise<ActionOutcome> {
  switch (action.kind) {
    case 'ListRequests': {
      // With the uid, an apply never recreates a deleted machine.
      const metadata = { name: nameOf(action.machine), uid: uidOf(action.machine) }
      const object = { apiVersion: API_GROUP_VERSION, kind: 'Machine', metadata, spec: { logs: action.tickets } }
      return applyObject(client, machineType, object, { fieldManager: FIELD_MANAGERS.logs, force: true, signal })
    }
    case 'DeleteRequest': {
      // Only its age decides. The agent's answer changes nothing.
      const { request } = action
      const preconditions = { uid: uidOf(request) }
      return outcomeOf(() => client.delete(logRequest, { name: nameOf(request) }, { preconditions, signal }))
    }
    default:
      return assertNever(action)
  }
}
