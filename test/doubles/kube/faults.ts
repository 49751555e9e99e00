// The hooks through which a test or the simulator breaks the fake API: on calls, on replies, on views and on watch events.
// Everything here is asked synchronously and in a fixed order, so a seeded schedule replays exactly.
import type { WatchEvent } from '#kube/client.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { defined } from '#lib/defined.ts'

export type Verb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'apply'
  | 'delete'
  | 'deletecollection'
  | 'scale'
  | 'evict'
  | 'raw'

/** One call of one actor, as the hooks see it. */
export interface Call {
  readonly actor: string
  readonly verb: Verb
  /** Absent for raw calls. */
  readonly type: ResourceType | undefined
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
  readonly isWrite: boolean
  readonly isDryRun: boolean
  /** 1, 2, 3 … over all calls of this actor; continues when the actor restarts under the same name. */
  readonly n: number
  /** The same over its writes alone; 0 on a read. */
  readonly writeN: number
}

/** `before`: the call has no effect. `after`: the call takes effect and only the reply changes. */
export type Moment = 'before' | 'after'

export type CallFault =
  /** The process dies here: this call and all later ones of the same client never settle. `FaultPort.crashed` is called. */
  | { readonly kind: 'crash'; readonly when: Moment }
  /** The connection breaks (a ConnectionError); after a write its result is unknown to the caller. */
  | { readonly kind: 'lose'; readonly when: Moment }
  /** The server answers with this status code; `after` is a 500, 503 or 504 with the write applied. */
  | { readonly kind: 'refuse'; readonly when: Moment; readonly code: number; readonly retryAfterSeconds?: number }
  /** The effect (`before`) or the reply (`after`) comes this much later on the fake's clock. */
  | { readonly kind: 'delay'; readonly when: Moment; readonly ms: number }

export interface WatchInfo {
  readonly actor: string
  readonly type: ResourceType
  /** 1, 2, 3 … over all watches of the fake. */
  readonly id: number
}

export type EventFault =
  | { readonly kind: 'drop' }
  | { readonly kind: 'duplicate' }
  /** Comes after the event that follows it. */
  | { readonly kind: 'swap' }
  /** This event and all later ones are delayed. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** The stream ends, as by a server's timeout, before or after this event. */
  | { readonly kind: 'close'; readonly when: Moment }
  /** The stream breaks, as by a lost connection. */
  | { readonly kind: 'lose'; readonly when: Moment }
  /** An ERROR event with this status code takes the place of the event and ends the stream. */
  | { readonly kind: 'error'; readonly code: number }

/** Where a seeded scheduler may pause an actor: before a call is processed, before its reply is returned, before an event is delivered. */
export type GatePoint =
  | { readonly at: 'call' | 'reply'; readonly call: Call }
  | { readonly at: 'event'; readonly watch: WatchInfo; readonly event: WatchEvent }

export interface FaultPort {
  call?(call: Call): CallFault | undefined
  event?(watch: WatchInfo, event: WatchEvent): EventFault | undefined
  /** The newest revision that this actor may see in reads and watches; newer ones are withheld until `FakeKube.horizonMoved()`. */
  horizon?(actor: string): number | undefined
  /** Pauses the actor until the promise resolves; undefined lets it continue without losing its turn. */
  gate?(point: GatePoint): Promise<void> | undefined
  crashed?(call: Call): void
}

export const noFaults: FaultPort = {}

export interface CallMatch {
  readonly actor?: string
  readonly verbs?: readonly Verb[]
  readonly kind?: string
  readonly subresource?: string
  readonly writesOnly?: boolean
}

function matches(m: CallMatch, call: Call): boolean {
  return (
    (m.actor === undefined || m.actor === call.actor) &&
    (m.verbs === undefined || m.verbs.includes(call.verb)) &&
    (m.kind === undefined || m.kind === call.type?.kind) &&
    (m.subresource === undefined || m.subresource === call.subresource) &&
    (m.writesOnly !== true || call.isWrite)
  )
}

/** The fault on the n-th call that matches (1-based), once. */
export function onNthCall(match: CallMatch, n: number, fault: CallFault): FaultPort {
  let seen = 0
  return { call: (call) => (matches(match, call) && ++seen === n ? fault : undefined) }
}

/** The fault on every n-th call that matches. */
export function onEveryNthCall(match: CallMatch, n: number, fault: CallFault): FaultPort {
  let seen = 0
  return { call: (call) => (matches(match, call) && ++seen % n === 0 ? fault : undefined) }
}

/** F1 and F2: the process dies around its n-th write. Dry runs are no writes. */
export const crashAtWrite = (n: number, when: Moment, actor?: string): FaultPort =>
  onNthCall({ writesOnly: true, ...defined({ actor }) }, n, { kind: 'crash', when })

/** F3: the actor's view stays at a revision until `thaw`. */
export function frozenView(actor: string, revision: number): FaultPort & { thaw(): void } {
  let frozen = true
  return {
    horizon: (who) => (frozen && who === actor ? revision : undefined),
    thaw: () => {
      frozen = false
    },
  }
}

/** The fault on the n-th event handed to any watch of the actor (1-based), once. */
export function onNthEvent(n: number, fault: EventFault, actor?: string): FaultPort {
  let seen = 0
  return {
    event: (watch) => ((actor === undefined || watch.actor === actor) && ++seen === n ? fault : undefined),
  }
}

/** The fault on every n-th event handed to any watch of the actor. */
export function onEveryNthEvent(n: number, fault: EventFault, actor?: string): FaultPort {
  let seen = 0
  return {
    event: (watch) => ((actor === undefined || watch.actor === actor) && ++seen % n === 0 ? fault : undefined),
  }
}

/** Asks each in turn; the first fault wins, the lowest horizon binds, all gates are passed in order. */
export function faultsOf(...ports: readonly FaultPort[]): FaultPort {
  return {
    call: (call) => firstOf(ports, (p) => p.call?.(call)),
    event: (watch, event) => firstOf(ports, (p) => p.event?.(watch, event)),
    horizon: (actor) => {
      const all = ports.map((p) => p.horizon?.(actor)).filter((r) => r !== undefined)
      return all.length === 0 ? undefined : Math.min(...all)
    },
    gate: (point) => passGates(ports, point),
    crashed: (call) => {
      for (const p of ports) p.crashed?.(call)
    },
  }
}

/** Asks every port, also after the first answer: their counters must see every call. */
function firstOf<T>(ports: readonly FaultPort[], ask: (p: FaultPort) => T | undefined): T | undefined {
  let first: T | undefined
  for (const p of ports) {
    const answer = ask(p)
    first ??= answer
  }
  return first
}

function passGates(ports: readonly FaultPort[], point: GatePoint): Promise<void> | undefined {
  let all: Promise<void> | undefined
  for (const p of ports) {
    if (all !== undefined) {
      all = all.then(() => p.gate?.(point))
    } else {
      all = p.gate?.(point)
    }
  }
  return all
}
