// The handlers of subresources by name.
import type { Call, Handler } from '../handlers/context.ts'
import { handleGet } from '../handlers/list.ts'
import { handlePatch } from '../handlers/patch.ts'
import { handleUpdate } from '../handlers/create.ts'
import { methodNotAllowed } from '../status/refusal.ts'

type Handlers = Readonly<Record<string, Handler | undefined>>

const STATUS: Handlers = { get: handleGet, update: handleUpdate, patch: handlePatch }

const SUBRESOURCES: Readonly<Record<string, Handlers | undefined>> = { status: STATUS }

export function subresourceHandler({ path }: Call, verb: string): Handler {
  const handler = SUBRESOURCES[path.subresource]?.[verb]
  if (handler === undefined) throw methodNotAllowed()
  return handler
}
