// What an imported Machine copies from its Node, so that sets can select it and budgets count it correctly from day one. Pure.
import { LABELS } from '#api/names.ts'
import type { Node } from '#nodes/objects.ts'
import { defined } from '#lib/defined.ts'

export interface NodeDomains {
  /** Labels of the Machine, used by sets. */
  readonly labels: Readonly<Record<string, string>>
  readonly pool?: string
  readonly zone?: string
  readonly rack?: string
  readonly class?: string
}

/** KubeNode's own first, then those of cloud providers and provisioners. */
const DOMAIN_LABELS = {
  pool: [
    LABELS.pool,
    'karpenter.sh/nodepool',
    'eks.amazonaws.com/nodegroup',
    'cloud.google.com/gke-nodepool',
    'kubernetes.azure.com/agentpool',
    'alibabacloud.com/nodepool-id',
  ],
  zone: [LABELS.zone, 'failure-domain.beta.kubernetes.io/zone'],
  rack: [LABELS.rack, 'topology.kubernetes.io/rack'],
  class: [LABELS.class, 'node.kubernetes.io/instance-type', 'beta.kubernetes.io/instance-type'],
} as const

/** Labels of a single Node, hundreds of CPU features, and KubeNode's own labels. */
const LEFT_OUT = [
  /^kubernetes\.io\/hostname$/,
  /(^|\/)(provider-id|instance-id|machine-id)$/,
  /^feature\.node\.kubernetes\.io\//,
  /(^|\.)kubenode\.io\//,
]
const CONTROL_PLANE = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master']
/** No set selects by more, and ten thousand Machines are kept in memory. */
const MAX_LABELS = 64

export const isControlPlane = ({ metadata }: Node): boolean =>
  CONTROL_PLANE.some((label) => metadata.labels?.[label] !== undefined)

export function nodeDomains({ metadata }: Node): NodeDomains {
  const there = metadata.labels ?? {}
  const first = (names: readonly string[]): string | undefined =>
    names.map((name) => there[name]).find((value) => value !== undefined && value !== '')
  const [pool, zone, rack, hardware] = [
    first(DOMAIN_LABELS.pool),
    first(DOMAIN_LABELS.zone),
    first(DOMAIN_LABELS.rack),
    first(DOMAIN_LABELS.class),
  ]
  const kept = Object.keys(there)
    .filter((name) => !LEFT_OUT.some((pattern) => pattern.test(name)))
    .sort()
    .slice(0, MAX_LABELS)
  return {
    labels: {
      ...Object.fromEntries(kept.map((name) => [name, there[name] ?? ''])),
      ...(pool !== undefined && { [LABELS.pool]: pool }),
      ...(zone !== undefined && { [LABELS.zone]: zone }),
      ...(rack !== undefined && { [LABELS.rack]: rack }),
      ...(hardware !== undefined && { [LABELS.class]: hardware }),
    },
    ...defined({ pool, zone, rack, class: hardware }),
  }
}
