// Runs one program: HTTP first, then caches, then leadership, then controllers. Shutdown is the reverse, within a time limit. It runs once: a process that
// loses leadership exits, and a new one starts with empty memory.
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { LeaderContext } from './leader.ts'
import { raceWith } from './race.ts'
import { runtimeErrors } from './runtime-errors.ts'

/** Something with a lifetime. `start` resolves once others may rely on it; `stop` gets a time limit. */
export interface Part {
  readonly name: string
  start(signal: AbortSignal): Promise<void> | void
  stop(withinMs: number): Promise<unknown> | void
}

export interface Election {
  start(): void
  stop(): Promise<void>
}

export interface ElectionEvents {
  readonly onElected: (context: LeaderContext) => void
  readonly onLost: (reason: string) => void
}

export interface ManagerOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Up for the whole run, so that probes and scrapes cover the start and the drain. */
  readonly http?: readonly Part[]
  /** Reflectors; `start` resolves when synced. Standbys keep theirs warm. */
  readonly caches?: readonly Part[]
  /** If left out, the program leads without election: for roles that run on every replica. */
  readonly election?: (events: ElectionEvents) => Election
  /** Created once leadership is acquired, so that each gets its term's fenced client. */
  readonly controllers: (leader: LeaderContext) => readonly Part[]
  readonly drainMs?: number
}

export type EndReason = 'Stopped' | 'LeadershipLost' | 'FailedToStart' | 'RightLost'

export interface Ended {
  readonly reason: EndReason
  /** Parts that did not stop in time. */
  readonly left: readonly string[]
  readonly error?: unknown
}

export type ManagerPhase = 'New' | 'Syncing' | 'Standby' | 'Leading' | 'Draining' | 'Ended'

/** Below a pod's 30 s before the kill, with room to release the lease. */
const DEFAULT_DRAIN_MS = 20_000
/** After losing leadership nothing may be written, so only aborted calls have to finish. */
const LOST_DRAIN_MS = 2_000

export class Manager {
  readonly #options: ManagerOptions
  readonly #context = new AbortController()
  readonly #started: Part[] = []
  #phase: ManagerPhase = 'New'

  constructor(options: ManagerOptions) {
    this.#options = options
  }

  get phase(): ManagerPhase {
    return this.#phase
  }

  /** Runs until the signal aborts or leadership is lost, and resolves when everything has stopped. */
  async run(signal: AbortSignal): Promise<Ended> {
    if (this.#phase !== 'New') throw new KubeNodeError(runtimeErrors.KN1000_startedTwice())
    const onAbort = () => this.#context.abort(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await this.#run()
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#phase = 'Ended'
    }
  }

  async #run(): Promise<Ended> {
    const { http = [], caches = [], log } = this.#options
    this.#phase = 'Syncing'
    const lead = await this.#startAll(http)
      .then(() => this.#startAll(caches))
      .then(
        () => this.#lead(),
        (error: unknown): Ended => this.#unstarted(error),
      )
    this.#phase = 'Draining'
    // Caches write nothing that needs leadership, so replicas that serve from them may finish even after it is lost. Probes stay up throughout.
    const others = this.#started.filter((part) => !http.includes(part))
    const left = [
      ...(await this.#stopAll(others, this.#drainMs('Stopped'))),
      ...(await this.#stopAll(http, LOST_DRAIN_MS)),
    ]
    const ended = { ...lead, left: [...lead.left, ...left] }
    log[ended.reason === 'Stopped' ? 'info' : 'warn']('ended', ended)
    return ended
  }

  /** A part stopped during startup exits with an error; this is expected. */
  #unstarted(error: unknown): Ended {
    if (this.#context.signal.aborted) return { reason: 'Stopped', left: [] }
    return { reason: 'FailedToStart', left: [], error }
  }

  /** From standby to the end of the controllers. The lease is released only after their last write. */
  async #lead(): Promise<Ended> {
    const term = this.#awaitTerm()
    this.#phase = 'Standby'
    const leader = await term.elected
    if (leader === undefined) {
      await term.election?.stop()
      return { reason: 'Stopped', left: [] }
    }
    this.#phase = 'Leading'
    const controllers = this.#options.controllers(leader)
    const { reason, ...failure } = await this.#runControllers(controllers, term.lost)
    this.#phase = 'Draining'
    const left = await this.#stopAll(controllers, this.#drainMs(reason))
    if (left.length === 0) await term.election?.stop()
    // Anything still running might still write: let the lease expire instead of handing it over.
    else this.#options.log.warn('the lease is not released: some work is still running', { left })
    return { reason, left, ...failure }
  }

  #awaitTerm() {
    const elected = Promise.withResolvers<LeaderContext | undefined>()
    const lost = Promise.withResolvers<'LeadershipLost'>()
    const { signal } = this.#context
    signal.addEventListener('abort', () => elected.resolve(undefined), { once: true })
    if (signal.aborted) elected.resolve(undefined)
    const election = this.#options.election?.({
      onElected: elected.resolve,
      onLost: () => lost.resolve('LeadershipLost'),
    })
    if (election === undefined) elected.resolve({ signal, term: 0, isLeader: () => true })
    else if (!signal.aborted) election.start()
    return { election, elected: elected.promise, lost: lost.promise }
  }

  async #runControllers(controllers: readonly Part[], lost: Promise<'LeadershipLost'>): Promise<Omit<Ended, 'left'>> {
    const { signal } = this.#context
    let isOver = false
    const over = Promise.race([lost, aborted(signal).then((): EndReason => 'Stopped')]).then((reason) => {
      isOver = true
      return reason
    })
    const started = startInTurn(controllers, signal, () => isOver)
    try {
      // A part that is stuck in startup must not keep a program alive that no longer leads.
      await Promise.race([started, over])
    } catch (error) {
      // A part stopped during startup exits with an error.
      return signal.aborted ? { reason: 'Stopped' } : { reason: 'FailedToStart', error }
    }
    started.catch(() => undefined)
    return { reason: await over }
  }

  /** Resolves when all have started or the context ends. */
  async #startAll(parts: readonly Part[]): Promise<void> {
    this.#started.push(...parts)
    const { signal } = this.#context
    const started = Promise.all(parts.map(async (part) => part.start(signal)))
    await Promise.race([started, aborted(signal)])
  }

  /** Stops all in parallel within the time; returns the names of those that did not make it. */
  async #stopAll(parts: readonly Part[], withinMs: number): Promise<readonly string[]> {
    const left = new Set(parts)
    const stops = parts.map(async (part) => {
      const isClean = await part.stop(withinMs)
      if (isClean !== false) left.delete(part)
    })
    await raceWith(this.#options.clock, withinMs + LOST_DRAIN_MS, Promise.allSettled(stops))
    return [...left].map((part) => part.name)
  }

  #drainMs(reason: EndReason): number {
    return reason === 'LeadershipLost' ? LOST_DRAIN_MS : (this.#options.drainMs ?? DEFAULT_DRAIN_MS)
  }
}

async function startInTurn(parts: readonly Part[], signal: AbortSignal, isOver: () => boolean): Promise<void> {
  for (const part of parts) {
    if (isOver()) return
    await part.start(signal)
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
