// Carries out one planned action and decides nothing.
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { nodeType } from '#nodes/objects.ts'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'
import type { WriteConditions } from './actions.ts'

/** Merged by type, so conditions of other writers stay. The uid protects a Node that was registered again meanwhile. */
export function act(
  client: KubeClient,
  { node, conditions }: WriteConditions,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const value = { metadata: { uid: uidOf(node) }, status: { conditions: conditions.map((c) => ({ ...c })) } }
  const options = { subresource: 'status', fieldManager: FIELD_MANAGERS.nodeLifecycle, signal }
  return outcomeOf(() => client.patch(nodeType, { name: nameOf(node) }, { type: 'strategic', value }, options))
}
