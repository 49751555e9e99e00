// What the console keeps of an object: Machines as rows, Nodes by their problems and size, all others without bookkeeping. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { objectShapeProblem } from '#api/schema/shape.ts'
import { observedNode } from '#explain/attention/observed.ts'
import { withoutManagedFields } from '#kube/trim.ts'
import { quantityValue } from '#lib/quantity.ts'
import type { Node } from '#nodes/objects.ts'
import { machineRow } from './machine-row.ts'
import { WATCHED, type WatchedKind, type WatchedNode } from './watched-kinds.ts'

export class OtherForm extends Error {}

/** Throws OtherForm if it does not have the form of its kind. */
export function watchedObject(kind: WatchedKind, object: KubeObject): KubeObject {
  const known = shaped(WATCHED[kind].type, object)
  if (kind === 'machines') return machineRow(known as Machine)
  return kind === 'nodes' ? watchedNode(known) : withoutManagedFields(known)
}

function watchedNode(node: Node): WatchedNode {
  const { cpu, memory } = node.status?.allocatable ?? {}
  const [cores, bytes] = [quantityValue(cpu), quantityValue(memory)]
  const hasBoth = cores !== undefined && bytes !== undefined
  return { ...observedNode(node), ...(hasBoth && { allocatable: { cpu: cores, memory: bytes } }) }
}

/** A malformed object under a kind's name must not end the console for all clusters: that kind is not read, and the page shows it. */
function shaped({ schema = {}, kind }: ResourceType, object: KubeObject): KubeObject {
  const problem = objectShapeProblem(schema, object)
  if (problem === undefined) return object
  throw new OtherForm(`${kind} ${String(object.metadata.name)}: ${problem}`)
}
