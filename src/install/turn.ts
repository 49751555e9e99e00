// Lets one run at a time change an installation. A Lease in KubeNode's namespace records which; a killed run loses its turn once the Lease is no longer
// renewed.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { answerOf, type ApiError } from '#kube/errors.ts'
import {
  givenBack,
  holderOf,
  isOver,
  leaseType,
  newLease,
  renewed,
  sighted,
  taken,
  type Lease,
  type Sighting,
} from '#runtime/lease.ts'
import { writeLease } from '#runtime/write-lease.ts'
import { until, type InstallContext, type PollResult, type TurnTimes } from './context.ts'
import { installErrors } from './install-errors.ts'

const DEFAULT_TIMES: TurnTimes = { leaseMs: 15_000, renewMs: 4_000 }
const REQUEST_MS = 5_000
/** A Lease with a duration beyond this many times the normal one was edited by hand, and must not block all runs forever. */
const MOST_PROMISED = 4

export const TURN_LEASE = { namespace: SYSTEM_NAMESPACE, name: 'kubenode-installer' } as const

const namespaceType = coreKind('Namespace')

export interface Turn {
  /** Ends if another run took over because this one was stopped for a while. */
  readonly context: InstallContext
  /** The state read before the turn is out of date. */
  readonly hasWaited: boolean
  /** Releases the turn at the end. */
  readonly during: <T>(work: () => Promise<T>) => Promise<T>
  /** Stops the renewals: the namespace is being deleted, with the Lease in it. */
  readonly stop: () => Promise<void>
}

/** Undefined if KubeNode's namespace is missing: then no other run can use it either. For a terminating one it waits, or counts it as missing. */
export async function takeTurn(
  context: InstallContext,
  verb: string,
  whenNamespaceGoes: 'Wait' | 'None',
): Promise<Turn | undefined> {
  const times = context.turnTimes ?? DEFAULT_TIMES
  const identity = `${verb} on ${hostname()}, process ${process.pid} (${randomUUID().slice(0, 8)})`
  const attempt = new Attempt(context, identity, times)
  let hasWaited = false
  const found = await until(context, 'another run to end', async () => {
    const poll = await attempt.poll(whenNamespaceGoes)
    if ('waitsFor' in poll) hasWaited = true
    return poll
  })
  return found === 'None' ? undefined : { hasWaited, ...held(context, identity, times) }
}

/** A user who ends a run aborts its signal too. */
export const isOvertaken = ({ signal }: InstallContext): boolean => signal?.reason instanceof KubeNodeError

/** One run's attempt to get the turn. */
class Attempt {
  readonly #context: InstallContext
  readonly #identity: string
  readonly #times: TurnTimes
  #sighting: Sighting | undefined
  #polledAt: number

  constructor(context: InstallContext, identity: string, times: TurnTimes) {
    this.#context = context
    this.#identity = identity
    this.#times = times
    this.#polledAt = context.clock.monotonic()
  }

  async poll(whenNamespaceGoes: 'Wait' | 'None'): Promise<PollResult<'Taken' | 'None'>> {
    const { client, clock, signal } = this.#context
    const { leaseMs } = this.#times
    const call = signal === undefined ? {} : { signal }
    const namespace = await client.get(namespaceType, { name: SYSTEM_NAMESPACE }, call)
    const isGoing = namespace?.metadata.deletionTimestamp !== undefined
    if (namespace === undefined || (isGoing && whenNamespaceGoes === 'None')) return { done: 'None' }
    if (isGoing) return { waitsFor: `namespace ${SYSTEM_NAMESPACE} is being deleted` }
    const lease = (await client.get(leaseType, TURN_LEASE, call)) ?? newLease(TURN_LEASE)
    if (!this.#isFree(lease)) return { waitsFor: holderOf(lease) ?? '' }
    const wanted = taken(lease, this.#identity, leaseMs, clock.now())
    const outcome = await writeLease(client, wanted, { timeoutMs: REQUEST_MS })
    if (outcome.kind === 'Applied') return { done: 'Taken' }
    if (outcome.kind === 'Denied' && !passes(outcome.error))
      throw new KubeNodeError(
        installErrors.KN1420({ object: `lease ${TURN_LEASE.name}`, why: outcome.error.serverMessage }),
      )
    if (OVERTAKEN.has(outcome.kind)) return { waitsFor: 'a run that was faster' }
    const why = answerOf(outcome.error)
    return { waitsFor: `lease ${TURN_LEASE.name} cannot be written: ${why}` }
  }

  #isFree(lease: Lease): boolean {
    const { leaseMs } = this.#times
    const now = this.#context.clock.monotonic()
    // While a server does not answer, no run can renew.
    if (now - this.#polledAt > leaseMs / 4) this.#sighting = undefined
    this.#polledAt = now
    this.#sighting = sighted(lease, this.#sighting, now)
    // In this run's name if the reply to taking it was lost.
    const isOurs = holderOf(lease) === this.#identity
    return isOurs || lease.metadata.uid === undefined || isOver(bounded(lease, leaseMs), this.#sighting, now, leaseMs)
  }
}

function bounded(lease: Lease, leaseMs: number): Lease {
  const leaseDurationSeconds = Math.min(lease.spec?.leaseDurationSeconds ?? 0, (MOST_PROMISED * leaseMs) / 1_000)
  return { ...lease, spec: { ...lease.spec, leaseDurationSeconds } }
}

const OVERTAKEN: ReadonlySet<string> = new Set(['Conflict', 'Stale', 'Exists'])

/** An overloaded server, or a namespace that just started terminating. */
const passes = ({ status, serverMessage }: ApiError): boolean =>
  status === 429 || /is being terminated/.test(serverMessage)

/** A user may have deleted it, or another run took it. */
async function whyLost(client: KubeClient): Promise<string> {
  const lease = await client.get(leaseType, TURN_LEASE, { timeoutMs: REQUEST_MS })
  if (lease === undefined) return `lease ${TURN_LEASE.name} of namespace ${TURN_LEASE.namespace} was deleted`
  return `${holderOf(lease) ?? 'another run'} took over`
}

export interface TurnSeen {
  readonly by: string
  readonly isRenewed: boolean
}

const POLL_MS = 500
/** A busy server needs time for a renewal. */
const WATCHED_RENEWALS = 2

/** Who has the turn. Watches for a renewal, because times in the Lease come from clocks that may be wrong. */
export async function observeTurn(context: InstallContext): Promise<TurnSeen | undefined> {
  const { client, clock, signal, turnTimes: { renewMs } = DEFAULT_TIMES } = context
  const first = await client.get(leaseType, TURN_LEASE)
  const end = clock.monotonic() + WATCHED_RENEWALS * renewMs
  for (let lease = first; ; lease = await client.get(leaseType, TURN_LEASE)) {
    const by = lease === undefined ? undefined : holderOf(lease)
    if (lease === undefined || by === undefined) return undefined
    const isRenewed = lease.metadata.resourceVersion !== first?.metadata.resourceVersion
    if (isRenewed || clock.monotonic() >= end) return { by, isRenewed }
    await clock.sleep(POLL_MS, signal)
  }
}

function held(context: InstallContext, identity: string, { renewMs }: TurnTimes): Omit<Turn, 'hasWaited'> {
  const { client, clock } = context
  const lost = new AbortController()
  const ended = new AbortController()
  const own = async (): Promise<Lease | undefined> => {
    const lease = await client.get(leaseType, TURN_LEASE, { timeoutMs: REQUEST_MS })
    return lease !== undefined && holderOf(lease) === identity ? lease : undefined
  }
  const renew = async (): Promise<void> => {
    const lease = await own()
    if (lease === undefined) lost.abort(new KubeNodeError(installErrors.KN1449({ why: await whyLost(client) })))
    else await writeLease(client, renewed(lease, clock.now()), { timeoutMs: REQUEST_MS })
  }
  const renewing = (async () => {
    while (!ended.signal.aborted && !lost.signal.aborted) {
      await clock.sleep(renewMs, ended.signal).catch(() => undefined)
      // A server that does not answer gives the turn to no other run either.
      if (!ended.signal.aborted) await renew().catch(() => undefined)
    }
  })()
  const stop = (): Promise<void> => {
    ended.abort()
    return renewing
  }
  const giveBack = async (): Promise<void> => {
    await stop()
    const lease = await own()
    if (lease !== undefined) await writeLease(client, givenBack(lease, clock.now()), { timeoutMs: REQUEST_MS })
  }
  return {
    context: {
      ...context,
      signal: context.signal === undefined ? lost.signal : AbortSignal.any([context.signal, lost.signal]),
    },
    stop,
    during: async (work) => {
      try {
        const result = await work()
        lost.signal.throwIfAborted()
        return result
      } catch (error) {
        // Aborted requests have less useful errors.
        lost.signal.throwIfAborted()
        throw error
      } finally {
        // If this fails, the turn expires.
        await giveBack().catch(() => undefined)
      }
    },
  }
}
