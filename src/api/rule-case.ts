// A test case of a rule: a node's observed state, and whether the rule fires. Cases are next to their rule and run as tests.

export interface NodeCondition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
}

export interface RuleCase {
  /** A sentence: when the rule fires, or why it does not. */
  readonly name: string
  /** The node's conditions; left out ones are not reported. */
  readonly conditions?: readonly NodeCondition[]
  readonly labels?: Readonly<Record<string, string>>
  readonly taints?: readonly string[]
  readonly unschedulable?: boolean
  readonly versions?: { readonly kubelet?: string; readonly kernel?: string; readonly runtime?: string }
  /** Other facts of a node: `machine`, `components`, `peers`, `cluster`, `repairs`. */
  readonly facts?: Readonly<Record<string, unknown>>
  /** Unknown: the rule cannot be decided, and nothing is done. */
  readonly verdict: 'fires' | 'does not fire' | 'unknown'
}
