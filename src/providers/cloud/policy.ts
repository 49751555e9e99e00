// A cloud account's minimal rights for one cluster, in the vendors' formats. Pure.

export interface PolicyFor {
  readonly region: string
  /** The tag of its hosts. */
  readonly cluster: string
  /** Role for hosts, if the parameters of Machines name one. */
  readonly hostRole?: string
}

/** Each action is in exactly one group; the creating call has its own. */
export interface ActionGroups {
  /** Read-only; vendors offer no narrower scope for these. */
  readonly read: readonly string[]
  readonly host: readonly string[]
  /** Neither about a host that a tag could identify, nor the creating call. */
  readonly others: readonly string[]
}

export function grouped(all: readonly string[], host: readonly string[], create: string): ActionGroups {
  const read = all.filter((action) => action.startsWith('Describe'))
  const others = all.filter((action) => action !== create && !read.includes(action) && !host.includes(action))
  return { read, host, others }
}
