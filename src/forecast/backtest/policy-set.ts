// The DefenderPolicies of one side, compiled once each: tallies of the Defender are cached by them.
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import { type CompiledPolicy, compilePolicy } from '#defender/compile-policy.ts'
import { jsonEqual } from '#lib/json.ts'

export class PolicySet {
  readonly #policies = new Map<string, CompiledPolicy>()
  #all: readonly CompiledPolicy[] | undefined

  constructor(policies: readonly DefenderPolicy[] = []) {
    for (const policy of policies) this.put(policy.metadata.name ?? '', policy)
  }

  put(name: string, policy: DefenderPolicy | undefined): void {
    const before = this.#policies.get(name)
    if (policy === undefined) this.#policies.delete(name)
    else if (before !== undefined && jsonEqual(before.spec, policy.spec)) return
    else this.#policies.set(name, compilePolicy(policy))
    this.#all = undefined
  }

  all(): readonly CompiledPolicy[] {
    this.#all ??= [...this.#policies.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
    return this.#all
  }
}
