// A machine and its Node in their settled state, copied from a pattern: this saves settling two hundred machines in each run.
import type { Machine } from '#api/kinds/machine.ts'
import { LABELS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import type { Node } from '#nodes/objects.ts'

export interface Pattern {
  readonly machine: Machine
  readonly node: Node
}

/** By version: a member of the set, and a machine without a set. */
export type Rested = ReadonlyMap<string, Pattern>

export const patternOf = (version: string, isMember: boolean): string => `${version} ${isMember}`

export interface Place {
  readonly name: string
  readonly zone: string
  readonly class: string
  readonly version: string
  readonly isMember: boolean
  /** Since when it has been at rest. */
  readonly at: number
}

/** The objects of one more machine; undefined where there is no pattern of its version. */
export function restedCopy(rested: Rested, place: Place, newUid: () => string): Pattern | undefined {
  const { name, zone, version, isMember, at } = place
  const pattern = rested.get(patternOf(version, isMember))
  if (pattern === undefined) return undefined
  const [uid, nodeUid] = [newUid(), newUid()]
  const { machine, node } = pattern
  const { status } = machine
  const since = timestamp(at)
  const named = { name, creationTimestamp: since }
  return {
    machine: {
      ...machine,
      metadata: { ...machine.metadata, ...named, uid },
      spec: { ...machine.spec, providerID: `hollow://${name}`, zone, class: place.class },
      status: {
        ...status,
        nodeRef: { name, uid: nodeUid },
        conditions: status?.conditions?.map((c) => ({ ...c, lastTransitionTime: since })),
        components: status?.components?.map((c) => ({ ...c, since })),
      } as NonNullable<Machine['status']>,
    },
    node: {
      ...node,
      metadata: {
        ...node.metadata,
        ...named,
        uid: nodeUid,
        labels: { ...node.metadata.labels, [LABELS.zone]: zone, [LABELS.class]: place.class },
      },
    },
  }
}
