// ValidatingAdmissionPolicies with their bindings, evaluated on every write after all other checks.
import type { Logger } from '#lib/log.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Authorizer } from '../auth/authorizer.ts'
import { type AdmissionEvaluation, matchConditions } from '../machinery.ts'
import type { Registry } from '../registry/registry.ts'
import type { Store } from '../storage/store.ts'
import { forbidden, Refusal } from '../status/refusal.ts'
import { writeAuditLine } from './audit-line.ts'
import { BoundPolicies, type Bound } from './bound-policies.ts'
import type { AdmissionLink, AdmissionRequest } from './chain.ts'
import type { CompiledOnce } from './compiled-policies.ts'
import { fields, type CompiledPolicy, type CompiledValidation } from './compiled-policy.ts'
import { requestIn } from './in-version.ts'
import { isFreeOfPolicies } from './match-resources.ts'

const AUDITED_FAILURE = 'validation.policy.admission.k8s.io/validation_failure'
/** Truncated as on a real server. */
const MAX_ANNOTATION = 10 * 1024

export interface PolicyParts {
  readonly store: Store
  readonly registry: Registry
  readonly authorizer: Authorizer
  readonly compiled: CompiledOnce<CompiledPolicy>
  /** Where audit annotations go: there is no other audit. */
  readonly log: Logger
}

export class PolicyAdmission implements AdmissionLink {
  readonly #log: Logger
  readonly #policies: BoundPolicies

  constructor(parts: PolicyParts) {
    this.#log = parts.log
    this.#policies = new BoundPolicies(parts)
  }

  active = (): boolean => this.#policies.all().length > 0

  validate = async (request: AdmissionRequest): Promise<void> => {
    if (isFreeOfPolicies(request)) return
    for (const bound of this.#policies.all()) {
      const as = this.#policies.meantAs(bound, request)
      if (as !== undefined) this.#judge(bound, as === request.served ? request : await requestIn(request, as))
    }
  }

  #judge(bound: Bound, request: AdmissionRequest): void {
    const params = this.#policies.params(bound, request)
    if ('missing' in params) {
      const message = `failed to configure binding: ${params.missing}`
      return this.#deny(bound, request, { reason: 'Invalid', message })
    }
    for (const param of params.found) this.#evaluate(bound, request, param)
  }

  #evaluate(bound: Bound, request: AdmissionRequest, params: KubeObject | null): void {
    const { policy } = bound
    const evaluation = this.#policies.evaluation(policy.scope, request, params)
    const matched = matchConditions(policy.conditions, evaluation)
    if ('error' in matched)
      return policy.ignoresFailure
        ? undefined
        : this.#deny(bound, request, { reason: 'Invalid', message: matched.error })
    if (!matched.matches) return
    this.#annotate(bound, request, evaluation)
    for (const v of policy.validations) {
      const result = evaluation.run(v.program)
      if (!result.ok) {
        if (!policy.ignoresFailure) this.#deny(bound, request, { reason: 'Invalid', message: result.error })
      } else if (result.value !== true)
        this.#deny(bound, request, { reason: v.reason, message: messageOf(v, evaluation) })
    }
  }

  /** An annotation that fails counts as a failure of the policy; null is none. */
  #annotate(bound: Bound, request: AdmissionRequest, evaluation: AdmissionEvaluation): void {
    const { policy } = bound
    for (const { key, program } of policy.annotations) {
      const result = evaluation.run(program)
      if (!result.ok) {
        if (!policy.ignoresFailure) this.#deny(bound, request, { reason: 'Invalid', message: result.error })
      } else if (typeof result.value === 'string' && result.value.trim() !== '')
        this.#audit(bound, request, { [`${policy.name}/${key}`]: result.value.trim().slice(0, MAX_ANNOTATION) })
    }
  }

  #audit({ policy, binding }: Bound, request: AdmissionRequest, annotations: Readonly<Record<string, string>>): void {
    const by = { reason: 'ValidatingAdmissionPolicy', policy: policy.name, binding: binding.metadata.name ?? '' }
    writeAuditLine(this.#log, request, { ...by, annotations })
  }

  /** The action of the binding: a refusal, a warning, a line for the audit. */
  #deny(
    bound: Bound,
    request: AdmissionRequest,
    { reason, message }: { readonly reason: string; readonly message: string },
  ): void {
    const { policy, binding } = bound
    const actions = fields(binding['spec'])['validationActions']
    const list = Array.isArray(actions) ? actions : []
    const which = `ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.metadata.name ?? ''}'`
    if (list.includes('Warn')) request.warn(`Validation failed for ${which}: ${message}`)
    if (list.includes('Audit')) this.#audit(bound, request, { [AUDITED_FAILURE]: message })
    if (!list.includes('Deny')) return
    const text = `${which} denied request: ${message}`
    const { group, plural } = request.served.type
    const { status } = forbidden({ group, plural }, request.name, text)
    throw new Refusal({
      ...status,
      reason,
      code: CODES[reason] ?? 422,
      details: { ...status.details, causes: [{ message: text }] },
    })
  }
}

const CODES: Readonly<Record<string, number | undefined>> = {
  Unauthorized: 401,
  Forbidden: 403,
  Invalid: 422,
  RequestEntityTooLarge: 413,
}

function messageOf(v: CompiledValidation, evaluation: AdmissionEvaluation): string {
  if (v.messageProgram !== undefined) {
    const result = evaluation.run(v.messageProgram)
    if (result.ok && typeof result.value === 'string' && result.value.trim() !== '' && !result.value.includes('\n'))
      return result.value.trim()
  }
  return v.message === '' ? `failed expression: ${v.expression}` : v.message
}
