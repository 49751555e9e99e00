// What a cloud account may do for one cluster: the least that a provider needs, as the vendors write it. Pure.

export interface PolicyFor {
  readonly region: string
  /** The tag of its hosts. */
  readonly cluster: string
  /** Role that hosts get, when the parameters of Machines name one. */
  readonly hostRole?: string
}

/** Each action is in exactly one of them; the creating call has a place of its own. */
export interface ActionGroups {
  /** Only read; vendors have no narrower way to say of what. */
  readonly read: readonly string[]
  readonly host: readonly string[]
  /** Neither about a host that a tag could name, nor the creating call. */
  readonly others: readonly string[]
}

export function grouped(all: readonly string[], host: readonly string[], create: string): ActionGroups {
  const read = all.filter((action) => action.startsWith('Describe'))
  const others = all.filter((action) => action !== create && !read.includes(action) && !host.includes(action))
  return { read, host, others }
}
