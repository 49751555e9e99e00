// Creates a hold.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import type { EvenIfAbsent } from '../../fleet/even-if-absent.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { HoldRequest } from './holds.ts'

type Unsigned = Omit<HoldRequest, 'author'>

/** Finds the object first; `refuse` throws if it does not need the hold. */
export async function place(
  options: ServerOptions & EvenIfAbsent,
  io: Io,
  what: string,
  request: Unsigned,
  refuse: (found: KubeObject) => void = () => undefined,
): Promise<OperationalHold> {
  const [{ holdFor }, { findHeld }] = await Promise.all([import('./holds.ts'), import('../../fleet/find-held.ts')])
  // Report a bad argument before any request.
  holdFor({ ...request, author: 'unknown' }, systemClock.now())
  const client = await connect(options, io)
  if (options.evenIfAbsent !== true) refuse(await findHeld(client, request.target, what))
  return placeWith(client, io, request)
}

export async function placeWith(client: KubeClient, io: Io, request: Unsigned): Promise<OperationalHold> {
  const [{ holdFor }, { placeHold }, { authorOf }] = await Promise.all([
    import('./holds.ts'),
    import('#permits/holds/placing.ts'),
    import('../../current-person.ts'),
  ])
  const author = await authorOf(client, io)
  return placeHold(client, holdFor({ ...request, author }, systemClock.now()))
}
