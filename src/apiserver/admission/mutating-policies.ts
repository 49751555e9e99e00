// MutatingAdmissionPolicies with their bindings, evaluated on every write before webhooks: each sees the changes of its predecessors.
import type { KubeObject } from '#api/schema/object.ts'
import type { Authorizer } from '../auth/authorizer.ts'
import { matchConditions } from '../machinery.ts'
import type { Registry } from '../registry/registry.ts'
import type { Served } from '../registry/served.ts'
import { forbidden, Refusal } from '../status/refusal.ts'
import type { Store } from '../storage/store.ts'
import { BoundPolicies, type Bound as BoundPolicy } from './bound-policies.ts'
import type { AdmissionLink, AdmissionRequest, Memory } from './chain.ts'
import type { CompiledMutations } from './compiled-mutations.ts'
import type { CompiledOnce } from './compiled-policies.ts'
import { inVersion, requestIn } from './in-version.ts'
import { isFreeOfPolicies } from './match-resources.ts'
import { mutatedBy } from './mutation-patch.ts'

type Bound = BoundPolicy<CompiledMutations>

export interface MutatingPolicyParts {
  readonly store: Store
  readonly registry: Registry
  readonly authorizer: Authorizer
  readonly compiled: CompiledOnce<CompiledMutations>
}

/** One policy with one binding and one parameter. */
interface Invocation {
  readonly bound: Bound
  readonly params: KubeObject | null
  /** The version that the policy is written for. */
  readonly as: Served
}

type Sent = AdmissionRequest & { readonly object: KubeObject }

interface Fault {
  readonly bound: Bound
  readonly reason: string | undefined
  readonly message: string
}

/** State that the first round leaves for the second. */
interface FirstRound {
  readonly output: KubeObject
  /** They ask to run again if the object changed after them. */
  readonly waiting: readonly Invocation[]
  /** It did change. */
  readonly due: readonly Invocation[]
}

export class MutatingPolicyAdmission implements AdmissionLink {
  readonly #policies: BoundPolicies<CompiledMutations>

  constructor(parts: MutatingPolicyParts) {
    this.#policies = new BoundPolicies('mutating', parts)
  }

  active = (): boolean => this.#policies.all().length > 0

  mutate = async (request: AdmissionRequest, memory: Memory): Promise<KubeObject | undefined> => {
    if (isFreeOfPolicies(request) || request.object === undefined) return request.object
    const faults: Fault[] = []
    let { object } = request
    let waiting: Invocation[] = []
    const due: Invocation[] = []
    for (const invocation of this.#invocations(request, faults)) {
      const after = await this.#invoke(invocation, { ...request, object }, faults)
      if (after !== object) {
        due.push(...waiting)
        waiting = []
      }
      object = after
      if (invocation.bound.policy.isReinvoked) waiting.push(invocation)
    }
    refuseFaults(request, faults)
    memory.set(this, { output: object, waiting, due } satisfies FirstRound)
    return object
  }

  /** After all others: policies that asked for a second run see the final object. */
  again = async (request: AdmissionRequest, memory: Memory): Promise<KubeObject | undefined> => {
    const first = memory.get(this) as FirstRound | undefined
    if (first === undefined || request.object === undefined) return request.object
    const isOther = request.object !== first.output
    const faults: Fault[] = []
    let { object } = request
    for (const invocation of isOther ? [...first.due, ...first.waiting] : first.due)
      object = await this.#invoke(invocation, { ...request, object }, faults)
    refuseFaults(request, faults)
    return object
  }

  #invocations(request: AdmissionRequest, faults: Fault[]): readonly Invocation[] {
    return this.#policies.all().flatMap((bound): readonly Invocation[] => {
      const as = this.#policies.meantAs(bound, request)
      if (as === undefined) return []
      const params = this.#policies.params(bound, request)
      if ('found' in params) return params.found.map((found) => ({ bound, params: found, as }))
      faults.push({ bound, reason: undefined, message: `failed to configure binding: ${params.missing}` })
      return []
    })
  }

  /** The same object when nothing changed. A failed mutation is skipped if its policy permits; a refusal refuses the whole request. */
  async #invoke({ bound, params, as }: Invocation, sent: Sent, faults: Fault[]): Promise<KubeObject> {
    if (as === sent.served) return this.#mutated({ bound, params, as }, sent, faults)
    const request = await requestIn(sent, as)
    if (request.object === undefined) return sent.object
    const after = this.#mutated({ bound, params, as }, { ...request, object: request.object }, faults)
    return after === request.object ? sent.object : inVersion(after, as, sent.served)
  }

  #mutated({ bound, params }: Invocation, request: Sent, faults: Fault[]): KubeObject {
    const { policy } = bound
    const fault = (message: string) => void faults.push({ bound, reason: 'Invalid', message })
    const matched = matchConditions(policy.conditions, this.#policies.evaluation(policy.scope, request, params))
    if ('error' in matched) fault(matched.error)
    if (!('matches' in matched) || !matched.matches) return request.object
    let { object } = request
    for (const mutation of policy.mutations) {
      const result = this.#policies.evaluation(policy.scope, { ...request, object }, params).run(mutation.program)
      const made = result.ok ? mutatedBy(mutation, result.value, { served: request.served, object }) : result
      if (made.ok) object = made.object
      else fault(made.error)
    }
    return object
  }
}

/** Reports every failure; the first one gives the reason. */
function refuseFaults(request: AdmissionRequest, faults: readonly Fault[]): void {
  const causes = faults
    .filter(({ bound }) => !bound.policy.ignoresFailure)
    .map(({ bound: { policy, binding }, reason, message }) => ({
      reason,
      message: `policy '${policy.name}' with binding '${binding.metadata.name ?? ''}' denied request: ${message}`,
    }))
  const [first] = causes
  if (first === undefined) return
  const { group, plural } = request.served.type
  const { status } = forbidden({ group, plural }, request.name, '')
  throw new Refusal({
    ...status,
    message: first.message,
    ...(first.reason === undefined ? {} : { reason: first.reason }),
    details: { ...status.details, causes: causes.map(({ message }) => ({ message })) },
  })
}
