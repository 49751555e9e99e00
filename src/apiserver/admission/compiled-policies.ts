// Compiles each policy once, although it is validated when it is written and read again after a write of any other policy.
// Compiling takes a millisecond or more: the policies of an installation, all of them after each write of one, took a second.
import { hash } from 'node:crypto'
import type { KubeObject } from '#api/schema/object.ts'
import { KnownDefinitions } from '../crd/known-definitions.ts'
import { compilePolicy, type CompiledPolicy } from './compiled-policy.ts'

/** Several times what a cluster has; the policies that were read longest ago are dropped. */
const MAX_KEPT = 512

/** What is compiled depends on the name and the spec, so two objects with the same have the same. */
export class CompiledOnce<P> {
  readonly #compile: (policy: KubeObject) => P
  readonly #ofObject = new WeakMap<KubeObject, P>()
  readonly #ofContent = new Map<string, P>()

  constructor(compile: (policy: KubeObject) => P) {
    this.#compile = compile
  }

  /** Stored objects never change: another version is another object. */
  of = (policy: KubeObject): P => {
    const known = this.#ofObject.get(policy) ?? this.#byContent(policy)
    this.#ofObject.set(policy, known)
    return known
  }

  #byContent(policy: KubeObject): P {
    const key = hash('sha256', JSON.stringify([policy.metadata.name, policy['spec']]))
    const compiled = this.#ofContent.get(key) ?? this.#compile(policy)
    this.#ofContent.delete(key)
    this.#ofContent.set(key, compiled)
    if (this.#ofContent.size > MAX_KEPT) this.#ofContent.delete(this.#ofContent.keys().next().value ?? '')
    return compiled
  }
}

export interface CompiledPolicies {
  readonly validating: CompiledOnce<CompiledPolicy>
  readonly definitions: KnownDefinitions
}

export const compiledPolicies = (): CompiledPolicies => ({
  validating: new CompiledOnce(compilePolicy),
  definitions: new KnownDefinitions(),
})
