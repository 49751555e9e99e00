// The tags that identify a cluster's hosts, set by the call that creates them. A host counts only with all four.

export const TAGS = {
  cluster: 'kubenode.io/cluster',
  machine: 'kubenode.io/machine',
  machineUid: 'kubenode.io/machine-uid',
  token: 'kubenode.io/token',
} as const

export interface HostTags {
  readonly machine: string
  readonly machineUid: string
  readonly token: string
}

export const tagsFor = (
  cluster: string,
  { machine, machineUid, token }: HostTags,
): readonly (readonly [string, string])[] => [
  [TAGS.cluster, cluster],
  [TAGS.machine, machine],
  [TAGS.machineUid, machineUid],
  [TAGS.token, token],
]

/** Undefined for hosts of other clusters. */
export function hostTags(cluster: string, tags: ReadonlyMap<string, string>): HostTags | undefined {
  const [machine, machineUid, token] = [tags.get(TAGS.machine), tags.get(TAGS.machineUid), tags.get(TAGS.token)]
  if (tags.get(TAGS.cluster) !== cluster) return undefined
  if (machine === undefined || machineUid === undefined || token === undefined) return undefined
  return { machine, machineUid, token }
}
