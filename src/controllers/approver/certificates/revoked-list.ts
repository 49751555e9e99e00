// Maintains the list of revoked agents that the policy kubenode-revoked-agents checks certificates against. It is one ConfigMap, and only the
// approver writes it.
import { machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS, REVOKED_AGENTS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { jsonEqual } from '#lib/json.ts'
import { RepeatedLine } from '#lib/repeated-line.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isRevoked } from '#identity/agent-key.ts'
import { type RevokedAgents, revokedAgents } from '#identity/revoked-agents.ts'
import type { Controller, ReconcileContext } from '#runtime/controller.ts'
import { controllerIn } from '#runtime/module.ts'
import { requireFresh } from '#runtime/informers.ts'
import { type Outcome, done, requeueAfter, retry } from '#runtime/outcome.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import type { ControllerContext } from '../../module.ts'

export const revokedListType = coreKind('ConfigMap')
export const REVOKED_LIST = { namespace: SYSTEM_NAMESPACE, name: REVOKED_AGENTS } as const

const KEY = 'all'
/** If the list is deleted, revoked agents get in until it is back. One check costs one read. */
const REQUEUE_MS = 5_000
const fieldManager = FIELD_MANAGERS.approver

export function createRevokedList(context: Omit<ControllerContext, 'config'>): Controller {
  const { client, informers, clock } = context
  const machines = informers.of(machineType)
  // For deleted Machines, this list is the only record of the revocation.
  let listed: RevokedAgents = {}
  const missing = new RepeatedLine(clock)
  const controller = controllerIn(context, {
    name: 'revoked-agents',
    allKeys: () => [KEY],
    reconcile: async (_, { signal, log: keyLog }: ReconcileContext): Promise<Outcome> => {
      requireFresh([machines])
      const found = await client.get(revokedListType, REVOKED_LIST, { signal })
      const before = found?.data ?? {}
      const now = revokedAgents({ ...listed, ...before }, machines.list(), clock.now())
      if (found === undefined) {
        // The installer creates the ConfigMap, and the controllers recreate it. The approver cannot: the right to create it would allow it to create
        // any ConfigMap.
        const isNeeded = Object.keys(now).length > 0
        const due = isNeeded ? missing.due(REVOKED_AGENTS) : undefined
        if (due !== undefined)
          keyLog.warn('cannot list revoked agents: apply deploy/install', { configMap: REVOKED_AGENTS, ...due })
        return isNeeded ? requeueAfter(REQUEUE_MS) : done
      }
      missing.ended()
      if (!jsonEqual(before, now)) {
        const written = await updateExactly(client, revokedListType, { ...found, data: now }, { fieldManager, signal })
        if (written.kind !== 'Applied') return retry(written.error)
        keyLog.info('revoked agents listed', { agents: Object.keys(now).length })
      }
      listed = now
      return Object.keys(now).length === 0 ? done : requeueAfter(REQUEUE_MS)
    },
  })
  machines.onChange((before, now) => {
    if ([before, now].some((m) => m !== undefined && isRevoked(m))) controller.enqueue(KEY, { urgent: true })
  })
  return controller
}
