// Writes the statuses of rules concurrently with the decisions. Results appear soon, but no repair waits until fifty rules are written.
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { Controller, type ControllerOptions } from '#runtime/controller.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import { type Outcome, done, requeueAfter, retry } from '#runtime/outcome.ts'
import { writeStatus } from '#runtime/write-status.ts'
import type { RuleVerdict } from '../actions.ts'
import { statusOf, type Urgency, urgencyOf } from '../status.ts'

/** Changes within this time are written together. */
const GATHER_MS = 500
/**
 * A status is updated at most this often, however much happens. Fifty rules count the nodes of a cluster in which some are always joining or falling
 * silent. For these counts alone: half a minute apart.
 */
const APART_MS: Readonly<Record<Urgency, number>> = { Now: 0, Soon: 5_000, Later: 30_000, Never: 0 }

interface Latest {
  readonly verdict: RuleVerdict
  readonly failed: ReadonlySet<string>
}

export interface ReporterOptions extends Pick<ControllerOptions, 'clock' | 'random' | 'log' | 'metrics' | 'backoff'> {
  readonly client: KubeClient
  readonly remediers: SharedInformer<NodeRemedier>
}

export class StatusReporter {
  readonly controller: Controller
  readonly #options: ReporterOptions
  /** The last verdict of each rule, by name. */
  readonly #latest = new Map<string, Latest>()
  readonly #reportedAt = new Map<string, number>()

  constructor(options: ReporterOptions) {
    const { clock, random, log, metrics, backoff } = options
    this.#options = options
    this.controller = new Controller({
      name: 'remedy-status',
      clock,
      random,
      log,
      ...defined({ metrics, backoff }),
      reconcile: (name, { signal }) => this.#report(name, signal),
      allKeys: () => this.#latest.keys(),
    })
    // A write that arrives late may be out of date.
    options.remediers.onChange((before, now) => this.#consider((now ?? before)?.metadata.name ?? ''))
  }

  note(verdicts: readonly RuleVerdict[], failed: ReadonlySet<string>): void {
    const names = new Set(verdicts.map((v) => v.reading.remedier.metadata.name ?? ''))
    for (const name of this.#latest.keys()) {
      if (names.has(name)) continue
      this.#latest.delete(name)
      this.#reportedAt.delete(name)
    }
    for (const verdict of verdicts) {
      const name = verdict.reading.remedier.metadata.name ?? ''
      const before = this.#latest.get(name)?.verdict
      this.#latest.set(name, { verdict, failed })
      if (before === undefined || !isUnchanged(before, verdict)) this.#consider(name)
    }
  }

  #consider(name: string): void {
    const { clock, remediers } = this.#options
    const latest = this.#latest.get(name)
    if (latest === undefined) return
    const before = (remediers.get(name) ?? latest.verdict.reading.remedier).status
    const status = statusOf(latest.verdict, latest.failed, clock.now())
    const urgency = urgencyOf(before, status)
    if (urgency === 'Now') this.controller.enqueue(name)
    else if (urgency !== 'Never') this.controller.enqueueAfter(name, Math.max(GATHER_MS, this.#leftMs(name, urgency)))
  }

  #leftMs(name: string, urgency: Urgency): number {
    return (this.#reportedAt.get(name) ?? -Infinity) + APART_MS[urgency] - this.#options.clock.monotonic()
  }

  async #report(name: string, signal: AbortSignal): Promise<Outcome> {
    const { client, clock, remediers } = this.#options
    const latest = this.#latest.get(name)
    // The decision used an older object than the cache has: take the newest version with the last verdict.
    const remedier = remediers.get(name)
    if (latest === undefined || remedier === undefined) return done
    const { verdict, failed } = latest
    if (remedier.metadata.uid !== verdict.reading.remedier.metadata.uid) return done
    const status = statusOf({ ...verdict, reading: { ...verdict.reading, remedier } }, failed, clock.now())
    const generation = verdict.reading.remedier.metadata.generation
    const whole = generation === undefined ? status : { ...status, observedGeneration: generation }
    const urgency = urgencyOf(remedier.status, whole)
    if (urgency === 'Never') return done
    const leftMs = this.#leftMs(name, urgency)
    if (leftMs > 0) return requeueAfter(leftMs)
    const own = { type: nodeRemedier, cache: remediers, fieldManager: FIELD_MANAGERS.remedy }
    const written = await writeStatus({ client, ...own, object: remedier, status: whole, signal })
    if (written === undefined || written.kind === 'Stale') return done
    if (written.kind !== 'Applied') return retry(written.error)
    this.#reportedAt.set(name, clock.monotonic())
    return done
  }
}

/**
 * Most rules are true for no node. When one rule becomes true, the statuses of the other fifty need not be built. The status last written, or being
 * written, stays.
 */
const isUnchanged = (before: RuleVerdict, now: RuleVerdict): boolean =>
  before.faults.length + now.faults.length === 0 &&
  before.reading.remedier === now.reading.remedier &&
  before.reading.active === now.reading.active &&
  before.reading.problem === now.reading.problem &&
  jsonEqual(before.reading.edit, now.reading.edit) &&
  before.selected === now.selected &&
  before.silent === now.silent &&
  before.inFlight === now.inFlight &&
  before.lastHour === now.lastHour &&
  before.lastDay === now.lastDay &&
  before.paused === now.paused &&
  jsonEqual(before.inhibited, now.inhibited)
