// Labels of a control plane's objects, and selectors for its pods.
import type { ControlPlaneSettings, Part } from './settings.ts'

const NAME = 'app.kubernetes.io/name'
const INSTANCE = 'app.kubernetes.io/instance'
const COMPONENT = 'app.kubernetes.io/component'
export const PART_OF = 'app.kubernetes.io/part-of'
export const OURS = 'kubenode'

/** Digest of what a program reads: a change replaces its pods. */
export const CREDENTIALS_ANNOTATION = 'kubenode.io/credentials'

type Named = Pick<ControlPlaneSettings, 'cluster'>

/** Never changes, because a workload's selector cannot. */
export const selectorOf = ({ cluster }: Named, part: Part): Readonly<Record<string, string>> => ({
  [NAME]: 'kubenode-control-plane',
  [INSTANCE]: cluster,
  [COMPONENT]: part,
})

export const commonLabels = ({ cluster }: Named): Readonly<Record<string, string>> => ({
  [NAME]: 'kubenode-control-plane',
  [INSTANCE]: cluster,
  [PART_OF]: OURS,
})

/** For snapshot and restore Jobs, which no Service selects. */
export const careLabels = (settings: Named): Readonly<Record<string, string>> => ({
  ...commonLabels(settings),
  [COMPONENT]: 'etcd-care',
})
