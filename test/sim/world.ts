// A small universe: one fake API server, a virtual clock, a seeded schedule, and actors that can be killed, paused, cut off and misled.
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import {
  type Call,
  type CallFault,
  type FaultPort,
  type GatePoint,
  faultsOf,
  noFaults,
} from '#test/doubles/kube/faults.ts'
import { type FakeKind, kindKey } from '#test/doubles/kube/kinds.ts'
import type { Commit } from '#test/doubles/kube/revisions.ts'
import { SeededScheduler } from '#test/support/clocks/scheduler.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { type Actor, type ProcessHandle, actorOf, cacheActor, startProcess } from './process.ts'

/** What a supervisor takes to start a crashed process again. */
const RESTART_MS = 1_000

interface Running {
  readonly actor: Actor
  life: number
  handle: ProcessHandle
}

export class World {
  readonly seed: number
  readonly clock = new VirtualClock()
  readonly scheduler: SeededScheduler
  readonly fake: FakeKube
  readonly commits: Commit[] = []
  /** Calls that write, whether or not they changed anything. */
  readonly writes: Call[] = []
  /** How often what happened: a fault that was drawn but never met anything is none. */
  readonly #happened = new Map<string, number>()
  readonly #heartbeats: ReadonlySet<string>
  /** When a call last wrote, or a person or the story did: heartbeats are neither. */
  #lastWriteAt = 0
  readonly #running = new Map<string, Running>()
  readonly #horizons = new Map<string, number>()
  #faults: FaultPort = noFaults

  /** `heartbeats`: kinds (`group/plural`) whose changes are neither noted nor scheduled one by one: thousands of them decide nothing. */
  constructor(seed: number, kinds: readonly FakeKind[], heartbeats: readonly string[] = []) {
    this.seed = seed
    this.#heartbeats = new Set(heartbeats)
    this.scheduler = new SeededScheduler(seed, this.clock)
    const { clock } = this
    this.fake = new FakeKube({ clock, random: seededRandom(seed + 1), kinds, faults: this.#port() })
    this.fake.onCommit((commit) => {
      if (commit.type === 'MODIFIED' && this.#heartbeats.has(commit.kind)) return
      this.#lastWriteAt = clock.monotonic()
      this.commits.push(commit)
      this.scheduler.note(
        `#${commit.revision} ${commit.type} ${commit.kind}/${commit.key} by ${commit.call?.actor ?? 'the user'}`,
      )
    })
  }

  /** How long no write has happened or been attempted. */
  get quietMs(): number {
    return this.clock.monotonic() - this.#lastWriteAt
  }

  count(what: string, times = 1): void {
    this.#happened.set(what, (this.#happened.get(what) ?? 0) + times)
  }

  happened(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#happened)
  }

  get actors(): readonly Actor[] {
    return [...this.#running.values()].map((r) => r.actor)
  }

  start(actor: Actor): void {
    this.#running.set(actor.name, { actor, life: 1, handle: this.#launch(actor, 1) })
  }

  /** SIGKILL; the actor comes back after `restartMs` with nothing but what the API server knows. */
  kill(name: string, restartMs = RESTART_MS): void {
    const running = this.#find(name)
    this.scheduler.note(`kill ${name}/${running.life}`)
    running.handle.kill()
    this.scheduler.drop(name)
    this.scheduler.release(name)
    this.fake.closeWatches(name)
    this.fake.closeWatches(cacheActor(name))
    const life = ++running.life
    this.clock.after(restartMs, () => {
      if (running.life !== life) return
      this.scheduler.note(`start ${name}/${life}`)
      running.handle = this.#launch(running.actor, life)
    })
  }

  /** SIGSTOP. Its requests under way stay where they are. */
  pause(name: string): void {
    this.scheduler.note(`pause ${name}`)
    this.count('a process stands still')
    this.scheduler.hold(name)
    this.#find(name).handle.pause()
  }

  /** SIGCONT. */
  resume(name: string): void {
    this.scheduler.note(`resume ${name}`)
    this.scheduler.release(name)
    this.#find(name).handle.resume()
  }

  /** The caches of the actor see nothing newer than the revision, until `clearView`. */
  freezeView(name: string, revision = this.fake.revision): void {
    this.scheduler.note(`freeze ${name} at #${revision}`)
    this.#horizons.set(cacheActor(name), revision)
  }

  clearView(name: string): void {
    this.#horizons.delete(cacheActor(name))
    this.fake.horizonMoved()
  }

  /** The faults of calls and events that hold from now on. */
  setFaults(faults: FaultPort): void {
    this.#faults = faults
  }

  #launch(actor: Actor, life: number): ProcessHandle {
    const { seed, clock, fake } = this
    const note = (text: string) => this.scheduler.note(text)
    const handle = startProcess({ name: actor.name, life, seed: seed + this.#running.size, clock, fake, note })
    actor.start(handle.process)
    return handle
  }

  #find(name: string): Running {
    const running = this.#running.get(name)
    if (running === undefined) throw new Error(`no actor ${name}`)
    return running
  }

  #isHeartbeat(point: GatePoint): boolean {
    return point.at === 'event' && point.event.type === 'MODIFIED' && this.#heartbeats.has(kindKey(point.watch.type))
  }

  #port(): FaultPort {
    const { clock } = this
    const own: FaultPort = {
      gate: (point) =>
        this.#isHeartbeat(point) ? undefined : this.scheduler.turn(actorOf(gateActor(point)), gateLabel(point)),
      horizon: (actor) => this.#horizons.get(actor),
      crashed: (call) => this.kill(actorOf(call.actor)),
      call: (call) => {
        if (!call.isWrite) return undefined
        this.writes.push(call)
        const horizon = this.#horizons.get(cacheActor(actorOf(call.actor)))
        if (horizon !== undefined && horizon < this.fake.revision) this.count('a write that rests on a stale cache')
        if (call.type === undefined || !this.#heartbeats.has(kindKey(call.type))) this.#lastWriteAt = clock.monotonic()
        return undefined
      },
    }
    const planned: FaultPort = {
      call: (call) => {
        const fault = this.#faults.call?.(call)
        if (fault !== undefined) this.count(callFault(fault, call))
        return fault
      },
      event: (watch, event) => {
        const fault = this.#faults.event?.(watch, event)
        if (fault !== undefined) this.count(`an event: ${fault.kind}`)
        return fault
      },
    }
    return faultsOf(own, planned)
  }
}

function callFault(fault: CallFault, { isWrite }: Call): string {
  const what = fault.kind === 'refuse' ? `refuse ${fault.code}` : fault.kind
  return `${isWrite ? 'a write' : 'a read'}: ${what}${fault.when === undefined ? '' : ` ${fault.when}`}`
}

const gateActor = (point: GatePoint): string => (point.at === 'event' ? point.watch.actor : point.call.actor)

function gateLabel(point: GatePoint): string {
  if (point.at === 'event') {
    const { event, watch } = point
    const what = event.type === 'BOOKMARK' ? event.resourceVersion : (event.object.metadata.name ?? '')
    return `${watch.actor} event ${event.type} ${watch.type.kind}/${what}`
  }
  const { actor, verb, type, name, subresource, n } = point.call
  return `${actor} ${point.at} ${n} ${verb} ${type?.kind ?? 'raw'}/${name ?? ''}${subresource === undefined ? '' : `/${subresource}`}`
}
