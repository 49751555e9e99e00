// Data: which deletions by other clients are limited, how many are allowed in which time, and what happens while the Defender cannot be reached.
import { KEPT_NAMESPACES } from '#api/names.ts'
import type { RateWindow } from '../rates.ts'

export interface DeletionLimit {
  readonly window: RateWindow
  /** The larger of both: a share of the existing objects, and a number that a user deletes by hand. */
  readonly share: number
  readonly least: number
}

export interface GuardedKind {
  readonly kind: 'Machine' | 'Node' | 'Namespace' | 'CustomResourceDefinition'
  readonly group: string
  readonly plural: string
  /**
   * While the webhook is down. A deleted Machine takes its host with it and a deleted definition every object of its kind, and neither is ever urgent:
   * they wait. Nodes and namespaces belong to others (autoscalers, cloud controllers, people), who must not be stopped by our outage.
   */
  readonly whenDown: 'Fail' | 'Ignore'
  /** CEL over `oldObject`: only such objects are guarded. With a name alone a deletion of a whole collection would pass. */
  readonly only?: string
  readonly limits: readonly DeletionLimit[]
  /** Never deleted unless a hold says so. */
  readonly never?: readonly string[]
}

const OF_A_FLEET: readonly DeletionLimit[] = [
  { window: '1m', share: 0.02, least: 3 },
  { window: '10m', share: 0.05, least: 5 },
  { window: '1h', share: 0.1, least: 10 },
  { window: '24h', share: 0.3, least: 20 },
]

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
    // Also while the Defender is away: an admission policy holds these too.
    never: KEPT_NAMESPACES,
  },
  {
    kind: 'CustomResourceDefinition',
    group: 'apiextensions.k8s.io',
    plural: 'customresourcedefinitions',
    whenDown: 'Fail',
    // Definitions of others are their owners' business, also while the Defender is away.
    only: "oldObject == null || oldObject.spec.group == 'kubenode.io'",
    limits: [
      { window: '10m', share: 0, least: 5 },
      { window: '24h', share: 0, least: 30 },
    ],
    // Deleting such a definition deletes all machines or clusters at once, without a review of each; or the record of what was allowed.
    never: [
      'machines.kubenode.io',
      'machinesets.kubenode.io',
      'clusters.kubenode.io',
      'defenderledgers.kubenode.io',
      'operationpermits.kubenode.io',
    ],
  },
]

export const guardedKind = (group: string, kind: string): GuardedKind | undefined =>
  GUARDED_KINDS.find((k) => k.group === group && k.kind === kind)
