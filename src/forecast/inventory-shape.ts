// The types of an inventory's parts, so that a file of a user or CI job can be treated as one. Data.
import { approval } from '#api/kinds/approval.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { defenderLedger } from '#api/kinds/defender-ledger.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { Schema } from '#api/schema/schema.ts'
import { objectShape } from '#api/schema/shape.ts'

const text: Schema = { type: 'string' }
const number: Schema = { type: 'number' }
const texts: Schema = { type: 'object', additionalProperties: text }
const listOf = (items: Schema): Schema => ({ type: 'array', items })

/** `optional`: fields that it may lack. */
const record = (properties: NonNullable<Schema['properties']>, optional: Schema['properties'] = {}): Schema => ({
  type: 'object',
  properties: { ...properties, ...optional },
  required: Object.keys(properties),
})

const objects = ({ schema = {} }: ResourceType): Schema => listOf(objectShape({ type: 'object', ...schema }))

const specOf = ({ schema = {} }: ResourceType): Schema => schema.properties?.['spec'] ?? {}
const statusOf = ({ schema = {} }: ResourceType): Schema => schema.properties?.['status'] ?? {}

const taint = record({ key: text, effect: text }, { value: text })
const condition = record({ type: text, status: text }, { reason: text, message: text, lastTransitionTime: text })
const node = objectShape(
  record(
    {},
    {
      spec: record({}, { taints: listOf(taint), unschedulable: { type: 'boolean' } }),
      status: record({}, { conditions: listOf(condition), nodeInfo: texts, capacity: texts }),
    },
  ),
)
const revision = objectShape(record({ revision: number }, { data: { type: 'object' } }))

const appliedRef = record({ group: text, kind: text, name: text }, { namespace: text, uid: text })
const applied = record({ source: text, track: text, refs: listOf(appliedRef) }, { target: text })

const { prune = {}, tracks = {} } = specOf(fleetSource).properties ?? {}
const newest = record({ track: text, digest: text, otherSince: text }, { approvedSince: text })
const source = record({ source: text }, { prune, tracks, newest: listOf(newest) })

const plane = record(
  {
    namespace: text,
    name: text,
    snapshots: listOf(record({ name: text, version: text, takenAt: text })),
  },
  {
    createdAt: text,
    version: text,
    flavor: text,
    machines: number,
    tookMs: number,
    timed: number,
    served: listOf(text),
    change: statusOf(cluster).properties?.['change'] ?? {},
  },
)

export const INVENTORY_SHAPE: Schema = record(
  {
    machines: objects(machine),
    nodes: listOf(node),
    machineSets: objects(machineSet),
    sets: objects(machineComponentSet),
    components: objects(machineComponent),
    revisions: listOf(revision),
    permits: objects(operationPermit),
    holds: objects(operationalHold),
    approvals: objects(approval),
    policies: objects(defenderPolicy),
    fullBudgets: listOf(record({ namespace: text, name: text, nodes: listOf(text) })),
  },
  {
    apiServer: text,
    ledger: specOf(defenderLedger),
    applied: listOf(applied),
    canaries: objects(componentCanary),
    sources: listOf(source),
    planes: listOf(plane),
    providers: listOf(text),
    maintenance: objects(maintenanceEvent),
  },
)
