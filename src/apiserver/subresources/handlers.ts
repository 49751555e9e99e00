// The handlers of subresources by name.
import type { Call, Handler } from '../handlers/context.ts'
import { handleGet } from '../handlers/list.ts'
import { handlePatch } from '../handlers/patch.ts'
import { handleUpdate } from '../handlers/create.ts'
import { methodNotAllowed } from '../status/refusal.ts'
import { approvalHandlers } from './certificate-approval.ts'
import { ephemeralContainerHandlers } from './ephemeral-containers.ts'
import { finalizeHandlers } from './namespace-finalize.ts'
import { bindingHandlers, evictionHandlers, logHandlers } from './pod.ts'
import { scaleHandlers } from './scale.ts'
import { tokenHandlers } from './token.ts'

type Handlers = Readonly<Record<string, Handler | undefined>>

const SUBRESOURCES: Readonly<Record<string, Handlers | undefined>> = {
  status: { get: handleGet, update: handleUpdate, patch: handlePatch },
  scale: scaleHandlers,
  ephemeralcontainers: ephemeralContainerHandlers,
  eviction: evictionHandlers,
  binding: bindingHandlers,
  log: logHandlers,
  approval: approvalHandlers,
  finalize: finalizeHandlers,
  token: tokenHandlers,
}

export function subresourceHandler({ path }: Call, verb: string): Handler {
  const handler = SUBRESOURCES[path.subresource]?.[verb]
  if (handler === undefined) throw methodNotAllowed()
  return handler
}
