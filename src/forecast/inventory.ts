// The input of a forecast: one cluster's machines and what restricts them, at one moment. It contains no Secrets and no addresses.
import { without } from '#lib/without.ts'
import type { Approval } from '#api/kinds/approval.ts'
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { FleetSource, FleetSourceSpec } from '#api/kinds/fleet-source.ts'
import type { Inventory as AppliedShard } from '#api/kinds/inventory.ts'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { ObjectRef } from '#delivery/object-ref.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { shapeProblem } from '#api/schema/shape.ts'
import type { ControllerRevision } from '#controllers/componentset/revisions/revisions.ts'
import type { Node } from '#nodes/objects.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { INVENTORY_SHAPE } from './inventory-shape.ts'
import type { PlaneNow } from './plane-changes.ts'

export const INVENTORY_FORM = 'kubenode.io/inventory/1'

/** A PodDisruptionBudget that permits no eviction right now, and the Nodes of its pods. */
export interface FullBudget {
  readonly namespace: string
  readonly name: string
  readonly nodes: readonly string[]
}

/** What sync recorded as applied: only the identities that a deletion is approved by. The digest of a Secret would confirm guesses of its value. */
export interface AppliedObjects {
  readonly source: string
  readonly track: string
  /** Left out by releases that did not distinguish targets. */
  readonly target?: 'Hub' | 'Member'
  readonly refs: readonly (ObjectRef & { readonly uid?: string })[]
}

/** On the hub: each source's rules for deleting what git no longer declares. */
export interface SourceRules {
  /** namespace/name. */
  readonly source: string
  readonly prune: FleetSourceSpec['prune']
  readonly tracks: FleetSourceSpec['tracks']
  /** Missing in inventories of older releases. */
  readonly newest?: readonly NewestContent[]
}

/** What a track rolled out last, and from when Approvals of it and of other content count. */
export interface NewestContent {
  readonly track: string
  /** As named in an Approval. */
  readonly digest: string
  /** If left out, all count. */
  readonly approvedSince?: string
  readonly otherSince: string
}

export interface Inventory {
  readonly form: typeof INVENTORY_FORM
  readonly cluster: string
  readonly takenAt: string
  readonly apiServer?: string
  readonly machines: readonly Machine[]
  readonly nodes: readonly Node[]
  readonly machineSets: readonly MachineSet[]
  readonly sets: readonly MachineComponentSet[]
  readonly components: readonly MachineComponent[]
  readonly revisions: readonly ControllerRevision[]
  readonly permits: readonly OperationPermit[]
  readonly holds: readonly OperationalHold[]
  readonly approvals: readonly Approval[]
  readonly policies: readonly DefenderPolicy[]
  readonly ledger?: LedgerSpec
  readonly fullBudgets: readonly FullBudget[]
  /** Missing in inventories of older releases, like the next two. */
  readonly applied?: readonly AppliedObjects[]
  readonly canaries?: readonly ComponentCanary[]
  readonly sources?: readonly SourceRules[]
  /** On the hub, if the user who took the inventory may list them. */
  readonly planes?: readonly PlaneNow[]
  /** Providers that its controllers serve; undefined if unknown. */
  readonly providers?: readonly string[]
  /** Open host maintenance, if the user who took the inventory may list it. */
  readonly maintenance?: readonly MaintenanceEvent[]
}

/** Returns the inventory, or what is wrong with it: it may have been written by hand. */
export function readInventory(value: unknown): Inventory | { readonly problem: string } {
  if (!isObject(value)) return { problem: 'it is not an object' }
  if (value['form'] !== INVENTORY_FORM) return { problem: `its form is not ${INVENTORY_FORM}` }
  if (typeof value['cluster'] !== 'string') return { problem: 'it names no cluster' }
  if (Number.isNaN(Date.parse(String(value['takenAt'])))) return { problem: 'takenAt is no time' }
  const problem = shapeProblem(INVENTORY_SHAPE, value)
  return problem === undefined ? (value as unknown as Inventory) : { problem }
}

/** Annotations may contain anything, and managedFields have no effect here. */
export function trimmed<T extends KubeObject>(object: T): T {
  return { ...object, metadata: without(object.metadata as Record<string, unknown>, 'annotations', 'managedFields') }
}

/** By source, track and target, sorted by name; shards of the same one are merged. */
export function appliedOf(shards: readonly AppliedShard[]): readonly AppliedObjects[] {
  const groups = Map.groupBy(shards, ({ spec: { source, track, target = '' } }) => `${source}\n${track}\n${target}`)
  return [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, all]) => {
      const [first] = all
      if (first === undefined) return []
      const { source, track, target } = first.spec
      const refs = all
        .flatMap(({ spec }) => spec.refs)
        .map(({ group, kind, namespace, name, uid }) => ({
          group,
          kind,
          namespace,
          name,
          ...defined({ uid }),
        }))
      return [{ source, track, ...defined({ target }), refs }]
    })
}

export const rulesOf = ({ metadata, spec }: FleetSource): SourceRules => ({
  source: namespacedName({ metadata }),
  prune: spec.prune,
  tracks: spec.tracks,
})

/** Kernel, system and accelerators identify hardware; addresses and images do not. */
export function trimmedNode(node: Node): Node {
  const { spec, status } = node
  return trimmed({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: node.metadata,
    spec: { taints: spec?.taints ?? [], ...(spec?.unschedulable === true && { unschedulable: true }) },
    status: {
      conditions: (status?.conditions ?? []).map((c) => ({ ...without(c, 'lastHeartbeatTime'), message: '' })),
      ...(status?.nodeInfo !== undefined && { nodeInfo: hardwareOf(status.nodeInfo) }),
      ...defined({ capacity: status?.capacity }),
    },
  })
}

type NodeInfo = NonNullable<NonNullable<Node['status']>['nodeInfo']>
const hardwareOf = ({ architecture, osImage, kernelVersion }: NodeInfo) =>
  defined({ architecture, osImage, kernelVersion })
