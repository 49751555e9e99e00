// One life of one actor. What it holds (clock, clients) dies with it: no timer fires and no reply arrives after a kill,
// and while it is paused none does either.
import { type Clock, sleepOn } from '#lib/clock.ts'
import { type Logger, loggerTo } from '#lib/log.ts'
import { type Random, seededRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import type { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { VirtualClock } from '#test/support/clocks/virtual-clock.ts'

export interface SimProcess {
  readonly name: string
  /** 1 for the first start, one more after each crash. */
  readonly life: number
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Ends what runs until the process is stopped in order; a kill does not trigger it. */
  readonly signal: AbortSignal
  /** Reads are consistent, as those of a real server without a resourceVersion. */
  readonly client: KubeClient
  /** For caches: lists and watches may be served from a view that lags behind (F3, F4). */
  readonly cacheClient: KubeClient
}

export interface Actor {
  readonly name: string
  /** Brings up everything the process does. Called again after each crash, with nothing left of the life before. */
  start(process: SimProcess): void
  /** False for actors that play the rest of the world: no faults hit them. */
  readonly isFaulty?: boolean
}

export interface ProcessHandle {
  readonly process: SimProcess
  kill(): void
  pause(): void
  resume(): void
}

/** What fault hooks see as the actor of a cache's calls. */
export const cacheActor = (name: string): string => `${name}~cache`
export const actorOf = (callActor: string): string => callActor.split('~', 1)[0] ?? callActor

export interface ProcessParts {
  readonly name: string
  readonly life: number
  readonly seed: number
  readonly clock: VirtualClock
  readonly fake: FakeKube
  readonly note: (text: string) => void
}

export function startProcess({ name, life, seed, clock, fake, note }: ProcessParts): ProcessHandle {
  const state = new Life()
  const isError = (level: string) => level === 'error' || level === 'warn'
  const log = loggerTo((level, message) => isError(level) && note(`${name}/${life} ${level}: ${message}`))
  const client = (actor: string) => mortalClient(fake.client({ actor }), state)
  return {
    process: {
      name,
      life,
      clock: mortalClock(clock, state),
      random: seededRandom(seed * 31 + life),
      log,
      signal: new AbortController().signal,
      client: client(name),
      cacheClient: client(cacheActor(name)),
    },
    kill: () => state.kill(),
    pause: () => state.pause(),
    resume: () => state.resume(),
  }
}

class Life {
  #isAlive = true
  #isPaused = false
  #late: (() => void)[] = []

  kill(): void {
    this.#isAlive = false
    this.#late = []
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    for (const run of this.#late.splice(0)) this.run(run)
  }

  /** Now, or when the process is resumed, or never. */
  run(fn: () => void): void {
    if (!this.#isAlive) return
    if (this.#isPaused) this.#late.push(fn)
    else fn()
  }
}

function mortalClock(clock: VirtualClock, life: Life): Clock {
  const own: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (ms, fn) => {
      let isCancelled = false
      const timer = clock.after(ms, () => life.run(() => !isCancelled && fn()))
      return {
        cancel: () => {
          isCancelled = true
          timer.cancel()
        },
      }
    },
    sleep: (ms, signal) => sleepOn(own, ms, signal),
  }
  return own
}

function mortalClient(client: KubeClient, life: Life): KubeClient {
  const mortal = <T>(promise: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      promise.then(
        (value) => life.run(() => resolve(value)),
        (error: unknown) => life.run(() => reject(error)),
      )
    })
  return {
    get: (type, key, options) => mortal(client.get(type, key, options)),
    list: (type, options) => mortal(client.list(type, options)),
    watch: (type, options) => mortalEvents(client.watch(type, options), mortal),
    create: (type, object, options) => mortal(client.create(type, object, options)),
    update: (type, object, options) => mortal(client.update(type, object, options)),
    patch: (type, key, patch, options) => mortal(client.patch(type, key, patch, options)),
    apply: (type, object, options) => mortal(client.apply(type, object, options)),
    delete: (type, key, options) => mortal(client.delete(type, key, options)),
    deleteCollection: (type, list, options) => mortal(client.deleteCollection(type, list, options)),
    scale: (type, key, replicas, options) => mortal(client.scale(type, key, replicas, options)),
    evict: (pod, options) => mortal(client.evict(pod, options)),
    raw: (request) => mortal(client.raw(request)),
  }
}

async function* mortalEvents<T>(events: AsyncIterable<T>, mortal: <R>(p: Promise<R>) => Promise<R>): AsyncGenerator<T> {
  const iterator = events[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await mortal(iterator.next())
      if (next.done === true) return
      yield next.value
    }
  } finally {
    await iterator.return?.()
  }
}
