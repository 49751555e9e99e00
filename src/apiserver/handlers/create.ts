// POST to a collection and PUT to a name.
import { withMetadata, withoutKeys } from '../meta/identity.ts'
import { readSent } from '../http/body.ts'
import { writeOptions } from '../http/query.ts'
import { methodNotAllowed, notFound } from '../status/refusal.ts'
import type { Answer, Call } from './context.ts'
import { checkNames, decodeObject } from './decode.ts'
import { objectAnswer } from './encode.ts'
import { changeObject } from './change-object.ts'
import { createObject } from './create-object.ts'
import { managing } from './managed.ts'
import { groupResource, placeOf } from './stored-place.ts'

export async function handleCreate(call: Call): Promise<Answer> {
  const { served, path, query, parts, warnings } = call
  if (served.type.namespaced && path.namespace === '') throw methodNotAllowed()
  const options = writeOptions(query, { options: 'CreateOptions', apply: false })
  const body = await readSent(call, served.type.kind)
  const object = decodeObject({ served, registry: parts.registry, validation: options.fieldValidation, warnings }, body)
  checkNames(object, served.type.namespaced ? path.namespace : '', undefined)
  const { stored } = await createObject(call, { object, options, tracking: { plain: managing(call, options, '') } })
  return objectAnswer(call, 201, stored)
}

export async function handleUpdate(call: Call): Promise<Answer> {
  const { served, path, query, parts, warnings } = call
  const options = writeOptions(query, { options: 'UpdateOptions', apply: false })
  const body = await readSent(call, served.type.kind)
  const object = decodeObject({ served, registry: parts.registry, validation: options.fieldValidation, warnings }, body)
  checkNames(object, served.type.namespaced ? path.namespace : '', path.name)
  const at = placeOf(served, path.namespace, path.name)
  const who = managing(call, options, path.subresource)
  const changed = await changeObject(call, at, {
    options,
    tracking: 'plain',
    managing: who,
    subresource: path.subresource,
    next: () => object,
    checkUid: true,
  })
  if (changed !== undefined) return objectAnswer(call, 200, changed.stored)
  if (!served.createOnUpdate || path.subresource !== '') throw notFound(groupResource(served), path.name)
  // for a missing object the client's resourceVersion is meaningless
  const fresh = withMetadata(object, withoutKeys(object.metadata, ['resourceVersion']))
  const { stored } = await createObject(call, { object: fresh, options, tracking: { plain: who }, isUpsert: true })
  return objectAnswer(call, 201, stored)
}
