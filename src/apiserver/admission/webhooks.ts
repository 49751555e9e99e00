// Mutating and validating admission webhooks: which are called for a write, in which order, and what their answers mean.
import { randomUUID } from 'node:crypto'
import { jsonEqual } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { AdmissionEvaluation, matchConditions } from '../machinery.ts'
import type { Registry } from '../registry/registry.ts'
import { forbidden, internalError } from '../status/refusal.ts'
import type { Store } from '../storage/store.ts'
import type { AdmissionLink, AdmissionRequest } from './chain.ts'
import { ADMISSION_GROUP, isFreeOfWebhooks, isNamespaceSelected, isObjectSelected } from './match-resources.ts'
import type { Authorizer } from '../auth/authorizer.ts'
import { inVersion } from './in-version.ts'
import { authorizerFor } from './may-they.ts'
import { requestFacts } from './request-facts.ts'
import { WebhookCaller, type MayCall, type ResolveService } from './webhook-call.ts'
import { WEBHOOK_SCOPE, type CompiledWebhook } from './webhook-config.ts'
import { patchedBy } from './webhook-patch.ts'
import { denial, reviewBody, verdictOf, type Verdict } from './webhook-review.ts'
import { WebhookSet, type Candidate } from './webhook-set.ts'

export interface WebhookParts {
  readonly authorizer: Authorizer
  readonly store: Store
  readonly registry: Registry
  readonly log: Logger
  readonly resolveService: ResolveService
  readonly mayCall?: MayCall | undefined
}

type Allowed = Extract<Verdict, { kind: 'Answered' }>

export class WebhookAdmission {
  readonly #store: Store
  readonly #authorizer: Authorizer
  readonly #log: Logger
  readonly #caller: WebhookCaller
  readonly #mutating: WebhookSet
  readonly #validating: WebhookSet
  /** Webhooks that failed at the last call: logged once, not on each write. */
  readonly #failing = new Set<string>()

  constructor({ store, registry, authorizer, log, resolveService, mayCall }: WebhookParts) {
    this.#store = store
    this.#authorizer = authorizer
    this.#log = log
    this.#caller = new WebhookCaller(resolveService, mayCall)
    const onChange = () => {
      this.#caller.keepOnly([...this.#mutating.targets(), ...this.#validating.targets()])
      this.#failing.clear()
    }
    const sources = { store, registry, onChange }
    this.#mutating = new WebhookSet(`${ADMISSION_GROUP}/mutatingwebhookconfigurations`, sources)
    this.#validating = new WebhookSet(`${ADMISSION_GROUP}/validatingwebhookconfigurations`, sources)
  }

  readonly mutatingLink: AdmissionLink = {
    active: () => !this.#mutating.isEmpty,
    mutate: (request) => this.#mutate(request),
  }

  readonly validatingLink: AdmissionLink = {
    active: () => !this.#validating.isEmpty,
    validate: (request) => this.#validate(request),
  }

  close(): void {
    this.#caller.close()
  }

  /** One after the other, each sees the changes of its predecessors; webhooks with reinvocation are called again when a later one changed the object. */
  #mutate(request: AdmissionRequest): KubeObject | undefined | Promise<KubeObject | undefined> {
    const candidates = isFreeOfWebhooks(request) ? [] : this.#mutating.candidates(request)
    return candidates.length === 0 ? request.object : this.#mutateBy(candidates, request)
  }

  async #mutateBy(candidates: readonly Candidate[], request: AdmissionRequest): Promise<KubeObject | undefined> {
    let { object } = request
    const asked = new Set<Candidate>()
    const again = new Set<Candidate>()
    for (const candidate of candidates) {
      const before = object
      object = await this.#mutateOnce(candidate, { ...request, object })
      if (object !== before) for (const earlier of asked) again.add(earlier)
      if (candidate.webhook.reinvoked) asked.add(candidate)
    }
    for (const candidate of candidates)
      if (again.has(candidate)) object = await this.#mutateOnce(candidate, { ...request, object })
    return object
  }

  /** The same object when the webhook changed nothing. */
  async #mutateOnce({ webhook, as }: Candidate, request: AdmissionRequest): Promise<KubeObject | undefined> {
    if (!this.#isMeant(webhook, request)) return request.object
    const answer = await this.#ask({ webhook, as }, request, true)
    if (answer === undefined || answer.patch === '') return request.object
    const { served, object, warn } = request
    if (object === undefined)
      throw internalError(
        `admission webhook ${JSON.stringify(webhook.name)} attempted to modify the object, which is not supported for this operation`,
      )
    const before = await inVersion(object, served, as)
    const after = patchedBy(webhook.name, { as, object: before, patch: answer.patch, warn })
    return jsonEqual(before, after) ? object : inVersion(after, as, served)
  }

  /** All in parallel; of several refusals the first webhook's is returned. */
  #validate(request: AdmissionRequest): void | Promise<void> {
    const candidates = isFreeOfWebhooks(request) ? [] : this.#validating.candidates(request)
    const meant = candidates.filter(({ webhook }) => this.#isMeant(webhook, request))
    return meant.length === 0 ? undefined : this.#validateBy(meant, request)
  }

  async #validateBy(meant: readonly Candidate[], request: AdmissionRequest): Promise<void> {
    const answers = await Promise.allSettled(meant.map((c) => this.#ask(c, request, false)))
    for (const answer of answers) if (answer.status === 'rejected') throw answer.reason
  }

  /** Refuses the request when a condition fails and the webhook may not be skipped. */
  #isMeant(webhook: CompiledWebhook, request: AdmissionRequest): boolean {
    if (!isNamespaceSelected(webhook.namespaces, request, this.#store)) return false
    if (!isObjectSelected(webhook.objects, request)) return false
    if (webhook.conditions.length === 0) return true
    const evaluation = new AdmissionEvaluation(WEBHOOK_SCOPE, {
      object: request.object ?? null,
      oldObject: request.old ?? null,
      request: requestFacts(request),
      authorizer: authorizerFor(this.#authorizer, request),
    })
    const matched = matchConditions(webhook.conditions, evaluation)
    if ('matches' in matched) return matched.matches
    if (webhook.ignoresFailure) return false
    const { group, plural } = request.served.type
    throw forbidden({ group, plural }, request.name, matched.error)
  }

  /** Undefined when the webhook failed and its failure is ignored. Throws the refusal. */
  async #ask({ webhook, as }: Candidate, request: AdmissionRequest, mutating: boolean): Promise<Allowed | undefined> {
    const { served, object, old } = request
    const uid = randomUUID()
    const { reviewVersion: version, target, timeoutSeconds } = webhook
    const body = reviewBody(request, {
      uid,
      version,
      as,
      object: object && (await inVersion(object, served, as)),
      old: old && (await inVersion(old, served, as)),
    })
    const outcome = await this.#caller.call({ target, body, timeoutSeconds })
    const verdict: Verdict = outcome.ok
      ? verdictOf(outcome.text, { uid, version, mutating })
      : { kind: 'Broken', error: `failed to call webhook: ${outcome.error}` }
    if (verdict.kind === 'Broken') return this.#failed(webhook, verdict.error)
    this.#failing.delete(webhook.name)
    for (const text of verdict.warnings) request.warn(text)
    if (!verdict.allowed) throw denial(webhook.name, verdict.status)
    return verdict
  }

  #failed({ name, ignoresFailure }: CompiledWebhook, error: string): undefined {
    if (!this.#failing.has(name))
      this.#log.warn('a webhook failed', { webhook: name, reason: error, policy: ignoresFailure ? 'Ignore' : 'Fail' })
    this.#failing.add(name)
    if (!ignoresFailure) throw internalError(`failed calling webhook ${JSON.stringify(name)}: ${error}`)
    return undefined
  }
}
