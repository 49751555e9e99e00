// From stored objects to answers: in the form asked for, without parsing bytes that can be sent as they are.
import { apiVersionOf } from '#schema/resource.ts'
import type { KubeObject } from '#schema/object.ts'
import { encodeJson } from '../codec/json.ts'
import type { Served } from '../registry/served.ts'
import type { Stored } from '../storage/stored.ts'
import { notAcceptable } from '../status/refusal.ts'
import { partialMetadata, tableOf } from '../table/table.ts'
import type { Answer, Call } from './context.ts'

export const JSON_TYPE = 'application/json'

/** The object as this version shows it. */
export const viewOf = (served: Served, stored: Stored): KubeObject => served.behaviour.fromStored(stored.value)

export async function objectAnswer(call: Call, code: number, stored: Stored): Promise<Answer> {
  const { served, accept } = call
  if (accept.as === 'object' && accept.encoding === 'json' && served.behaviour.storedAsIs)
    return { code, body: stored.bytes, type: JSON_TYPE }
  return valueAnswer(call, code, viewOf(served, stored))
}

export async function valueAnswer(call: Call, code: number, object: KubeObject): Promise<Answer> {
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
  return asked === 'None' || asked === 'Object' ? asked : 'Metadata'
}

/** Any other value: reviews, scales, statuses. */
export async function encoded(call: Pick<Call, 'accept'>, code: number, value: unknown): Promise<Answer> {
  if (call.accept.encoding === 'json') return { code, body: encodeJson(value), type: JSON_TYPE }
  return { code, body: await yamlBytes(value), type: 'application/yaml' }
}

async function yamlBytes(value: unknown): Promise<Buffer> {
  const { stringify } = await import('yaml')
  return Buffer.from(stringify(value, { lineWidth: 0, aliasDuplicateObjects: false }), 'utf8')
}

/** Built-in kinds leave kind and apiVersion out of the items of a list; stored bytes begin with both. */
export function listItemBytes(served: Served, stored: Stored): Buffer {
  if (!served.behaviour.storedAsIs) return itemBytes(served, viewOf(served, stored))
  if (served.custom) return stored.bytes
  const head = headOf(served)
  const rest = stored.bytes.subarray(head.length - 1)
  return stored.bytes.subarray(0, head.length).equals(head)
    ? Buffer.concat([OPEN, rest.subarray(1)])
    : itemBytes(served, stored.value)
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
