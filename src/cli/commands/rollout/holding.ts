// The pause, resume, retry and abort commands. Each creates or deletes a hold that expires.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { release } from '#api/kinds/release.ts'
import { holdLine } from '#explain/hold-line.ts'
import { findOne } from '#explain/objects/find-object.ts'
import { continuingLines } from '#explain/release/status.ts'
import { refuseUnlessFailed } from '#explain/rollout/status.ts'
import { isApiError } from '#kube/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Io } from '#lib/terminal/io.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import type { EvenIfAbsent } from '../../fleet/even-if-absent.ts'
import { findHeld } from '../../fleet/find-held.ts'
import { withItsKind } from '../../fleet/named-thing.ts'
import { undoing } from '../../fleet/undoing.ts'
import { HOLDABLE, heldTarget, liftHolds } from './holds.ts'
import { place } from './place.ts'

export interface HoldOptions extends ServerOptions, EvenIfAbsent {
  readonly reason: string
  readonly for: string
}

export interface ResumeOptions extends ServerOptions, EvenIfAbsent {
  readonly all?: boolean
}

async function heldCalled(command: string, what: string, options: ServerOptions, io: Io): Promise<string> {
  return withItsKind(what, { command, nouns: HOLDABLE.nouns }, options, io)
}

export async function pause(typed: string, options: HoldOptions, io: Io): Promise<void> {
  const what = await heldCalled('pause', typed, options, io)
  const hold = await place(options, io, what, { target: heldTarget(what), effect: 'Pause', ...options })
  print(io, `${what} is paused until ${hold.spec.until} by ${hold.spec.author}: ${hold.spec.reason}`)
  io.err(`running operations finish; to continue, run ${undoing(`kubenode resume ${what}`, options)}\n`)
  const { kind, name = '' } = hold.spec.target
  if (kind === 'Release') await warnOfContinuing(name, options, io)
}

/** The hold is in place even without the right to read the release. */
async function warnOfContinuing(name: string, options: ServerOptions, io: Io): Promise<void> {
  const client = await connect(options, io)
  const found = await findOne(client, release, name).catch((error: unknown) => {
    if (isApiError(error)) return undefined
    throw error
  })
  for (const line of continuingLines(found?.status ?? {})) io.err(shownLine(`warning: ${line}`))
}

export async function resume(typed: string, options: ResumeOptions, io: Io): Promise<void> {
  const what = await heldCalled('resume', typed, options, io)
  const target = heldTarget(what)
  const client = await connect(options, io)
  const { removed, left } = await liftHolds(client, what, options.all === true, systemClock.now())
  if (removed.length === 0 && options.evenIfAbsent !== true) await findHeld(client, target, what)
  print(io, removed.length === 0 ? `${what} has no hold created by you` : `resumed: ${removed.join(', ')}`)
  for (const hold of left) io.err(shownLine(`still held: ${holdLine(hold)}`))
}

export async function retry(name: string, options: HoldOptions, io: Io): Promise<void> {
  const target = { kind: 'MachineComponentSet', name } as const
  const request = { target, effect: 'Retry', ...options } as const
  const hold = await place(options, io, `set/${name}`, request, (set) => refuseUnlessFailed(set as MachineComponentSet))
  print(io, `retrying the failed revision of set/${name} (operationalhold/${hold.metadata.name})`)
}

export async function abortCanary(name: string, options: HoldOptions, io: Io): Promise<void> {
  const target = { kind: 'ComponentCanary', name } as const
  await place(options, io, `canary/${name}`, { target, effect: 'Abort', ...options })
  print(io, `canary/${name} aborted: ${options.reason}`)
  io.err('to try again, remove it from the fleet by a commit or rename it\n')
}

const print = (io: Io, text: string): void => io.out(shownInWindow(io, [text]))
