// Which handler answers a verb on a resource or one of its subresources.
import { methodNotAllowed, notFound, nothingServed } from '../status/refusal.ts'
import { handleCreate, handleUpdate } from './create.ts'
import { handleDelete, handleDeleteCollection } from './delete.ts'
import { handleGet, handleList } from './list.ts'
import { handlePatch } from './patch.ts'
import { groupResource } from './stored-place.ts'
import { handleWatch } from './watch.ts'
import { reviewHandlers } from '../reviews/handlers.ts'
import { subresourceHandler } from '../subresources/handlers.ts'
import type { Verb } from '../builtin/kind.ts'
import type { Call, Handler } from './context.ts'

const MAIN: Readonly<Record<Verb, Handler>> = {
  get: handleGet,
  list: handleList,
  watch: handleWatch,
  create: handleCreate,
  update: handleUpdate,
  patch: handlePatch,
  delete: handleDelete,
  deletecollection: handleDeleteCollection,
}

export function handlerFor(call: Call, verb: string): Handler {
  const { path, served, request } = call
  if (path.subresource !== '') {
    if (!served.subresources.has(path.subresource))
      throw served.custom ? notFound(groupResource(served), path.name) : nothingServed()
    return subresourceHandler(call, verb)
  }
  if (!isVerb(verb) || request.method === 'HEAD' || !served.verbs.has(verb)) throw methodNotAllowed()
  const named = path.name !== ''
  const onName =
    verb === 'get' || verb === 'update' || verb === 'patch' || verb === 'delete' || (verb === 'watch' && path.watch)
  if (named !== onName && !(verb === 'watch' && !named)) throw methodNotAllowed()
  return reviewHandlers[served.resource] ?? MAIN[verb]
}

const isVerb = (v: string): v is Verb => Object.hasOwn(MAIN, v)
