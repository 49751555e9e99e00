// Whether the inspections of a step hold. What cannot be read does not hold.
import { isNodeReady, type Node } from '#nodeops/objects.ts'
import type { Reading } from './reading.ts'
import type { Lookup } from './lookup.ts'
import type { Rollout } from './seen.ts'

export type Inspection = NonNullable<Rollout['inspections']>[number]

/** A step that nobody asked to inspect is still looked at. */
const BUILT_IN: readonly Inspection[] = [
  { name: 'node-ready', nodeReady: {}, timeout: '5m' },
  { name: 'components-healthy', componentsHealthy: {}, timeout: '5m' },
]

export const inspectionsOf = ({ inspections }: Rollout): readonly Inspection[] =>
  inspections === undefined || inspections.length === 0 ? BUILT_IN : inspections

/** What this controller cannot do yet must not be skipped silently. */
export const unsupportedInspection = (rollout: Rollout): Inspection | undefined =>
  rollout.inspections?.find((i) => i.http !== undefined || i.prometheus !== undefined || i.podProbe !== undefined)

export interface Finding {
  readonly inspection: Inspection
  readonly machine: string
  readonly others: number
}

/** The first inspection that does not hold; `slack` machines may be lost to causes of their own. */
export function firstFinding(
  inspections: readonly Inspection[],
  machines: readonly Reading[],
  nodes: Lookup<Node>,
  slack: number,
): Finding | undefined {
  for (const inspection of inspections) {
    const bad = machines.filter((m) => !holds(inspection, m, nodes))
    const [first] = bad
    if (first !== undefined && bad.length > slack) return { inspection, machine: first.name, others: bad.length - 1 }
  }
  return undefined
}

function holds(inspection: Inspection, { machine, health }: Reading, nodes: Lookup<Node>): boolean {
  if (health === 'Silent') return false
  const ref = machine.status?.nodeRef
  const node = ref && nodes.get(ref.name)
  if (inspection.nodeReady !== undefined) return isNodeReady(node)
  if (inspection.componentsHealthy !== undefined)
    return machine.status?.components?.every((c) => c.state !== 'Degraded' && c.state !== 'Failed') ?? false
  if (inspection.conditionAbsent !== undefined) {
    const { type, status } = inspection.conditionAbsent
    return node !== undefined && !node.status?.conditions?.some((c) => c.type === type && c.status === status)
  }
  return false
}
