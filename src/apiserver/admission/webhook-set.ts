// The webhooks of all configurations of one kind, compiled once for each version of a configuration, and which of them may
// apply to a request. A request that no rule matches costs one look-up.
import type { KubeObject } from '#api/schema/object.ts'
import type { Registry } from '../registry/registry.ts'
import type { Served } from '../registry/served.ts'
import type { Store } from '../storage/store.ts'
import type { AdmissionRequest } from './chain.ts'
import { ruleMatches } from './match-resources.ts'
import { compileWebhooks, type CompiledWebhook, type WebhookTarget } from './webhook-config.ts'

export interface Candidate {
  readonly webhook: CompiledWebhook
  /** The version of the resource that the rules of the webhook name. */
  readonly as: Served
}

interface Compiled {
  readonly resourceVersion: string | undefined
  readonly webhooks: readonly CompiledWebhook[]
}

/** One entry for each resource, subresource and operation that is written; more means that a client is trying names. */
const MOST_ANSWERS = 4096

export class WebhookSet {
  readonly #store: Store
  readonly #registry: Registry
  readonly #resource: string
  readonly #onChange: () => void
  #compiled = new Map<string, Compiled>()
  #webhooks: readonly CompiledWebhook[] | undefined
  readonly #answers = new Map<string, readonly Candidate[]>()
  #generation = -1

  constructor(resource: string, { store, registry, onChange }: WebhookSources) {
    this.#store = store
    this.#registry = registry
    this.#resource = resource
    this.#onChange = onChange
    store.collection(resource).watch({ namespace: undefined, name: undefined }, () => {
      this.#webhooks = undefined
    })
  }

  get isEmpty(): boolean {
    return this.#all().length === 0
  }

  targets(): readonly WebhookTarget[] {
    return this.#all().map((w) => w.target)
  }

  /** Sorted by configuration name, then in list order. */
  #all(): readonly CompiledWebhook[] {
    if (this.#webhooks !== undefined) return this.#webhooks
    const before = this.#compiled
    const configurations = Array.from(this.#store.collection(this.#resource).list(undefined), (s) => s.value).sort(
      (a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
    )
    this.#compiled = new Map(configurations.map((c) => [c.metadata.uid ?? '', compiledOf(c, before)]))
    this.#webhooks = [...this.#compiled.values()].flatMap((c) => c.webhooks)
    this.#answers.clear()
    this.#onChange()
    return this.#webhooks
  }

  candidates(request: AdmissionRequest): readonly Candidate[] {
    const webhooks = this.#all()
    if (webhooks.length === 0) return []
    if (this.#generation !== this.#registry.generation || this.#answers.size > MOST_ANSWERS) {
      this.#generation = this.#registry.generation
      this.#answers.clear()
    }
    const { group, version, plural } = request.served.type
    const key = `${request.operation} ${group}/${version}/${plural}/${request.subresource}`
    let answer = this.#answers.get(key)
    if (answer === undefined) {
      const versions = this.#registry.all().filter((s) => s.resource === request.served.resource)
      answer = webhooks.flatMap((webhook) => candidateOf(webhook, request, versions))
      this.#answers.set(key, answer)
    }
    return answer
  }
}

export interface WebhookSources {
  readonly store: Store
  readonly registry: Registry
  /** The set of webhooks has changed. */
  readonly onChange: () => void
}

function compiledOf(configuration: KubeObject, before: ReadonlyMap<string, Compiled>): Compiled {
  const { uid = '', resourceVersion } = configuration.metadata
  const known = before.get(uid)
  return known !== undefined && known.resourceVersion === resourceVersion
    ? known
    : { resourceVersion, webhooks: compileWebhooks(configuration) }
}

/** A rule names the version of the request, or by Equivalent another version of the same objects. */
function candidateOf(
  webhook: CompiledWebhook,
  request: AdmissionRequest,
  versions: readonly Served[],
): readonly Candidate[] {
  const isMeant = (served: Served) => webhook.rules.some((rule) => ruleMatches(rule, { ...request, served }))
  if (isMeant(request.served)) return [{ webhook, as: request.served }]
  const other = webhook.isExact ? undefined : versions.find((s) => s !== request.served && isMeant(s))
  return other === undefined ? [] : [{ webhook, as: other }]
}
