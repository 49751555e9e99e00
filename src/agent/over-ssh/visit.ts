// One round of work on a host without an agent, in one session: the same components, plans and journal as an agent's, with hands over SSH. It ends when only
// time would change anything, or when the session is over; a switch that is open then continues in the next round from the journal on the host, as after a
// crash of an agent.
import type { KubeObject } from '#api/schema/object.ts'
import { uidOf } from '#api/schema/object-meta.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { type KubeNodeError, isKubeNodeError } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import type { Conversation } from '#ssh/ssh-sessions.ts'
import { type MachineOrder, orderOf } from '../machine-order.ts'
import type { NodeDir } from '../node-dir.ts'
import { visitPrelude } from './prelude.ts'
import { HOST, type Parts, type VisitOptions, buildVisit } from './visit-parts.ts'

const TICK_MS = 500
/** A switch with its hooks and its settle time; what takes longer continues in the next round. */
const LONGEST_MS = 20 * 60_000
/** For the step under way: a host that answers without end must not keep its place. */
const GRACE_MS = 5 * 60_000

/** A session for a visit. */
export const visitSession = (
  login: Pick<Conversation, 'target' | 'identity' | 'sudo'>,
  dir: NodeDir = HOST,
): Conversation => ({ ...login, prelude: visitPrelude(dir) })

export async function visit(options: VisitOptions): Promise<void> {
  const first = options.machine()
  if (first === undefined) return
  const { channel, clock } = options
  const late = clock.after(LONGEST_MS + GRACE_MS, () => channel.close('the host did not finish in time'))
  const reads = options.reads.session()
  try {
    await visitWith(options, await buildVisit(options, first, reads), first)
  } finally {
    reads.release()
    late.cancel()
  }
}

/** The host refused or cannot do it: not a fault of the controllers or their API server. */
export const isOfHost = (e: unknown): e is KubeNodeError => isKubeNodeError(e) && OF_HOST.has(e.code)

const OF_HOST: ReadonlySet<string> = new Set(['KN8037', 'KN8096'])

async function visitWith(options: VisitOptions, parts: Parts, first: Machine): Promise<void> {
  const { components, systemd, drift, jobs, conditions } = parts
  const beat = new Beat(options)
  try {
    await systemd.adopt()
    await components.load()
    beat.start()
    await work(options, parts, first)
  } finally {
    beat.stop()
    // Without a session nothing of it can continue; with one, steps under way end first.
    jobs.close()
    await drift.close()
    await components.close()
    await conditions.end()
    systemd.close()
  }
}

/** As long as the session lasts, also while one step of it takes long. */
class Beat {
  readonly #o: VisitOptions
  #timer: { cancel(): void } | undefined
  #isOver = false

  constructor(options: VisitOptions) {
    this.#o = options
  }

  start(): void {
    const { beat, beatEveryMs, channel, clock, log } = this.#o
    if (this.#isOver || channel.closed !== undefined) return
    void beat().catch((error: unknown) => log.warn('cannot renew the heartbeat', { error }))
    this.#timer = clock.after(beatEveryMs, () => this.start())
  }

  stop(): void {
    this.#isOver = true
    this.#timer?.cancel()
  }
}

async function work(
  { channel, machine, clock, report, signal }: VisitOptions,
  parts: Parts,
  first: Machine,
): Promise<void> {
  const { components, drift, status, jobs, conditions } = parts
  let order: MachineOrder | undefined
  let isLeaving = false
  let reported: KubeObject | undefined
  let isInspected = false
  const until = clock.monotonic() + LONGEST_MS
  while (channel.closed === undefined && !signal.aborted && clock.monotonic() < until) {
    const now = machine()
    // A Machine of the same name is another one, and so is its host.
    if (now === undefined || uidOf(now) !== uidOf(first)) return
    if (now.metadata.generation !== order?.generation) {
      order = orderOf(now)
      if (order.leaving === true && !isLeaving) {
        components.leave(order.isObserved === true && now.metadata.deletionTimestamp === undefined)
        isLeaving = true
      } else components.obey(order)
      isInspected = false
    }
    if (isLeaving && components.areOff) {
      await drift.close()
      const last = await status('Left')
      await parts.leaveHost()
      return report(last)
    }
    if (components.areQuiet && !isInspected) {
      isInspected = true
      await drift.inspectAll()
      if (!isLeaving) await conditions.look()
      continue
    }
    if (!isLeaving) await jobs.follow(order?.jobs ?? [])
    const isQuiet = components.areQuiet && jobs.areQuiet && !conditions.isSettling
    const object = await status(isLeaving ? 'Leaving' : undefined)
    // What could not be read because the session is over is no news of the host.
    if (channel.closed !== undefined) return
    await conditions.report()
    if (!jsonEqual(object, reported)) {
      await report(object)
      reported = object
    } else if (isQuiet) return
    else await clock.sleep(TICK_MS, signal)
  }
}
