// Cleans up expired holds: reports the end in the hold's status and in an event, and deletes the hold a day later. A hold that is in force, or whose
// end cannot be read, is never touched.
import { FIELD_MANAGERS } from '#api/names.ts'
import { operationalHold, type OperationalHold } from '#api/kinds/operational-hold.ts'
import { endOf, readable } from '#permits/holds/in-force.ts'
import type { KubeClient } from '#kube/client.ts'
import type { EventRecorder } from '#kube/events.ts'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { RepeatedLine } from '#lib/repeated-line.ts'
import { RepeatedCheck } from '#runtime/repeated-check.ts'
import type { Part } from '#runtime/manager.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import { writeStatus } from '#runtime/write-status.ts'
import type { Caches } from './caches.ts'

/** As long as permits are kept: a hold that stopped a rollout last night is still there in the morning. */
export const KEEP_ENDED_MS = 24 * 3_600_000
/** The sweep interval. */
export const EVERY_MS = 60_000
/** Holds written or deleted per sweep. The rest follows in the next one. */
const MOST_IN_ONE = 50

export interface EndedHoldsOptions {
  readonly client: KubeClient
  readonly caches: Pick<Caches, 'holds'>
  readonly clock: Clock
  readonly log: Logger
  readonly events: EventRecorder
  /** The API server's wall clock, if known. */
  readonly serverNow?: () => number | undefined
}

/** `Renew`: its end was moved, or the clock was ahead, so its status must no longer be Ended. */
export type HoldStep = 'Report' | 'Renew' | 'Delete'

/** `wall` decides whether it ended, as everywhere. A deletion is final, so it also needs `server`, in case `wall` is ahead. */
export function stepFor(
  hold: OperationalHold,
  { wall, server = wall }: { readonly wall: number; readonly server?: number | undefined },
): HoldStep | undefined {
  const end = endOf(readable(hold))
  if (end === undefined || hold.metadata.deletionTimestamp !== undefined) return undefined
  const isReported = hold.status?.active === 'Ended'
  if (end > wall) return isReported ? 'Renew' : undefined
  if (!isReported) return 'Report'
  return Math.min(wall, server) - end >= KEEP_ENDED_MS ? 'Delete' : undefined
}

export class EndedHolds implements Part {
  readonly name = 'ended-holds'
  readonly #options: EndedHoldsOptions
  readonly #repeated: RepeatedCheck
  readonly #trouble: RepeatedLine

  constructor(options: EndedHoldsOptions) {
    this.#options = options
    this.#repeated = new RepeatedCheck(options.clock)
    this.#trouble = new RepeatedLine(options.clock)
  }

  start(): void {
    this.#repeated.start(
      () => EVERY_MS,
      () => this.sweep(),
    )
  }

  stop(): Promise<void> {
    return this.#repeated.stop()
  }

  async sweep(): Promise<void> {
    const { caches, clock, log, serverNow } = this.#options
    const now = { wall: clock.now(), server: serverNow?.() }
    try {
      const due = caches.holds.list().flatMap((hold) => {
        const step = stepFor(hold, now)
        return step === undefined ? [] : [{ hold, step }]
      })
      for (const { hold, step } of due.slice(0, MOST_IN_ONE)) {
        if (this.#repeated.signal.aborted) return
        await (step === 'Delete' ? this.#delete(hold) : this.#report(hold, step === 'Report'))
      }
      this.#trouble.ended()
    } catch (error) {
      if (this.#repeated.signal.aborted) return
      const why = messageOf(error)
      const line = this.#trouble.due(why)
      if (line !== undefined) log.warn('cannot clear away expired holds', { error: why, ...line })
    }
  }

  async #report(hold: OperationalHold, isEnded: boolean): Promise<void> {
    const { client, caches, events } = this.#options
    const { active: _active, message: _message, ...status } = hold.status ?? {}
    const written = await writeStatus({
      client,
      type: operationalHold,
      object: hold,
      status: {
        ...status,
        ...(isEnded && { active: 'Ended', message: `expired at ${hold.spec.until}; deleted a day later` }),
      },
      fieldManager: FIELD_MANAGERS.defender,
      cache: caches.holds,
    })
    if (!isEnded || written?.kind !== 'Applied') return
    events.record(written.object, {
      type: 'Normal',
      reason: 'HoldExpired',
      action: 'Expire',
      note: `${aboutHold(hold)} expired at ${hold.spec.until}`,
    })
  }

  async #delete(hold: OperationalHold): Promise<void> {
    const { client, events, log } = this.#options
    const deleted = await deleteExactly(client, operationalHold, hold)
    if (deleted.kind !== 'Applied') return
    const note = `${aboutHold(hold)} expired at ${hold.spec.until}; the Defender deleted it a day later`
    events.record(hold, { type: 'Normal', reason: 'HoldDeleted', action: 'Delete', note })
    const { author, effect, until, reason } = readable(hold).spec
    log.info('deleted an expired hold', { hold: hold.metadata.name, effect, author, until, why: reason })
  }
}

function aboutHold(hold: OperationalHold): string {
  const { effect, author, reason, target } = readable(hold).spec
  const on = `${target.kind}${target.name === undefined ? 's with the selected labels' : ` ${target.name}`}`
  return `${effect} on ${on} by ${author} (${reason})`
}
