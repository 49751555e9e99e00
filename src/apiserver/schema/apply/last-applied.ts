// The annotation of kubectl's client-side apply: it lets kubectl take over its own old fields, and follows what kubectl applies on the server.
import { goJson } from '#lib/go-format.ts'
import { isObject } from '#lib/json.ts'
import type { Schema } from '#api/schema/schema.ts'
import { typeProblems } from './check.ts'
import { compareValues } from './compare.ts'
import { type FieldSet, difference } from './field-set.ts'
import { fieldSetOf } from './field-set-of.ts'

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'
export const KUBECTL = 'kubectl'
/** All annotations of an object together may not be larger; the annotation is then left out. */
const MAX_ANNOTATION_BYTES = 256 * 1024

type JsonMap = Readonly<Record<string, unknown>>

function annotationsOf(object: JsonMap): JsonMap {
  const metadata = object['metadata']
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined
  return isObject(annotations) ? annotations : {}
}

function lastAppliedOf(object: JsonMap): string | undefined {
  const annotations = annotationsOf(object)
  const text = Object.hasOwn(annotations, LAST_APPLIED) ? annotations[LAST_APPLIED] : undefined
  return typeof text === 'string' && text !== '' ? text : undefined
}

/** Fields that client-side apply set and that are unchanged since; undefined when unknown. */
export function lastAppliedFields(schema: Schema | undefined, live: JsonMap, apiVersion: string): FieldSet | undefined {
  const text = lastAppliedOf(live)
  if (text === undefined) return undefined
  const last = parsed(text)
  if (!isObject(last) || last['apiVersion'] !== apiVersion || typeProblems(schema, last).length > 0) return undefined
  const { changed, removed } = compareValues(schema, last, live)
  return difference(difference(fieldSetOf(schema, last), changed), removed)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (e) {
    if (e instanceof SyntaxError) return undefined
    throw e
  }
}

/** The object with the annotation updated to the applied configuration; the object itself when it has no such annotation. */
export function withLastApplied<T extends JsonMap>(object: T, applied: JsonMap): T {
  if (lastAppliedOf(object) === undefined) return object
  const text = `${goJson(withoutAnnotation(applied))}\n`
  const { [LAST_APPLIED]: before, ...others } = annotationsOf(object)
  if (text === before) return object
  const bytes = Object.entries({ ...others, [LAST_APPLIED]: text }).reduce(
    (sum, [k, v]) => sum + Buffer.byteLength(k) + Buffer.byteLength(v),
    0,
  )
  const annotations = bytes > MAX_ANNOTATION_BYTES ? others : { ...others, [LAST_APPLIED]: text }
  return { ...object, metadata: { ...(object['metadata'] as JsonMap), annotations } }
}

function withoutAnnotation(applied: JsonMap): JsonMap {
  const metadata = applied['metadata']
  if (!isObject(metadata) || !isObject(metadata['annotations'])) return applied
  const { [LAST_APPLIED]: _, ...annotations } = metadata['annotations']
  return { ...applied, metadata: { ...metadata, annotations } }
}
