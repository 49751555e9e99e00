// What goes wrong in a simulated phase: a closed list of faults, drawn from the seed, put into effect on the world, and taken away at the end.
import { coreKind } from '#kube/core-kinds.ts'
import { assertNever } from '#lib/errors.ts'
import type { Random } from '#lib/random.ts'
import {
  type Call,
  type CallFault,
  type EventFault,
  type FaultPort,
  type Moment,
  faultsOf,
} from '#test/doubles/kube/faults.ts'
import { actorOf, cacheActor } from './process.ts'
import type { World } from './world.ts'

export type SimFault =
  /** F1, F2: the process dies around its n-th write of the phase. */
  | { readonly kind: 'Crash'; readonly actor: string; readonly write: number; readonly when: Moment }
  /** F2: the n-th write takes effect and its reply is lost. */
  | { readonly kind: 'LostReply'; readonly actor: string; readonly write: number }
  /** F11: this share of all calls is refused; `after` means that the write took effect all the same. */
  | {
      readonly kind: 'Refuse'
      readonly actor: string
      readonly share: number
      readonly code: number
      readonly when: Moment
    }
  /** F3: its caches stop receiving events. */
  | { readonly kind: 'Stale'; readonly actor: string; readonly atMs: number; readonly forMs: number }
  /** F4: it restarts against a server whose view is older. */
  | {
      readonly kind: 'TimeTravel'
      readonly actor: string
      readonly atMs: number
      readonly back: number
      readonly forMs: number
    }
  /** F6: what happens in the gap is never seen, only what it came to (410, then a list). */
  | { readonly kind: 'Unobserved'; readonly actor: string; readonly atMs: number; readonly forMs: number }
  /** F5, F7, F8: this share of its events is disturbed. */
  | { readonly kind: 'Events'; readonly actor: string; readonly share: number; readonly fault: EventFault }
  /** F6: this share of its events never comes; once it is over its watches break and it lists again. */
  | { readonly kind: 'Missed'; readonly actor: string; readonly share: number }
  | { readonly kind: 'Partition'; readonly actor: string; readonly atMs: number; readonly forMs: number }
  | { readonly kind: 'Pause'; readonly actor: string; readonly atMs: number; readonly forMs: number }
  /** F16 */
  | { readonly kind: 'WallJump'; readonly atMs: number; readonly byMs: number }

export type FaultKind = SimFault['kind']

export const ALL_FAULTS: readonly FaultKind[] = [
  'Crash',
  'LostReply',
  'Refuse',
  'Stale',
  'TimeTravel',
  'Unobserved',
  'Events',
  'Missed',
  'Partition',
  'Pause',
  'WallJump',
]

/** Faults drawn for one phase; more hide each other. */
const MOST_FAULTS = 3
/** Writes of one actor in one phase; later ones are rarely reached. */
const MOST_WRITES = 12
const CODES: readonly (readonly [number, Moment])[] = [
  [409, 'before'],
  [429, 'before'],
  [500, 'before'],
  [500, 'after'],
  [503, 'before'],
  [504, 'after'],
]
const EVENT_FAULTS: readonly EventFault[] = [
  { kind: 'duplicate' },
  { kind: 'swap' },
  { kind: 'delay', ms: 3_000 },
  { kind: 'close', when: 'before' },
  { kind: 'close', when: 'after' },
  { kind: 'lose', when: 'before' },
  { kind: 'lose', when: 'after' },
  { kind: 'error', code: 410 },
  { kind: 'error', code: 500 },
]

export function drawFaults(
  random: Random,
  actors: readonly string[],
  kinds: readonly FaultKind[],
  phaseMs: number,
): readonly SimFault[] {
  if (kinds.length === 0 || actors.length === 0) return []
  return Array.from({ length: 1 + random.below(MOST_FAULTS) }, () =>
    drawFault(random, random.pick(actors), random.pick(kinds), phaseMs),
  )
}

function drawFault(random: Random, actor: string, kind: FaultKind, phaseMs: number): SimFault {
  // Most of a phase happens at its beginning, so most faults are put there too.
  const atMs = Math.floor(phaseMs * random.next() ** 3)
  const forMs = 100 + random.below(Math.ceil(phaseMs / 2))
  const write = 1 + random.below(MOST_WRITES)
  switch (kind) {
    case 'Crash':
      return { kind, actor, write, when: random.pick(['before', 'after']) }
    case 'LostReply':
      return { kind, actor, write }
    case 'Refuse': {
      const [code, when] = random.pick(CODES)
      return { kind, actor, code, when, share: 0.1 + 0.3 * random.next() }
    }
    case 'TimeTravel':
      return { kind, actor, atMs, forMs, back: 1 + random.below(30) }
    case 'Stale':
    case 'Unobserved':
    case 'Partition':
    case 'Pause':
      return { kind, actor, atMs, forMs }
    case 'Events':
      return { kind, actor, share: 0.1 + 0.4 * random.next(), fault: random.pick(EVENT_FAULTS) }
    case 'Missed':
      return { kind, actor, share: 0.1 + 0.4 * random.next() }
    case 'WallJump':
      return { kind, atMs, byMs: random.pick([-7_200_000, 7_200_000, -3_600_000, 86_400_000]) }
    default:
      return assertNever(kind)
  }
}

const namespaceType = coreKind('Namespace')

/** Puts the faults into effect; answers what heals the world again. */
export function inject(world: World, faults: readonly SimFault[], random: Random): () => void {
  const heals: (() => void)[] = []
  const ports: FaultPort[] = []
  let isOver = false
  const during = (atMs: number, forMs: number, begin: () => void, end: () => void) => {
    let isOn = false
    const stop = () => {
      if (isOn) end()
      isOn = false
    }
    world.clock.after(atMs, () => {
      if (isOver) return
      isOn = true
      begin()
      world.clock.after(forMs, stop)
    })
    heals.push(stop)
  }
  for (const fault of faults) injectOne(world, fault, random, { ports, heals, during })
  world.setFaults(honestBookmarks(faultsOf(...ports)))
  return () => {
    isOver = true
    world.setFaults({})
    for (const heal of heals) heal()
  }
}

interface Injection {
  readonly ports: FaultPort[]
  /** Run when the faults end. */
  readonly heals: (() => void)[]
  readonly during: During
}

type During = (atMs: number, forMs: number, begin: () => void, end: () => void) => void

function injectOne(world: World, fault: SimFault, random: Random, { ports, heals, during }: Injection): void {
  switch (fault.kind) {
    case 'Crash':
      ports.push(atWrite(fault.actor, fault.write, { kind: 'crash', when: fault.when }))
      return
    case 'LostReply':
      ports.push(atWrite(fault.actor, fault.write, { kind: 'lose', when: 'after' }))
      return
    case 'Refuse':
      ports.push({ call: (call) => refusal(fault, call, random) })
      return
    case 'Stale':
      during(
        fault.atMs,
        fault.forMs,
        () => world.freezeView(fault.actor),
        () => world.clearView(fault.actor),
      )
      return
    case 'TimeTravel':
      during(
        fault.atMs,
        fault.forMs,
        () => {
          world.count('a process restarts into the past')
          world.freezeView(fault.actor, Math.max(1, world.fake.revision - fault.back))
          world.kill(fault.actor)
        },
        () => world.clearView(fault.actor),
      )
      return
    case 'Unobserved':
      during(
        fault.atMs,
        fault.forMs,
        () => world.freezeView(fault.actor),
        () => {
          makeRelist(world, fault.actor)
          world.clearView(fault.actor)
        },
      )
      return
    case 'Events':
      ports.push(disturbed(fault, random))
      return
    case 'Missed':
      ports.push(disturbed({ ...fault, kind: 'Events', fault: { kind: 'drop' } }, random))
      heals.push(() => makeRelist(world, fault.actor))
      return
    case 'Partition': {
      let isCut = false
      ports.push({
        call: (call) => (isCut && actorOf(call.actor) === fault.actor ? { kind: 'lose', when: 'before' } : undefined),
      })
      during(
        fault.atMs,
        fault.forMs,
        () => {
          isCut = true
          world.count('a process is cut off')
          world.fake.closeWatches(fault.actor, 'lost')
          world.fake.closeWatches(cacheActor(fault.actor), 'lost')
        },
        () => (isCut = false),
      )
      return
    }
    case 'Pause':
      during(
        fault.atMs,
        fault.forMs,
        () => world.pause(fault.actor),
        () => world.resume(fault.actor),
      )
      return
    case 'WallJump':
      during(
        fault.atMs,
        0,
        () => world.clock.jumpWall(fault.byMs),
        () => undefined,
      )
      return
    default:
      assertNever(fault)
  }
}

/** History is forgotten and the caches' watches break: only a list can tell what is. */
function makeRelist(world: World, actor: string): void {
  world.count('history is forgotten, and caches list again')
  // One revision beyond any that a cache can have seen; otherwise a cache that saw the last event would continue from there.
  world.fake.plant(namespaceType, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: `after-${world.fake.revision}` },
  })
  world.fake.compact()
  world.fake.closeWatches(cacheActor(actor), 'lost')
}

function atWrite(actor: string, write: number, fault: CallFault): FaultPort {
  let n = 0
  return { call: (call) => (call.isWrite && actorOf(call.actor) === actor && ++n === write ? fault : undefined) }
}

function refusal(fault: Extract<SimFault, { kind: 'Refuse' }>, call: Call, random: Random): CallFault | undefined {
  if (actorOf(call.actor) !== fault.actor || random.next() >= fault.share) return undefined
  // Only writes conflict, and only a write can have been applied.
  if (!call.isWrite && (fault.code === 409 || fault.when === 'after')) return undefined
  return { kind: 'refuse', when: fault.when, code: fault.code, ...(fault.code === 429 && { retryAfterSeconds: 1 }) }
}

function disturbed({ actor, share, fault }: Extract<SimFault, { kind: 'Events' }>, random: Random): FaultPort {
  return { event: (watch) => (actorOf(watch.actor) === actor && random.next() < share ? fault : undefined) }
}

/** No server tells of a revision before all events up to it: a bookmark that would overtake a swapped event is left out. */
function honestBookmarks(faults: FaultPort): FaultPort {
  const holding = new Set<number>()
  return {
    ...faults,
    event: (watch, event) => {
      const isOvertaking = holding.delete(watch.id) && event.type === 'BOOKMARK'
      const fault = isOvertaking ? { kind: 'drop' as const } : faults.event?.(watch, event)
      if (fault?.kind === 'swap') holding.add(watch.id)
      return fault
    },
  }
}
