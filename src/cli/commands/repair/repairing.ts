// Requests a node's repair, or lifts its protection.
import { requestOutlook } from '#explain/repairs/observe.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import { placeHold } from '#permits/holds/placing.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import type { EvenIfAbsent } from '../../fleet/even-if-absent.ts'
import { findHeld } from '../../fleet/find-held.ts'
import { authorOf } from '../../current-person.ts'
import { type Asked, askHold } from './ask.ts'
import { repairErrors } from './repair-errors.ts'

export interface RepairOptions extends ServerOptions, EvenIfAbsent {
  readonly reason: string
  readonly for: string
  readonly unprotect?: boolean
}

export async function repair(what: string, options: RepairOptions, io: Io): Promise<void> {
  const verb: Asked = options.unprotect === true ? 'unprotect' : 'repair'
  const asked = { verb, what, reason: options.reason, for: options.for }
  // Report a bad argument before any request.
  const request = askHold({ ...asked, author: 'unknown' }, systemClock.now())
  const client = await connect(options, io)
  const mayBeAbsent = options.evenIfAbsent === true
  if (!mayBeAbsent) await findHeld(client, request.spec.target, what)
  if (verb === 'repair') {
    const outlook = await requestOutlook(client, request, systemClock.now())
    if (outlook.kind === 'Nothing' && !mayBeAbsent) throw new KubeNodeError(repairErrors.KN1338_repair({ what }))
    if (outlook.kind === 'MassFault') {
      const { rule, why } = outlook
      throw new KubeNodeError(repairErrors.KN1732({ what, rule, why }))
    }
  }
  const author = await authorOf(client, io)
  const { metadata, spec } = await placeHold(client, askHold({ ...asked, author }, systemClock.now()))
  const done = verb === 'repair' ? `repair of ${what} requested` : `protection of ${what} lifted`
  const hold = `operationalhold/${metadata.name}`
  io.out(shownInWindow(io, [`${done} by ${spec.author}; valid until ${spec.until} (${hold})`]))
}
