// Decides which objects the history records and how each is split into facts, one for each part that changes on its own.
import { approval } from '#api/kinds/approval.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { releasePipeline } from '#api/kinds/release-pipeline.ts'
import { release } from '#api/kinds/release.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { nodeType } from '#nodes/objects.ts'

/** A list whose items are facts of their own. */
export interface SplitList {
  /** Fields that identify an item. */
  readonly keys: readonly string[]
  /** The field with the item's last change. */
  readonly time?: string
  /** Fields that change without a transition, such as heartbeats. */
  readonly omit?: readonly string[]
}

export interface Shape {
  readonly type: ResourceType
  /** Exists on the hub only, such as release pipelines. */
  readonly isOfHub?: true
  /** The spec is one fact, a revision whose text is stored once. */
  readonly isSpecWhole?: true
  /** By path, such as `status/conditions`. */
  readonly lists: Readonly<Record<string, SplitList>>
  /** Paths that are not recorded. */
  readonly omit?: readonly string[]
  /** For kinds with thousands of objects: placeholders replace numbers and addresses in messages, so that equal ones are stored once. */
  readonly hasManyMessages?: true
}

const conditions = {
  keys: ['type'],
  time: 'lastTransitionTime',
  omit: ['lastHeartbeatTime', 'observedGeneration'],
} as const satisfies SplitList

const ofOurs = { 'status/conditions': conditions } as const

export const SHAPES: readonly Shape[] = [
  {
    type: nodeType,
    lists: { 'status/conditions': conditions },
    // Images and volumes change with every pod and no rule reads them. Addresses are of no use later.
    omit: [
      'spec/podCIDR',
      'spec/podCIDRs',
      'status/addresses',
      'status/config',
      'status/daemonEndpoints',
      'status/images',
      'status/runtimeHandlers',
      'status/features',
      'status/volumesAttached',
      'status/volumesInUse',
      'metadata/annotations/volumes.kubernetes.io~1controller-managed-attach-detach',
    ],
    hasManyMessages: true,
  },
  {
    type: machine,
    lists: {
      ...ofOurs,
      'spec/components': { keys: ['name'] },
      'status/components': { keys: ['name'], time: 'since' },
    },
    // Renewed keys and certificates are of no interest.
    omit: ['status/agent/publicKey', 'status/agent/certificate', 'status/agent/kubelet', 'spec/logs', 'spec/ssh'],
    hasManyMessages: true,
  },
  { type: machineSet, lists: ofOurs, isSpecWhole: true },
  {
    type: machineComponentSet,
    lists: { ...ofOurs, 'status/slices': { keys: ['component', 'step', 'number'] } },
    omit: ['status/durations'],
    isSpecWhole: true,
  },
  { type: componentCanary, lists: ofOurs, isSpecWhole: true },
  {
    type: nodeRemedier,
    lists: { ...ofOurs, 'status/matching': { keys: ['node'], time: 'since' } },
    isSpecWhole: true,
  },
  {
    type: remedyOperationJob,
    lists: { ...ofOurs, 'status/steps': { keys: ['index'] } },
    isSpecWhole: true,
  },
  { type: operationPermit, lists: ofOurs, omit: ['spec/renewTime', 'status/expiresAt'] },
  { type: defenderPolicy, lists: ofOurs, isSpecWhole: true },
  { type: operationalHold, lists: ofOurs, isSpecWhole: true },
  { type: approval, lists: ofOurs, isSpecWhole: true },
  { type: maintenanceEvent, lists: ofOurs },
  {
    type: cluster,
    isOfHub: true,
    lists: ofOurs,
    // Written every minute even without a change.
    omit: ['status/lastSeen', 'status/snapshotSchedule'],
  },
  {
    type: fleetSource,
    isOfHub: true,
    lists: ofOurs,
    // Bookkeeping of the program.
    omit: ['status/notified', 'status/seen', 'status/fetchedAt', 'status/lastHandledReconcileAt'],
  },
  { type: releasePipeline, isOfHub: true, lists: ofOurs, isSpecWhole: true },
  {
    type: release,
    isOfHub: true,
    lists: {
      ...ofOurs,
      'status/stages': { keys: ['name'] },
      'status/clusters': { keys: ['name'], time: 'since' },
    },
    omit: ['status/record', 'status/notified'],
    isSpecWhole: true,
  },
]

export const shapeOfKind = (kind: string): Shape | undefined => SHAPES.find(({ type }) => type.kind === kind)
