// Asks each provider once a minute about maintenance of its hosts, and records changes. Absence is counted here, in complete lists only. After a
// restart the count starts at zero, which ends no event.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { isOver } from '#nodes/faults/maintenance.ts'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { MaintenanceList, Provider } from '#providers/port.ts'
import { backoffDelay } from '#runtime/backoff.ts'
import type { Part } from '#runtime/manager.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import { type WantedEvent, planPoll, withPlace } from './plan.ts'

const ASK_EVERY_MS = 60_000
/** A provider that fails is asked less and less often, but at least every quarter of an hour. */
const AFTER_FAILURE = { baseMs: ASK_EVERY_MS, capMs: 15 * 60_000 }
/** After this many failures, the source's last answer is used: work on a host does not wait for the program that lists it. */
const MOST_UNANSWERED = 3
const fieldManager = FIELD_MANAGERS.hostDoctor

export interface PollTools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Throws while the caches are not fresh. */
  readonly events: () => readonly MaintenanceEvent[]
  readonly machineOf: (providerID: string) => Machine | undefined
  /** Called when the count of an event changes. */
  readonly wake: (event: string) => void
}

export class Polls {
  readonly #tools: PollTools
  /** By event name. */
  readonly #absent = new Map<string, number>()
  readonly #asOf = new Map<string, number>()
  /** By provider: the events in its last complete list, including those that another source reported first. */
  readonly #present = new Map<string, ReadonlySet<string>>()
  /** Events whose object matches a list that this program has read. At startup, an object may be hours old. */
  readonly #confirmed = new Set<string>()
  /** By polled provider: consecutive failed tries. Infinity if it lists no maintenance. */
  readonly #unanswered = new Map<string, number>()

  constructor(tools: PollTools) {
    this.#tools = tools
  }

  /** An event that any source still lists is not absent: the second source may know more. */
  absentPolls(event: string): number {
    return this.isListed(event) ? 0 : (this.#absent.get(event) ?? 0)
  }

  /** In the last complete list of any provider. */
  isListed(event: string): boolean {
    return this.#present.values().some((names) => names.has(event))
  }

  /** Matches its source's list since startup; or its source does not answer, or is not polled. */
  isConfirmed(event: string, source: string): boolean {
    return this.#confirmed.has(event) || (this.#unanswered.get(source) ?? Infinity) >= MOST_UNANSWERED
  }

  /**
   * Takes one complete list. A list that is not newer than the last one is ignored, unless the last one is ahead of our clock: in that case the clock
   * was set back.
   */
  async take(provider: Provider, { events: listed, asOf }: MaintenanceList, signal: AbortSignal): Promise<void> {
    const { clock, events, machineOf, wake } = this.#tools
    const at = Date.parse(asOf)
    const last = this.#asOf.get(provider.name) ?? -Infinity
    if (Number.isNaN(at) || (at <= last && last <= clock.now())) return
    const known = events()
    const { create, update, present, left } = planPoll({ source: provider.name, listed, machineOf, known })
    if (left > 0)
      this.#tools.log.warn('a provider lists more maintenance of single machines than is kept', {
        provider: provider.name,
        left,
      })
    this.#asOf.set(provider.name, at)
    this.#present.set(provider.name, present)
    const overtaken = new Set(update.map(({ event }) => event.metadata.name ?? ''))
    for (const name of present) if (!overtaken.has(name)) this.#confirm(name)
    const open = known.filter((e) => e.spec.source === provider.name && !isOver(e))
    const names = new Set(open.map((e) => e.metadata.name ?? ''))
    const all = new Set(known.map((e) => e.metadata.name))
    for (const kept of [this.#absent, this.#confirmed])
      for (const name of kept.keys()) if (!all.has(name)) kept.delete(name)
    for (const name of names) {
      const event = open.find((e) => e.metadata.name === name)
      // A list that started before the event was recorded may rightly lack it.
      const isOlder = !(at > Date.parse(event?.metadata.creationTimestamp ?? ''))
      if (present.has(name)) this.#absent.delete(name)
      else if (!isOlder) this.#absent.set(name, (this.#absent.get(name) ?? 0) + 1)
      if (!present.has(name)) wake(name)
    }
    for (const wanted of create) await this.#create(provider, wanted, signal)
    for (const { event, spec } of update) {
      const written = await updateExactly(
        this.#tools.client,
        maintenanceEvent,
        { ...event, spec },
        { fieldManager, signal },
      )
      if (written.kind !== 'Applied')
        this.#tools.log.warn('cannot update a maintenance event; the next list repeats it', {
          event: event.metadata.name,
          reason: written.kind,
        })
      else this.#confirm(event.metadata.name ?? '')
    }
  }

  #confirm(name: string): void {
    if (this.#confirmed.has(name)) return
    this.#confirmed.add(name)
    this.#tools.wake(name)
  }

  async #create(provider: Provider, wanted: WantedEvent, signal: AbortSignal): Promise<void> {
    const id = wanted.spec.host?.id ?? ''
    const host = await provider.get(id, signal).catch(() => undefined)
    const { name, spec } = withPlace(wanted, host?.place)
    const object = { apiVersion: API_GROUP_VERSION, kind: maintenanceEvent.kind, metadata: { name }, spec }
    const made = await outcomeOf(() =>
      this.#tools.client.create(maintenanceEvent, object as unknown as MaintenanceEvent, { fieldManager, signal }),
    )
    // `Exists`: the cache did not have it yet.
    if (made.kind !== 'Applied' && made.kind !== 'Exists')
      this.#tools.log.warn('cannot write a maintenance event down; the next list repeats it', {
        event: name,
        reason: made.kind,
      })
    if (made.kind === 'Applied') this.#confirm(name)
  }

  /** One loop per provider, as long as this program leads. The abilities of a provider in another program become known, and change, over time. */
  parts(providers: readonly Provider[]): readonly Part[] {
    return providers.map((provider): Part => {
      this.#unanswered.set(provider.name, 0)
      const stop = new AbortController()
      let running: Promise<void> | undefined
      return {
        name: `maintenance of provider ${provider.name}`,
        start: () => {
          running = this.#askForever(provider, stop.signal)
        },
        stop: async () => {
          stop.abort()
          await running
        },
      }
    })
  }

  async #askForever(provider: Provider, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#tools
    let failures = 0
    while (!signal.aborted) {
      const list = await this.#ask(provider, signal)
      failures = list === 'Failed' ? failures + 1 : 0
      this.#unanswered.set(provider.name, list === undefined ? Infinity : failures)
      if (list !== 'Failed' && list !== undefined)
        await this.take(provider, list, signal).catch((error: unknown) => {
          // Stale caches are not the provider's failure: an hour of them must not delay the next poll by another quarter of an hour.
          if (!signal.aborted)
            log.warn('cannot compare a list of maintenance with the events', { provider: provider.name, error })
        })
      const wait = failures === 0 ? random.jitter(ASK_EVERY_MS) : backoffDelay(AFTER_FAILURE, failures - 1, random)
      await clock.sleep(wait, signal).catch(() => undefined)
    }
  }

  /** Undefined if the provider knows no maintenance. */
  async #ask(provider: Provider, signal: AbortSignal): Promise<MaintenanceList | 'Failed' | undefined> {
    try {
      return await provider.maintenance?.(signal)
    } catch (error) {
      if (!signal.aborted)
        this.#tools.log.warn('cannot list the maintenance of a provider', { provider: provider.name, error })
      return 'Failed'
    }
  }
}
