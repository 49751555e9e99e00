// Labels of the objects of one control plane, and how its pods are selected.
import type { ControlPlaneSettings, Part } from './settings.ts'

const NAME = 'app.kubernetes.io/name'
const INSTANCE = 'app.kubernetes.io/instance'
const COMPONENT = 'app.kubernetes.io/component'

/** Digest of what a program reads: its pods are replaced when it changes. */
export const CREDENTIALS_ANNOTATION = 'kubenode.io/credentials'

type Named = Pick<ControlPlaneSettings, 'cluster'>

/** Never changes: the selector of a workload cannot. */
export const selectorOf = ({ cluster }: Named, part: Part): Readonly<Record<string, string>> => ({
  [NAME]: 'kubenode-control-plane',
  [INSTANCE]: cluster,
  [COMPONENT]: part,
})

export const commonLabels = ({ cluster }: Named): Readonly<Record<string, string>> => ({
  [NAME]: 'kubenode-control-plane',
  [INSTANCE]: cluster,
  'app.kubernetes.io/part-of': 'kubenode',
})

/** Of Jobs that take and restore snapshots: no Service selects them. */
export const careLabels = (settings: Named): Readonly<Record<string, string>> => ({
  ...commonLabels(settings),
  [COMPONENT]: 'etcd-care',
})
