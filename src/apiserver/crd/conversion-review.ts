// The ConversionReview that a conversion webhook receives, and the meaning of its answer. Pure: every answer is checked
// here before use.
import { isObject } from '#lib/json.ts'
import type { KubeObject, ObjectMeta } from '#api/schema/object.ts'
import { encodeJson, parseJson } from '../codec/json.ts'

export type ConversionReviewVersion = 'v1' | 'v1beta1'

export interface ConversionCall {
  readonly uid: string
  readonly version: ConversionReviewVersion
  /** `group/version` that the objects should have. */
  readonly desired: string
  readonly objects: readonly KubeObject[]
}

export const conversionBody = ({ uid, version, desired, objects }: ConversionCall): Buffer =>
  encodeJson({
    kind: 'ConversionReview',
    apiVersion: `apiextensions.k8s.io/${version}`,
    request: { uid, desiredAPIVersion: desired, objects },
  })

export type Conversions =
  | { readonly ok: true; readonly objects: readonly KubeObject[] }
  /** What follows `conversion webhook for … `. */
  | { readonly ok: false; readonly error: string }

const bad = (error: string): Conversions => ({ ok: false, error })

export function convertedObjects(text: string, { uid, version, desired, objects }: ConversionCall): Conversions {
  let review: unknown
  try {
    review = parseJson(text)
  } catch {
    return bad('failed: its answer is no JSON')
  }
  if (
    !isObject(review) ||
    review['kind'] !== 'ConversionReview' ||
    review['apiVersion'] !== `apiextensions.k8s.io/${version}`
  )
    return bad(`failed: its answer is no ConversionReview of apiextensions.k8s.io/${version}`)
  const { response } = review
  if (!isObject(response)) return bad('failed: its answer has no response')
  if (response['uid'] !== uid)
    return bad(`failed: expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response['uid'] ?? '')}`)
  const result = isObject(response['result']) ? response['result'] : {}
  if (result['status'] !== 'Success') {
    const message = typeof result['message'] === 'string' && result['message'] !== '' ? result['message'] : undefined
    return bad(
      `failed: ${message ?? `response.result.status was ${JSON.stringify(result['status'] ?? '')}, expected Success`}`,
    )
  }
  const converted: readonly unknown[] = Array.isArray(response['convertedObjects']) ? response['convertedObjects'] : []
  if (converted.length !== objects.length)
    return bad(`returned ${converted.length} objects, expected ${objects.length}`)
  const kept: KubeObject[] = []
  for (const [i, value] of converted.entries()) {
    const before = objects[i]
    const problem = before === undefined ? 'it was not asked for' : problemOf(value, before, desired)
    const what = objects.length === 1 ? 'invalid object' : `invalid converted object at index ${i}`
    if (problem !== undefined) return bad(`returned ${what}: ${problem}`)
    kept.push(withOwnMetadata(value as KubeObject, before as KubeObject))
  }
  return { ok: true, objects: kept }
}

/** Fields that must equal the object that was sent. */
const FIXED = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const

function problemOf(value: unknown, before: KubeObject, desired: string): string | undefined {
  if (!isObject(value)) return 'it is no object'
  if (value['apiVersion'] !== desired)
    return `invalid groupVersion (expected ${desired}, received ${String(value['apiVersion'] ?? '')})`
  if (value['kind'] !== before.kind)
    return `invalid kind (expected ${before.kind}, received ${String(value['kind'] ?? '')})`
  const meta = value['metadata']
  if (!isObject(meta)) return 'it has no metadata'
  for (const [field, word] of FIXED) {
    const [old, now] = [before.metadata[field] ?? '', meta[field] ?? '']
    if (old !== now) return `must have the same ${word}: ${old} != ${typeof now === 'string' ? now : 'no text'}`
  }
  for (const field of ['labels', 'annotations'] as const)
    if (meta[field] !== undefined && !isTexts(meta[field])) return `metadata.${field} must be a map of texts`
  return undefined
}

const isTexts = (v: unknown): boolean => isObject(v) && Object.values(v).every((t) => typeof t === 'string')

/** A webhook may change labels and annotations; the rest of the metadata is the server's. */
function withOwnMetadata(value: KubeObject, before: KubeObject): KubeObject {
  const { labels: _l, annotations: _a, ...own } = before.metadata
  const { labels, annotations } = value.metadata
  const metadata: ObjectMeta = {
    ...own,
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  }
  return { ...value, metadata }
}
