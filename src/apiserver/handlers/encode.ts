// From stored objects to answers: in the form asked for, without parsing bytes that can be sent as they are.
import { apiVersionOf } from '#api/schema/resource.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { encodeJson } from '../codec/json.ts'
import { convertAll } from '../crd/webhook-conversion.ts'
import type { Served } from '../registry/served.ts'
import type { Stored } from '../storage/stored.ts'
import { badRequest, notAcceptable } from '../status/refusal.ts'
import { partialMetadata, tableOf } from '../table/table.ts'
import type { Answer, Call, Streamed } from './context.ts'

export const JSON_TYPE = 'application/json'

/** The object as this version shows it. */
export function viewOf({ behaviour }: Served, stored: Stored): KubeObject {
  return behaviour.conversion === undefined ? behaviour.fromStored(stored.value) : behaviour.conversion.view(stored)
}

/** The same, of an object that may have to be converted first. */
export async function convertedView(served: Served, stored: Stored): Promise<KubeObject> {
  await convertAll(served.behaviour.conversion, () => [stored])
  return viewOf(served, stored)
}

export async function objectAnswer(call: Call, code: number, stored: Stored): Promise<Answer> {
  const { served, accept } = call
  if (accept.as === 'object' && accept.encoding === 'json' && served.behaviour.storedAsIs)
    return { code, body: stored.bytes, type: JSON_TYPE }
  return valueAnswer(call, code, await convertedView(served, stored))
}

async function valueAnswer(call: Call, code: number, object: KubeObject): Promise<Answer> {
  const { served, accept, parts } = call
  switch (accept.as) {
    case 'Table':
      return encoded(
        call,
        code,
        tableOf(
          served,
          [object],
          { resourceVersion: object.metadata.resourceVersion ?? '' },
          includeOf(call),
          parts.clock.now(),
        ),
      )
    case 'PartialObjectMetadata':
      return encoded(call, code, partialMetadata(object))
    case 'PartialObjectMetadataList':
      throw notAcceptable(
        `you requested PartialObjectMetadataList, but the requested object is not a list (${goType(served, '')})`,
      )
    case 'object':
      return encoded(call, code, object)
    default:
      return encoded(call, code, object)
  }
}

export const goType = (served: Served, suffix: string): string =>
  served.custom
    ? `*unstructured.Unstructured${suffix}`
    : `*${served.type.group === '' ? 'core' : (served.type.group.split('.')[0] ?? '')}.${served.type.kind}${suffix}`

export type Include = 'None' | 'Metadata' | 'Object'
export function includeOf(call: Pick<Call, 'query'>): Include {
  const asked = call.query.get('includeObject')
  if (asked === null || asked === '' || asked === 'Metadata') return 'Metadata'
  if (asked === 'None' || asked === 'Object') return asked
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(asked)}: must be 'Metadata', 'Object', 'None', or empty`,
  )
}

/** Any other value: reviews, scales, statuses. */
export async function encoded(call: Pick<Call, 'accept'>, code: number, value: unknown): Promise<Answer> {
  if (call.accept.encoding === 'json') return { code, body: encodeJson(value), type: JSON_TYPE }
  return { code, body: await yamlBytes(value), type: 'application/yaml' }
}

/** The same of a value that is made part by part; YAML is written as a whole. */
export async function encodedParts(call: Pick<Call, 'accept'>, code: number, body: Streamed): Promise<Answer> {
  if (call.accept.encoding === 'json') return { code, body, type: JSON_TYPE }
  return encoded(call, code, JSON.parse(Buffer.concat([...body.parts]).toString('utf8')))
}

async function yamlBytes(value: unknown): Promise<Buffer> {
  const { stringify } = await import('yaml')
  return Buffer.from(
    stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, sortMapEntries: true, indentSeq: false }),
    'utf8',
  )
}

/** One item of a list. Built-in kinds leave out kind and apiVersion, with which stored bytes begin: nothing is copied. */
export function listItemParts(served: Served, s: Stored): readonly Buffer[] {
  const { storedAsIs } = served.behaviour
  if (storedAsIs && served.custom) return [s.bytes]
  const head = storedAsIs ? headOf(served) : undefined
  if (head !== undefined && s.bytes.compare(head, 0, head.length, 0, head.length) === 0)
    return [OPEN, s.bytes.subarray(head.length)]
  return [itemBytes(served, viewOf(served, s))]
}

const OPEN = Buffer.from('{')
const heads = new WeakMap<Served, Buffer>()

function headOf(served: Served): Buffer {
  let head = heads.get(served)
  if (head === undefined) {
    head = Buffer.from(
      `{"kind":${JSON.stringify(served.type.kind)},"apiVersion":${JSON.stringify(apiVersionOf(served.type))},`,
    )
    heads.set(served, head)
  }
  return head
}

function itemBytes(served: Served, object: KubeObject): Buffer {
  if (served.custom) return encodeJson(object)
  const { kind: _k, apiVersion: _v, ...rest } = object
  return encodeJson(rest)
}
