// Policies in CEL with their bindings: which of them apply to a request, and with which parameters.
import type { KubeObject } from '#api/schema/object.ts'
import type { Authorizer } from '../auth/authorizer.ts'
import { AdmissionEvaluation, type AdmissionScope } from '../machinery.ts'
import type { Registry } from '../registry/registry.ts'
import type { Served } from '../registry/served.ts'
import { selectorMatcher } from '../selectors/label-selector.ts'
import type { Store } from '../storage/store.ts'
import type { AdmissionRequest } from './chain.ts'
import { type CompiledPolicy, fields, word } from './compiled-policy.ts'
import { ADMISSION_GROUP, matchesResources, type MatchOptions } from './match-resources.ts'
import { authorizerFor } from './may-they.ts'
import { requestFacts } from './request-facts.ts'

export interface Bound {
  readonly policy: CompiledPolicy
  readonly binding: KubeObject
}

export interface BoundParts {
  readonly store: Store
  readonly registry: Registry
  readonly authorizer: Authorizer
  readonly compiled: { readonly of: (policy: KubeObject) => CompiledPolicy }
}

export type Params = { readonly found: readonly (KubeObject | null)[] } | { readonly missing: string }

const NONE_FOUND = 'no params found for policy binding with `Deny` parameterNotFoundAction'

export class BoundPolicies {
  readonly #store: Store
  readonly #registry: Registry
  readonly #authorizer: Authorizer
  readonly #policies: string
  readonly #bindings: string
  readonly #compile: (policy: KubeObject) => CompiledPolicy
  #bound: readonly Bound[] | undefined

  constructor({ store, registry, authorizer, compiled }: BoundParts) {
    this.#store = store
    this.#registry = registry
    this.#authorizer = authorizer
    this.#policies = `${ADMISSION_GROUP}/validatingadmissionpolicies`
    this.#bindings = `${ADMISSION_GROUP}/validatingadmissionpolicybindings`
    this.#compile = compiled.of
    const forget = () => {
      this.#bound = undefined
    }
    for (const resource of [this.#policies, this.#bindings])
      store.collection(resource).watch({ namespace: undefined, name: undefined }, forget)
  }

  /** In the order of the policies, then of the bindings. */
  all(): readonly Bound[] {
    if (this.#bound !== undefined) return this.#bound
    const sorted = (resource: string) =>
      Array.from(this.#store.collection(resource).list(undefined), (s) => s.value).sort(byName)
    const bindings = Map.groupBy(sorted(this.#bindings), (b) => word(fields(b['spec'])['policyName']))
    this.#bound = sorted(this.#policies).flatMap((o) => {
      const bound = bindings.get(o.metadata.name ?? '')
      if (bound === undefined) return []
      const policy = this.#compile(o)
      return bound.map((binding) => ({ policy, binding }))
    })
    return this.#bound
  }

  /** The version in which the policy sees the request: its own, or another that the rules of the policy name. */
  meantAs({ policy, binding }: Bound, request: AdmissionRequest): Served | undefined {
    const own = fields(policy.spec['matchConstraints'])
    const narrowed = fields(fields(binding['spec'])['matchResources'])
    const as = this.#versionFor(own, request, { emptyRulesMatch: false })
    return as !== undefined && this.#versionFor(narrowed, request, { emptyRulesMatch: true }) !== undefined
      ? as
      : undefined
  }

  #versionFor(match: Readonly<Record<string, unknown>>, request: AdmissionRequest, options: MatchOptions) {
    if (matchesResources(match, request, this.#store, options)) return request.served
    if (match['matchPolicy'] === 'Exact') return undefined
    const { group, plural } = request.served.type
    const versions = this.#registry.versions(group)
    if (versions.length < 2) return undefined
    return versions
      .map((version) => this.#registry.find(group, version, plural))
      .find(
        (s) =>
          s !== undefined &&
          s !== request.served &&
          matchesResources(match, { ...request, served: s }, this.#store, options),
      )
  }

  /** What the expressions of a policy see of a request. */
  evaluation(scope: AdmissionScope, request: AdmissionRequest, params: KubeObject | null): AdmissionEvaluation {
    return new AdmissionEvaluation(scope, {
      object: request.object ?? null,
      oldObject: request.old ?? null,
      request: requestFacts(request),
      namespaceObject: this.#namespaceOf(request),
      params,
      authorizer: authorizerFor(this.#authorizer, request),
    })
  }

  #namespaceOf({ namespace, served }: AdmissionRequest): KubeObject | null {
    if (namespace === '' || served.resource === '/namespaces') return null
    return this.#store.get({ resource: '/namespaces', namespace: '', name: namespace })?.value ?? null
  }

  /** Several when a selector finds several: the policy is evaluated once with each. Finding none is allowed if the binding permits it. */
  params({ policy, binding }: Bound, { namespace }: AdmissionRequest): Params {
    const kind = fields(policy.spec['paramKind'])
    const paramRef = fields(binding['spec'])['paramRef']
    if (policy.spec['paramKind'] === undefined || paramRef === undefined) return { found: [null] }
    const ref = fields(paramRef)
    const [apiVersion, name] = [word(kind['apiVersion']), word(kind['kind'])]
    const served = this.#registry.findKind(apiVersion, name)
    const mayLack = ref['parameterNotFoundAction'] === 'Allow'
    if (served === undefined)
      return mayLack
        ? { found: [] }
        : { missing: `failed to find resource referenced by paramKind: '${apiVersion}, Kind=${name}'` }
    const where = served.type.namespaced ? word(ref['namespace']) || namespace : ''
    const found =
      word(ref['name']) === ''
        ? this.#selected(served.resource, served.type.namespaced ? where : undefined, ref)
        : this.#named(served.resource, where, word(ref['name']))
    return found.length > 0 || mayLack ? { found } : { missing: NONE_FOUND }
  }

  #named(resource: string, namespace: string, name: string): readonly KubeObject[] {
    const found = this.#store.get({ resource, namespace, name })
    return found === undefined ? [] : [found.value]
  }

  #selected(
    resource: string,
    namespace: string | undefined,
    ref: Readonly<Record<string, unknown>>,
  ): readonly KubeObject[] {
    const matcher = selectorMatcher(fields(ref['selector']))
    const all = this.#store.collection(resource).snapshot(namespace)
    return all.map((s) => s.value).filter((o) => matcher(o.metadata.labels))
  }
}

const byName = (a: KubeObject, b: KubeObject): number => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1)
