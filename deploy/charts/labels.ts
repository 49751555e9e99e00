// Labels of what an installation makes, and how its pods are selected.
import type { HostedProgram } from '#api/names.ts'
import type { Workload } from './settings.ts'

export const PART_OF = { 'app.kubernetes.io/part-of': 'kubenode' } as const
const VERSION = 'app.kubernetes.io/version'
const NAME = { 'app.kubernetes.io/name': 'kubenode' } as const
const COMPONENT = 'app.kubernetes.io/component'

/** Never changes: the selector of a Deployment can't. */
export const selectorOf = (workload: Workload | 'hosted'): Readonly<Record<string, string>> => ({
  ...NAME,
  [COMPONENT]: workload,
})

export const labelsOf = (workload: Workload, version: string): Readonly<Record<string, string>> => ({
  ...selectorOf(workload),
  ...PART_OF,
  [VERSION]: version,
})

/** Which program the pods of a hub run for its Clusters. */
const HOSTED_LABEL = 'kubenode.io/hosted'

export const hostedSelectorOf = (program: HostedProgram): Readonly<Record<string, string>> => ({
  ...selectorOf('hosted'),
  [HOSTED_LABEL]: program,
})

export const hostedLabelsOf = (program: HostedProgram, version: string): Readonly<Record<string, string>> => ({
  ...hostedSelectorOf(program),
  ...PART_OF,
  [VERSION]: version,
})

/** Not named `kubenode`: what our programs may reach and be reached by is not for a provider. */
export const providerSelectorOf = (name: string): Readonly<Record<string, string>> => ({
  'app.kubernetes.io/name': 'kubenode-provider',
  [COMPONENT]: `provider-${name}`,
})

export const providerLabelsOf = (name: string, version: string): Readonly<Record<string, string>> => ({
  ...providerSelectorOf(name),
  ...PART_OF,
  [VERSION]: version,
})

/** Of what belongs to no workload. */
export const commonLabels = (version: string): Readonly<Record<string, string>> => ({
  ...NAME,
  ...PART_OF,
  [VERSION]: version,
})

/** A namespace whose pods may read our metrics has it, with the value `true`. */
export const SCRAPE_LABEL = 'kubenode.io/scrape'

/** Of our namespaces: also warns the people who try. */
export const podSecurity = (level: 'restricted' | 'baseline' | 'privileged'): Readonly<Record<string, string>> =>
  Object.fromEntries(['enforce', 'audit', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, level]))
export const RESTRICTED = podSecurity('restricted')
