// Removes cordons from Nodes whose event is over or no longer exists. Normally the event's own reconcile does this first. It cannot if the finalizer
// was removed by hand, or if the Machine was deleted and its Node has another name.
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { uncordon } from '#nodes/cordon.ts'
import { isOver } from '#nodes/faults/maintenance.ts'
import type { Controller } from '#runtime/controller.ts'
import { controllerIn } from '#runtime/module.ts'
import { done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import type { ControllerContext } from '../../module.ts'
import { BY_CLAIM, type DoctorCaches, freshen } from '../observe.ts'
import { claimsOn, ownerOf } from '../seen.ts'

const fieldManager = FIELD_MANAGERS.hostDoctor
/** For a write that another one overtook. */
const AGAIN_MS = 5_000

/** Its cordon is no longer needed. */
export const isLeft = (event: MaintenanceEvent | undefined): boolean => event === undefined || isOver(event)

/** Keyed by Node. */
export function cordonsController(
  context: ControllerContext,
  caches: DoctorCaches,
  mayGo: typeof isLeft = isLeft,
): Controller {
  const { nodes, events } = caches
  const controller = controllerIn(context, {
    name: 'hostdoctor-claims',
    allKeys: () => nodes.list().flatMap((n) => (claimsOn(n).length === 0 ? [] : [n.metadata.name ?? ''])),
    reconcile: (name, { signal }) => reconcile({ ...context, caches, mayGo }, name, signal),
  })
  events.onChange((before, now) => {
    const event = now ?? before
    if (event === undefined || !mayGo(now)) return
    for (const node of nodes.byIndex(BY_CLAIM, nameOf(event))) controller.enqueue(node.metadata.name ?? '')
  })
  return controller
}

type ClaimTools = ControllerContext & { readonly caches: DoctorCaches; readonly mayGo: typeof isLeft }

async function reconcile(
  { client, clock, random, caches, mayGo }: ClaimTools,
  name: string,
  signal: AbortSignal,
): Promise<Outcome> {
  freshen(caches)
  const node = caches.nodes.get(name)
  if (node === undefined) return done
  let outcome: Outcome = done
  for (const event of claimsOn(node)) {
    if (!mayGo(caches.events.get(event))) continue
    // A stale cache may lack a recent event.
    if (!mayGo(await client.get(maintenanceEvent, { name: event }, { signal }))) continue
    const tools = { client, clock, random, fieldManager, signal }
    const ref = { name, uid: node.metadata.uid ?? '' }
    const swap = await uncordon(tools, ref, ownerOf(event))
    if (swap.kind !== 'Swapped') outcome = requeueAfter(AGAIN_MS)
  }
  return outcome
}
