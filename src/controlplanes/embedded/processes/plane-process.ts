// The host's view of one process that runs control planes: which ones it runs, and whether its event loop is alive. A stuck process is killed; everything it
// acknowledged is on disk.
import type { Credentials } from '#lib/x509/server-keys.ts'
import type { Clock, Timer } from '#lib/clock.ts'
import type { EngineServer, EngineStart } from '../engine.ts'
import { HEARTBEAT_MS, type FromProcess, type ToProcess } from './messages.ts'

/** The operating system's side of it. */
export interface Child {
  send(message: ToProcess): void
  kill(): void
  /** Closes the channel: the process then stops its servers and exits. */
  disconnect(): void
  listen(onMessage: (message: FromProcess) => void): void
  /** Resolves with how it exited. */
  readonly ended: Promise<string>
}

/** Heartbeats that may be missing in a row. Counted by turns of the host's event loop, so a host that was stopped itself does not kill healthy processes. */
const MOST_SILENT = 20
/** While the process loads or a control plane starts, which reads up to a gigabyte of objects in one go. */
const MOST_SILENT_STARTING = 120
/** Time for a process to stop its servers once none of them is wanted. */
const END_MS = 10_000

interface Seat {
  readonly started: PromiseWithResolvers<void>
  readonly ended: PromiseWithResolvers<void>
  replaced: PromiseWithResolvers<void> | undefined
  isStarting: boolean
  isStopping: boolean
  url: string
  credentials: Credentials | undefined
}

export class PlaneProcess {
  readonly #child: Child
  readonly #clock: Clock
  readonly #seats = new Map<number, Seat>()
  #next = 1
  #silent = 0
  #isLoaded = false
  #isOver = false
  #killed: string | undefined
  #watch: Timer | undefined

  constructor(child: Child, clock: Clock) {
    this.#child = child
    this.#clock = clock
    child.listen((message) => this.#note(message))
    void child.ended.then((how) => this.#over(this.#killed ?? `the process ended (${how})`))
    this.#check()
  }

  /** Control planes that it runs or is about to run. */
  get planes(): number {
    return this.#seats.size
  }

  /** It no longer starts control planes. */
  get isOver(): boolean {
    return this.#isOver
  }

  get ended(): Promise<unknown> {
    return this.#child.ended
  }

  async start({ signal, ...wanted }: EngineStart): Promise<EngineServer> {
    const id = this.#next++
    const seat: Seat = {
      started: Promise.withResolvers(),
      ended: Promise.withResolvers(),
      replaced: undefined,
      isStarting: true,
      isStopping: false,
      url: '',
      credentials: undefined,
    }
    seat.ended.promise.catch(() => undefined)
    this.#seats.set(id, seat)
    this.#child.send({ kind: 'Start', id, wanted })
    const stop = (): void => {
      seat.isStopping = true
      this.#child.send({ kind: 'Stop', id })
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    await seat.started.promise
    return {
      url: seat.url,
      credentials: () => seat.credentials as Credentials,
      replaceCredentials: (next) => this.#replace(id, seat, next),
      ended: seat.ended.promise,
    }
  }

  /** For a process without control planes. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#child.disconnect()
    const late = this.#clock.after(END_MS, () => this.#child.kill())
    await this.#child.ended
    late.cancel()
  }

  async #replace(id: number, seat: Seat, next: Credentials): Promise<void> {
    await seat.replaced?.promise.catch(() => undefined)
    if (this.#seats.get(id) !== seat) throw new Error('the control plane has ended')
    seat.replaced = Promise.withResolvers()
    this.#child.send({ kind: 'Replace', id, credentials: next })
    await seat.replaced.promise
    seat.credentials = next
  }

  #note(message: FromProcess): void {
    this.#silent = 0
    this.#isLoaded = true
    if (message.kind === 'Beat') return
    const seat = this.#seats.get(message.id)
    if (seat === undefined) return
    switch (message.kind) {
      case 'Started':
        seat.isStarting = false
        seat.url = message.url
        seat.credentials = message.credentials
        return seat.started.resolve()
      case 'Replaced':
        if (message.why === undefined) return seat.replaced?.resolve()
        return seat.replaced?.reject(new Error(message.why))
      case 'Failed':
        return this.#leave(message.id, seat, message.why)
      case 'Ended':
        return this.#leave(message.id, seat, message.why)
    }
  }

  #leave(id: number, seat: Seat, why: string | undefined): void {
    this.#seats.delete(id)
    const error = new Error(why ?? 'it was stopped while it started')
    seat.started.reject(error)
    seat.replaced?.reject(error)
    if (why === undefined || seat.isStopping) seat.ended.resolve()
    else seat.ended.reject(error)
  }

  #over(why: string): void {
    this.#isOver = true
    this.#watch?.cancel()
    for (const [id, seat] of this.#seats) this.#leave(id, seat, why)
  }

  #check(): void {
    this.#watch = this.#clock.after(HEARTBEAT_MS, () => {
      if (this.#isOver && this.#seats.size === 0) return
      const isStarting = !this.#isLoaded || [...this.#seats.values()].some((seat) => seat.isStarting)
      const most = isStarting ? MOST_SILENT_STARTING : MOST_SILENT
      if (++this.#silent > most) {
        this.#killed = `its process did not answer for ${(most * HEARTBEAT_MS) / 1_000} s and was killed`
        this.#isOver = true
        return this.#child.kill()
      }
      this.#check()
    })
  }
}
