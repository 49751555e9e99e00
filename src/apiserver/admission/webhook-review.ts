// The AdmissionReview that a webhook receives, and the meaning of its answer. Pure: every answer of a webhook is checked here before use.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { goSyntaxError } from '../codec/json-scan.ts'
import { encodeJson, parseJson } from '../codec/json.ts'
import { Refusal } from '../status/refusal.ts'
import type { Served } from '../registry/served.ts'
import type { AdmissionRequest } from './chain.ts'
import { fields, word } from './compiled-policy.ts'
import type { ReviewVersion } from './webhook-config.ts'

export interface ReviewCall {
  readonly uid: string
  readonly version: ReviewVersion
  /** The version of the objects that the webhook asked for. */
  readonly as: Served
  readonly object: KubeObject | undefined
  readonly old: KubeObject | undefined
}

export function reviewBody(request: AdmissionRequest, { uid, version, as, object, old }: ReviewCall): Buffer {
  const { subresource, name, namespace, operation, user, dryRun, options } = request
  const sub = (key: string) => (subresource === '' ? {} : { [key]: subresource })
  const userInfo = {
    username: user.name,
    ...(user.uid === undefined || user.uid === '' ? {} : { uid: user.uid }),
    groups: user.groups,
    ...(user.extra === undefined || Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
  }
  return encodeJson({
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${version}`,
    request: {
      uid,
      kind: request.kind ?? kindOf(as),
      resource: resourceOf(as),
      ...sub('subResource'),
      requestKind: request.kind ?? kindOf(request.served),
      requestResource: resourceOf(request.served),
      ...sub('requestSubResource'),
      ...(name === '' ? {} : { name }),
      ...(namespace === '' ? {} : { namespace }),
      operation,
      userInfo,
      object: object ?? null,
      oldObject: old ?? null,
      dryRun,
      options: options ?? null,
    },
  })
}

const kindOf = ({ type: { group, version, kind } }: Served) => ({ group, version, kind })
const resourceOf = ({ type: { group, version, plural } }: Served) => ({ group, version, resource: plural })

export type Verdict =
  | {
      readonly kind: 'Answered'
      readonly allowed: boolean
      readonly status: Readonly<Record<string, unknown>>
      readonly warnings: readonly string[]
      /** Base64 of a JSON patch. */
      readonly patch: string
    }
  /** The webhook failed: its failure policy decides. */
  | { readonly kind: 'Broken'; readonly error: string }

const broken = (error: string): Verdict => ({ kind: 'Broken', error })

export interface Expected {
  readonly uid: string
  readonly version: ReviewVersion
  readonly mutating: boolean
}

const NO_OBJECT =
  'json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

export function verdictOf(text: string, expected: Expected): Verdict {
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    // YAML is accepted too, and nearly any text is YAML
    const error = text.trimStart().startsWith('{') ? (goSyntaxError(text) ?? 'invalid JSON') : NO_OBJECT
    return broken(`failed to call webhook: couldn't get version/kind; json parse error: ${error}`)
  }
  const review = fields(value)
  if (expected.version === 'v1' && review['apiVersion'] === 'admission.k8s.io/v1beta1')
    return broken(
      'failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion',
    )
  if (!isObject(review['response'])) return invalid('webhook response was absent')
  const { response } = review
  const { allowed, patch, patchType, warnings, status } = response
  const mistake =
    typeof allowed === 'boolean' || allowed === undefined
      ? formMistake(review, response, expected)
      : 'response.allowed is no boolean'
  if (mistake !== undefined) return invalid(mistake)
  if (expected.mutating && patchType !== undefined && patchType !== 'JSONPatch')
    return invalid(`webhook returned invalid response.patchType of ${JSON.stringify(patchType)}`)
  return {
    kind: 'Answered',
    allowed: allowed === true,
    status: fields(status),
    warnings: Array.isArray(warnings) ? warnings.filter((w) => typeof w === 'string') : [],
    patch: word(patch),
  }
}

const invalid = (error: string): Verdict => broken(`received invalid webhook response: ${error}`)

/** v1 is strict about the form; v1beta1 required little */
function formMistake(
  review: Readonly<Record<string, unknown>>,
  response: Readonly<Record<string, unknown>>,
  { uid, version, mutating }: Expected,
): string | undefined {
  if (version === 'v1beta1') return undefined
  const { patch, patchType } = response
  if (response['uid'] !== uid)
    return `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(word(response['uid']))}`
  if (review['apiVersion'] !== 'admission.k8s.io/v1' || review['kind'] !== 'AdmissionReview')
    return `expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${shownKind(review)}`
  const hasPatch = word(patch) !== ''
  if (!mutating && hasPatch) return 'validating webhook may not return response.patch'
  if (!mutating && patchType !== undefined) return 'validating webhook may not return response.patchType'
  if (hasPatch && patchType === undefined) return 'webhook returned response.patch but not response.patchType'
  if (!hasPatch && patchType !== undefined) return 'webhook returned response.patchType but not response.patch'
  return undefined
}

function shownKind(review: Readonly<Record<string, unknown>>): string {
  const apiVersion = word(review['apiVersion'])
  const shown = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`
  return `${shown}, Kind=${word(review['kind'])}`
}

const LEAST_REFUSAL = 400
const GREATEST_CODE = 599

/** The error for the client when a webhook denies: the webhook's Status, with its name before the message. */
export function denial(webhook: string, status: Readonly<Record<string, unknown>>): Refusal {
  const by = `admission webhook ${JSON.stringify(webhook)} denied the request`
  const why = word(status['message']) || word(status['reason'])
  const { code, reason, details } = status
  const usable = typeof code === 'number' && Number.isInteger(code) && code >= LEAST_REFUSAL && code <= GREATEST_CODE
  return new Refusal({
    message: why === '' ? `${by} without explanation` : `${by}: ${why}`,
    ...(word(reason) === '' ? {} : { reason: word(reason) }),
    ...(isObject(details) ? { details } : {}),
    code: usable ? code : LEAST_REFUSAL,
  })
}
