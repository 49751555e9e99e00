// A compiled webhook of a configuration: its selectors and conditions, its target and its limits.
import type { FieldError } from '../schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { admissionScope, compileAdmission, type AdmissionScope, type MatchCondition } from '../machinery.ts'
import type { LabelMatcher } from '../selectors/label-selector.ts'
import { fields, listOfFields, word } from './compiled-policy.ts'
import { compiledSelector } from './match-resources.ts'

export interface ServiceReference {
  readonly namespace: string
  readonly name: string
  readonly port: number
  readonly path: string
}

export type WebhookTarget =
  | { readonly kind: 'Url'; readonly url: string; readonly ca: string | undefined }
  | { readonly kind: 'Service'; readonly service: ServiceReference; readonly ca: string | undefined }

export type ReviewVersion = 'v1' | 'v1beta1'

export interface CompiledWebhook {
  readonly name: string
  readonly target: WebhookTarget
  readonly rules: readonly Readonly<Record<string, unknown>>[]
  /** Equivalent: also through other versions of the same objects. */
  readonly isExact: boolean
  readonly namespaces: LabelMatcher | undefined
  readonly objects: LabelMatcher | undefined
  readonly conditions: readonly MatchCondition[]
  readonly timeoutSeconds: number
  readonly ignoresFailure: boolean
  readonly reinvoked: boolean
  readonly reviewVersion: ReviewVersion
}

/** Expressions of webhooks have no parameters and no variables: all share one scope. */
export const WEBHOOK_SCOPE: AdmissionScope = admissionScope({})

const DEFAULT_TIMEOUT_SECONDS = 10
const HTTPS_PORT = 443

export function compileWebhooks(configuration: KubeObject): readonly CompiledWebhook[] {
  return listOfFields(configuration['webhooks']).map((w, i) => ({
    name: word(w['name']),
    target: targetOf(fields(w['clientConfig'])),
    rules: listOfFields(w['rules']),
    isExact: w['matchPolicy'] === 'Exact',
    namespaces: compiledSelector(w['namespaceSelector']),
    objects: compiledSelector(w['objectSelector']),
    conditions: compiledConditions(w, i).conditions,
    timeoutSeconds: typeof w['timeoutSeconds'] === 'number' ? w['timeoutSeconds'] : DEFAULT_TIMEOUT_SECONDS,
    ignoresFailure: w['failurePolicy'] === 'Ignore',
    reinvoked: w['reinvocationPolicy'] === 'IfNeeded',
    reviewVersion: reviewVersionOf(w['admissionReviewVersions']),
  }))
}

/** Problems that keep the conditions of a configuration from compiling. */
export const conditionProblems = (configuration: KubeObject): readonly FieldError[] =>
  listOfFields(configuration['webhooks']).flatMap((w, i) => compiledConditions(w, i).problems)

function compiledConditions(webhook: Readonly<Record<string, unknown>>, index: number) {
  const problems: FieldError[] = []
  const conditions = listOfFields(webhook['matchConditions']).flatMap((c, i): readonly MatchCondition[] => {
    const at = `webhooks[${index}].matchConditions[${i}].expression`
    const compiled = compileAdmission(word(c['expression']), WEBHOOK_SCOPE, ['bool'], at)
    if (compiled.ok) return [{ name: word(c['name']), program: compiled.program }]
    problems.push(compiled.problem)
    return []
  })
  return { conditions, problems }
}

export function targetOf(client: Readonly<Record<string, unknown>>): WebhookTarget {
  const bundle = word(client['caBundle'])
  const ca = bundle === '' ? undefined : Buffer.from(bundle, 'base64').toString('utf8')
  if (client['service'] === undefined) return { kind: 'Url', url: word(client['url']), ca }
  const { namespace, name, port, path } = fields(client['service'])
  return {
    kind: 'Service',
    service: {
      namespace: word(namespace),
      name: word(name),
      port: typeof port === 'number' ? port : HTTPS_PORT,
      path: word(path) || '/',
    },
    ca,
  }
}

/** The first version of the list that we support. */
function reviewVersionOf(versions: unknown): ReviewVersion {
  const list: readonly unknown[] = Array.isArray(versions) ? versions : []
  return list.find((v) => v === 'v1' || v === 'v1beta1') === 'v1beta1' ? 'v1beta1' : 'v1'
}
