// Data: which deletions by other clients are limited, how many are allowed per window, which need a hold by a person, and what happens while the
// Defender is unavailable.
import {
  ANNOTATIONS,
  CONTROL_PLANE_PREFIX,
  KEPT_NAMESPACES,
  programAccount,
  programUser,
  SOURCE_USER_PREFIX,
} from '#api/names.ts'
import type { Reserved } from '../ledger.ts'
import type { RateWindow } from '../rates.ts'

export interface DeletionLimit {
  readonly window: RateWindow
  /** The larger one applies: a share of the existing objects, or a number that a user would delete by hand. */
  readonly share: number
  readonly least: number
}

type DeclaredKind =
  | 'Cluster'
  | 'FleetSource'
  | 'ReleasePipeline'
  | 'MachineSet'
  | 'MachineComponentSet'
  | 'ComponentCanary'
  | 'NodeRemedier'
  | 'DefenderPolicy'

interface Guarded {
  readonly group: string
  readonly plural: string
  /**
   * While the webhook is unavailable. A deleted Machine takes its host with it, and a deleted definition takes every object of its kind. Neither is
   * ever urgent, so they wait. Nodes and namespaces belong to others (autoscalers, cloud controllers, people), and our outage must not block them.
   */
  readonly whenDown: 'Fail' | 'Ignore'
  /** CEL over `oldObject`: only such objects are guarded. Matching by name alone would let the deletion of a whole collection pass. */
  readonly only?: string
  /** CEL over `request`: requests that are not reviewed. */
  readonly unless?: string
  readonly limits: readonly DeletionLimit[]
  /** Never deleted without a hold. */
  readonly never?: readonly string[]
}

/** Deletions of these kinds are counted. */
export interface CountedKind extends Guarded {
  readonly kind: Reserved['kind']
  readonly needsHold?: undefined
}

/**
 * What git declares is removed through git. Any other user needs a hold to delete it: a hold on the object by name or, with `Any`, a hold on the
 * whole cluster. It is not counted: sync recreates it.
 */
export interface HeldKind extends Guarded {
  readonly kind: DeclaredKind
  readonly needsHold: 'Own' | 'Any'
}

export type GuardedKind = CountedKind | HeldKind

const OF_A_FLEET: readonly DeletionLimit[] = [
  { window: '1m', share: 0.02, least: 3 },
  { window: '10m', share: 0.05, least: 5 },
  { window: '1h', share: 0.1, least: 10 },
  { window: '24h', share: 0.3, least: 20 },
]

const SYNC = [programUser('sync'), programAccount('sync')].map((user) => `'${user}'`).join(', ')
const BY_GIT = `request.userInfo.username in [${SYNC}] || request.userInfo.username.startsWith('${SOURCE_USER_PREFIX}')`
const IS_DECLARED = `oldObject == null || '${ANNOTATIONS.source}' in oldObject.metadata.?annotations.orValue({})`

const held = (kind: DeclaredKind, plural: string): HeldKind => ({
  kind,
  group: 'kubenode.io',
  plural,
  whenDown: 'Fail',
  unless: BY_GIT,
  needsHold: 'Any',
  limits: [],
})
const declared = (kind: DeclaredKind, plural: string): HeldKind => ({ ...held(kind, plural), only: IS_DECLARED })

export const GUARDED_KINDS: readonly GuardedKind[] = [
  { kind: 'Machine', group: 'kubenode.io', plural: 'machines', whenDown: 'Fail', limits: OF_A_FLEET },
  { kind: 'Node', group: '', plural: 'nodes', whenDown: 'Ignore', limits: OF_A_FLEET },
  {
    kind: 'Namespace',
    group: '',
    plural: 'namespaces',
    whenDown: 'Ignore',
    limits: [
      { window: '10m', share: 0, least: 10 },
      { window: '24h', share: 0, least: 50 },
    ],
    // Also while the Defender is unavailable: an admission policy protects these too.
    never: KEPT_NAMESPACES,
  },
  {
    kind: 'CustomResourceDefinition',
    group: 'apiextensions.k8s.io',
    plural: 'customresourcedefinitions',
    whenDown: 'Fail',
    // Definitions of others are their owners' business, even while the Defender is unavailable.
    only: "oldObject == null || oldObject.spec.group == 'kubenode.io'",
    limits: [
      { window: '10m', share: 0, least: 5 },
      { window: '24h', share: 0, least: 30 },
    ],
    // Deleting such a definition deletes all machines or clusters at once, without a review of each, or the record of what was allowed.
    never: [
      'machines.kubenode.io',
      'machinesets.kubenode.io',
      'clusters.kubenode.io',
      'defenderledgers.kubenode.io',
      'operationpermits.kubenode.io',
    ],
  },
  {
    kind: 'StatefulSet',
    group: 'apps',
    plural: 'statefulsets',
    whenDown: 'Fail',
    // The etcd of a control plane on the hub. If its namespace is deleted, the limits of namespaces apply, which are the same.
    only: `oldObject == null || (oldObject.metadata.namespace.startsWith('${CONTROL_PLANE_PREFIX}') && oldObject.spec.?volumeClaimTemplates.orValue([]).size() > 0)`,
    limits: [
      { window: '10m', share: 0, least: 10 },
      { window: '24h', share: 0, least: 50 },
    ],
  },
  // A hold on everything in this cluster is meant for machines, not for deleting another cluster.
  { ...declared('Cluster', 'clusters'), needsHold: 'Own' },
  // Git reaches the fleet through it, so nothing in git can recreate it.
  held('FleetSource', 'fleetsources'),
  declared('ReleasePipeline', 'releasepipelines'),
  declared('MachineSet', 'machinesets'),
  declared('MachineComponentSet', 'machinecomponentsets'),
  declared('ComponentCanary', 'componentcanaries'),
  declared('NodeRemedier', 'noderemediers'),
  declared('DefenderPolicy', 'defenderpolicies'),
]

export const guardedKind = (group: string, kind: string): GuardedKind | undefined =>
  GUARDED_KINDS.find((k) => k.group === group && k.kind === kind)
