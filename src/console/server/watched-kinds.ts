// The kinds that the console reads in every cluster, and the topics that use them. Of Leases only those of KubeNode's programs, of Nodes only their problems and size;
// Secrets and pods are excluded.
import { cluster } from '#api/kinds/cluster.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { defenderLedger } from '#api/kinds/defender-ledger.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { fleetBrake } from '#api/kinds/fleet-brake.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { release } from '#api/kinds/release.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { ObservedKinds, ObservedNode } from '#explain/attention/observed.ts'
import { nodeType } from '#nodes/objects.ts'
import { leaseType } from '#runtime/lease.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { TopicFamily } from '../protocol.ts'
import type { MachineRow } from './machine-row.ts'
import type { ProgramState } from './program-state.ts'

/** A cluster's cached objects by kind. */
export interface Watched extends Omit<ObservedKinds, 'machines' | 'nodes'> {
  readonly machines: MachineRow
  readonly nodes: WatchedNode
  readonly programs: ProgramState
}

/** What pods can have on a node: cores and bytes. */
export interface Allocatable {
  readonly cpu: number
  readonly memory: number
}

export interface WatchedNode extends ObservedNode {
  readonly allocatable?: Allocatable
}

export type WatchedKind = keyof Watched

interface WatchedType {
  readonly type: ResourceType
  /** Topics computed from it; other topics never show it. */
  readonly topics: readonly TopicFamily[]
}

/** The part of a Node that is read. Kubernetes validates the rest; anything a Node does not report is unknown. */
const observedNodeType: ResourceType = {
  ...nodeType,
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          unschedulable: { type: 'boolean' },
          taints: { type: 'array', items: { type: 'object', properties: { key: { type: 'string' } } } },
        },
      },
      status: {
        type: 'object',
        properties: {
          allocatable: { type: 'object', properties: { cpu: { type: 'string' }, memory: { type: 'string' } } },
          conditions: {
            type: 'array',
            items: {
              type: 'object',
              required: ['type', 'status'],
              properties: {
                type: { type: 'string' },
                status: { type: 'string' },
                reason: { type: 'string' },
                message: { type: 'string' },
                lastTransitionTime: { type: 'string' },
              },
            },
          },
        },
      },
    },
  },
}

export const WATCHED: Readonly<Record<WatchedKind, WatchedType>> = {
  machines: { type: machine, topics: ['machines', 'node', 'home', 'clusters', 'budgets', 'set'] },
  nodes: { type: observedNodeType, topics: ['machines', 'home', 'clusters'] },
  machineSets: { type: machineSet, topics: ['home', 'clusters'] },
  sets: { type: machineComponentSet, topics: ['sets', 'set', 'home', 'clusters'] },
  canaries: { type: componentCanary, topics: ['home', 'clusters'] },
  permits: { type: operationPermit, topics: ['budgets', 'node', 'home', 'clusters'] },
  policies: { type: defenderPolicy, topics: ['budgets', 'home', 'clusters'] },
  ledgers: { type: defenderLedger, topics: ['budgets', 'machines', 'home', 'clusters'] },
  brakes: { type: fleetBrake, topics: ['home', 'clusters'] },
  holds: { type: operationalHold, topics: ['pipeline', 'sets', 'set', 'node', 'budgets', 'home', 'clusters'] },
  jobs: { type: remedyOperationJob, topics: ['repairs', 'machines', 'clusters', 'home'] },
  rules: { type: nodeRemedier, topics: ['home', 'clusters'] },
  events: { type: maintenanceEvent, topics: ['maintenance', 'home', 'clusters'] },
  sources: { type: fleetSource, topics: ['commits', 'clusters', 'home'] },
  releases: { type: release, topics: ['pipeline', 'commits', 'clusters', 'home'] },
  clusters: { type: cluster, topics: ['clusters', 'home'] },
  programs: { type: leaseType, topics: ['home', 'clusters'] },
}

export const WATCHED_KINDS = Object.keys(WATCHED) as unknown as readonly WatchedKind[]

/** All except the programs' Leases are listed and watched completely. */
export const LISTED_KINDS = WATCHED_KINDS.filter((kind) => kind !== 'programs')

/** A user may read a cluster's topic if the API server lets them list these kinds there. */
export const TOPIC_NEEDS: Readonly<Record<Exclude<TopicFamily, 'home'>, readonly WatchedKind[]>> = {
  pipeline: ['releases'],
  commits: ['releases', 'sources'],
  clusters: ['machines'],
  machines: ['machines'],
  sets: ['sets'],
  set: ['sets'],
  // Limits in percent depend on the number of machines.
  budgets: ['policies', 'ledgers', 'permits', 'machines'],
  repairs: ['jobs'],
  maintenance: ['events'],
  node: ['machines'],
}
