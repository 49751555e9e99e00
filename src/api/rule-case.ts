// A case of a rule: a node as it may be seen, and whether the rule is true for it. Cases lie beside their rule and run as tests.

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
  /** Conditions of the node; absent means that none was reported. */
  readonly conditions?: readonly NodeCondition[]
  readonly labels?: Readonly<Record<string, string>>
  readonly taints?: readonly string[]
  readonly unschedulable?: boolean
  readonly versions?: { readonly kubelet?: string; readonly kernel?: string; readonly runtime?: string }
  /** What others add to the facts of a node: `machine`, `components`, `peers`, `cluster`, `repairs`. */
  readonly facts?: Readonly<Record<string, unknown>>
  /** Unknown: the rule cannot be decided, and nothing is done. */
  readonly verdict: 'fires' | 'does not fire' | 'unknown'
}
