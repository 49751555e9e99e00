// The loop of one component: read, plan, act, one action at a time. Fetching runs beside it, so that a crashed process never waits for a download.
import type { Clock } from '#lib/clock.ts'
import { assertNever, isKubeNodeError, messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { Journal, type JournalDeps } from './journal.ts'
import {
  planComponent,
  type ComponentAction,
  type ComponentOrder,
  type ComponentSeen,
  type PermitReading,
  type ProbeReading,
} from './plan.ts'
import type { Probe, ProbeAnswer } from './probe.ts'
import { Prober } from './prober.ts'
import { isSameTarget, isSlotOf, type ComponentRecord, type Slot, type Target } from './record.ts'
import { readSlot } from './slot.ts'
import type { StageRequest, Staged } from './stage.ts'
import { Switcher, type SwitchDeps } from './switch.ts'

export interface WorkerDeps extends JournalDeps, SwitchDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly stage: (request: StageRequest, signal: AbortSignal) => Promise<Staged>
  readonly readPermit: (permit: string) => Promise<PermitReading>
  /** Whether the node still carries the taint for pending components; undefined when it cannot be read. */
  readonly readNodePending: () => Promise<boolean | undefined>
  readonly look: (probe: Probe, component: string) => Promise<ProbeAnswer>
  /** Whether somebody on the node forbids every disruption; absent where nobody can. */
  readonly isNodeFrozen?: () => Promise<boolean>
  /** The first requirement that other components do not meet. */
  readonly missingRequirement: (spec: MachineComponentSpec) => string | undefined
  /** Something that others may want to know has changed. */
  readonly onChange: () => void
}

export type AskResult = { readonly kind: 'Done' } | { readonly kind: 'Failed'; readonly message: string }

interface Ask {
  readonly kind: 'Restart' | 'Reinstall'
  readonly done: (result: AskResult) => void
}

interface Visit {
  readonly run: () => Promise<void>
  readonly drop: () => void
}

const STAGE_FIRST_MS = 1_000
const STAGE_MOST_MS = 300_000
/** After an action failed for a reason that may pass. */
const ACT_RETRY_MS = 2_000
const REFUSED: AskResult = { kind: 'Failed', message: 'the node was frozen by a file on it' }
const NO_PROBES: ProbeReading = { verdict: 'Unknown', isSettled: false }

export class ComponentWorker {
  readonly component: string
  readonly #deps: WorkerDeps
  readonly #journal: Journal
  readonly #switcher: Switcher
  readonly #log: Logger
  #order: { readonly known: boolean; readonly order: ComponentOrder | undefined } = { known: false, order: undefined }
  #spec: { readonly slot: string; readonly spec: MachineComponentSpec } | undefined
  #stagedSpec: { readonly slot: string; readonly spec: MachineComponentSpec } | undefined
  #prober: Prober | undefined
  #staging: { readonly target: Target; readonly stop: AbortController } | undefined
  #stageFailures = 0
  #stageAgainAt = 0
  #permit: PermitReading | undefined
  #isNodePending: boolean | undefined
  #asks: Ask[] = []
  #reinstalling: Ask | undefined
  #waiting: string | undefined
  #busy: Promise<void> | undefined
  #isDirty = false
  #isClosed = false
  #timer: { cancel(): void } | undefined
  #visits: Visit[] = []
  #drift: string | undefined
  #foreign: readonly string[] = []

  constructor(deps: WorkerDeps, component: string) {
    this.component = component
    this.#deps = deps
    this.#log = deps.log.with({ component })
    this.#journal = new Journal(deps, component)
    this.#switcher = new Switcher({ ...deps, log: this.#log }, component, this.#journal)
  }

  get record(): ComponentRecord | undefined {
    return this.#journal.record
  }

  get waiting(): string | undefined {
    return this.#waiting
  }

  get probes(): ProbeReading {
    return this.#prober?.reading() ?? NO_PROBES
  }

  /** What differs from what was installed and waits for a switch order. */
  get drift(): string | undefined {
    return this.#drift
  }

  /** Paths of the node at which somebody else's things were left. */
  get foreign(): readonly string[] {
    return this.#foreign
  }

  setDrift(drift: string | undefined, foreign: readonly string[] = []): void {
    if (drift === this.#drift && foreign.length === this.#foreign.length) return
    this.#drift = drift
    this.#foreign = foreign
    if (drift !== undefined) this.#log.warn('component drifted', { drift })
    this.wake()
    this.#deps.onChange()
  }

  /** Runs between two steps; not at all while a switch is open or nothing is in use. */
  between(work: () => Promise<void>): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const isCalm = (): boolean => this.record?.current !== undefined && this.record.open === undefined
    this.#visits.push({ run: () => (isCalm() ? work() : Promise.resolve()).then(resolve, reject), drop: resolve })
    this.wake()
    return promise
  }

  /** Nothing is installed and nothing is wanted any more. */
  get isIdle(): boolean {
    return this.record === undefined && this.#order.known && this.#order.order === undefined && this.#busy === undefined
  }

  async load(): Promise<void> {
    await this.#journal.load()
  }

  setOrder(order: ComponentOrder | undefined): void {
    this.#order = { known: true, order }
    this.wake()
  }

  /** For repairs whose permit is granted. Resolves when it is done and the component settled again, or went back. */
  ask(kind: Ask['kind']): Promise<AskResult> {
    const { record } = this
    if (record?.current === undefined)
      return Promise.resolve({ kind: 'Failed', message: `${this.component} is not installed` })
    if (kind === 'Reinstall' && !isAtRest(record))
      return Promise.resolve({ kind: 'Failed', message: `${this.component} is being changed already: ${record.state}` })
    return new Promise((done) => {
      this.#asks.push({ kind, done })
      this.wake()
    })
  }

  wake(): void {
    if (this.#isClosed) return
    this.#isDirty = true
    this.#busy ??= this.#run().finally(() => {
      this.#busy = undefined
      if (this.#isDirty) this.wake()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#prober?.close()
    this.#staging?.stop.abort(new Error('the agent stops'))
    await this.#busy
    for (const visit of this.#visits.splice(0)) visit.drop()
  }

  /** Resolves when the worker has nothing to do right now; for tests and for a calm end. */
  async settled(): Promise<void> {
    while (this.#busy !== undefined) await this.#busy
  }

  async #run(): Promise<void> {
    while (this.#isDirty && !this.#isClosed) {
      this.#isDirty = false
      this.#timer?.cancel()
      try {
        for (const visit of this.#visits.splice(0)) await visit.run()
        await this.#turn()
      } catch (e) {
        this.#log.error('component step failed', { error: e })
        this.#later(ACT_RETRY_MS)
      }
    }
  }

  async #turn(): Promise<void> {
    const seen = await this.#observe()
    const plan = planComponent(seen)
    this.#permit = undefined
    this.#isNodePending = undefined
    if (plan.action === undefined) {
      this.#waiting = plan.waiting
      if (plan.requeueAfterMs !== undefined) this.#later(plan.requeueAfterMs)
      return
    }
    this.#waiting = undefined
    this.#log.info('component action', { action: plan.action.kind, reason: plan.action.reason })
    await this.#act(plan.action)
    this.#isDirty = true
    this.#deps.onChange()
  }

  async #observe(): Promise<ComponentSeen> {
    const { clock, processes } = this.#deps
    const { record } = this
    const spec = await this.#specInUse(record)
    const reading = spec?.service === undefined ? 'NoService' : processes.reading(this.component)
    this.#watchProbes(spec, reading === 'NoService' || reading === 'Running' || reading === 'Frozen')
    const isNodeFrozen = (await this.#deps.isNodeFrozen?.()) ?? false
    if (isNodeFrozen) this.#refuseAsks()
    return {
      isOrderKnown: this.#order.known,
      order: this.#order.order,
      record,
      process: reading,
      brakeMs: processes.brakeMs(this.component),
      probes: this.probes,
      permit: this.#permit,
      isNodePending: this.#isNodePending,
      missingRequirement: await this.#missing(record),
      stageBackoffMs: Math.max(0, this.#stageAgainAt - clock.monotonic()),
      staging: this.#staging?.target,
      asked: this.#asks[0]?.kind,
      isDrifted: this.#drift !== undefined,
      isNodeFrozen,
    }
  }

  /** A step that was told that it failed must not take effect when the node thaws. */
  #refuseAsks(): void {
    for (const ask of this.#asks.splice(0)) ask.done(REFUSED)
  }

  async #specInUse(record: ComponentRecord | undefined): Promise<MachineComponentSpec | undefined> {
    const slot = record?.current?.id
    if (slot === undefined) return undefined
    if (this.#spec?.slot !== slot) {
      const spec = await readSlot(this.#deps, this.component, slot)
      this.#stopProbes()
      this.#spec = spec === undefined ? undefined : { slot, spec }
    }
    return this.#spec?.spec
  }

  async #missing(record: ComponentRecord | undefined): Promise<string | undefined> {
    const slot = record?.staged?.id
    if (slot === undefined || record?.state !== 'Staged') return undefined
    if (this.#stagedSpec?.slot !== slot) {
      const spec = await readSlot(this.#deps, this.component, slot)
      this.#stagedSpec = spec === undefined ? undefined : { slot, spec }
    }
    return this.#stagedSpec === undefined ? undefined : this.#deps.missingRequirement(this.#stagedSpec.spec)
  }

  #watchProbes(spec: MachineComponentSpec | undefined, isUp: boolean): void {
    if (spec === undefined || !isUp) return this.#stopProbes()
    const { clock, random, look, onChange } = this.#deps
    this.#prober ??= new Prober(
      {
        clock,
        random,
        look: (probe) => look(probe, this.component),
        onChange: () => {
          this.wake()
          onChange()
        },
      },
      spec.probes ?? [],
    )
  }

  #stopProbes(): void {
    this.#prober?.close()
    this.#prober = undefined
  }

  async #act(action: ComponentAction): Promise<void> {
    switch (action.kind) {
      case 'Stage':
        return this.#stage(action.target)
      case 'ReadPermit':
        this.#permit = await this.#deps.readPermit(action.permit)
        return
      case 'ReadNode':
        this.#isNodePending = await this.#deps.readNodePending()
        // Unknown: nothing is done, and it is asked again later.
        if (this.#isNodePending === undefined) await this.#deps.clock.sleep(ACT_RETRY_MS)
        return
      case 'Switch':
        this.#stopProbes()
        return this.#switcher.begin(action.to, action.permit)
      case 'ContinueSwitch':
        this.#stopProbes()
        return this.#switcher.go()
      case 'UseInPlace':
        await this.#useInPlace()
        return
      case 'Commit':
        // What was changed lies in the copy before; the next look says what is so of this one.
        this.#drift = undefined
        this.#foreign = []
        await this.#switcher.commit()
        return this.#endReinstall({ kind: 'Done' })
      case 'RollBack':
        this.#stopProbes()
        await this.#switcher.goBack(action.reason)
        return this.#endReinstall({ kind: 'Failed', message: action.reason })
      case 'Start':
        this.#stopProbes()
        return this.#switcher.start()
      case 'Restart':
        this.#stopProbes()
        return this.#restart()
      case 'Reinstall':
        this.#stopProbes()
        return this.#reinstall()
      case 'Degrade':
        await this.#journal.step('degrade', { probeFails: true }, { message: action.reason })
        return
      case 'Recover':
        await this.#journal.step('recover', { probesPass: true }, {})
        return
      case 'Uninstall':
        this.#stopProbes()
        this.#staging?.stop.abort(new Error('not wanted any more'))
        return this.#switcher.uninstall()
      default:
        return assertNever(action)
    }
  }

  /** What was told comes back to what is in use, for example after a revert: there is nothing to switch. */
  async #useInPlace(): Promise<void> {
    await this.#journal.step('useInPlace', { sameAsInUse: true }, { staged: undefined })
    await this.#switcher.dropOldSlots()
  }

  async #stage(target: Target): Promise<void> {
    const { record } = this
    if (record === undefined) await this.#journal.write({ state: 'Fetching', target })
    else if (!isSameTarget(record.target, target)) {
      this.#stageFailures = 0
      // Only the count of tries is new, and the version works: nothing has to be fetched or switched.
      if (record.state === 'Healthy' && isSlotOf(record.current, target) && this.#drift === undefined) {
        await this.#journal.write({ target })
        return
      }
      const facts = { desiredChanged: true, notTriedInAttempt: true }
      if (record.state === 'Fetching') await this.#journal.write({ target, staged: undefined })
      else await this.#journal.step('retarget', facts, { target, staged: undefined })
    }
    this.#staging?.stop.abort(new Error('another version is wanted'))
    const staging = { target, stop: new AbortController() }
    this.#staging = staging
    void this.#fetch(staging.target, staging.stop.signal)
      // A disk that takes no journal any more; it is tried again when the backoff is over.
      .catch((error: unknown) => this.#log.error('staging not recorded', { error }))
      .finally(() => {
        if (this.#staging === staging) this.#staging = undefined
        this.#deps.onChange()
        this.wake()
      })
  }

  async #fetch(target: Target, signal: AbortSignal): Promise<void> {
    try {
      const { slot } = await this.#deps.stage({ component: this.component, target, ...this.#freshCopy(target) }, signal)
      const { record } = this
      if (signal.aborted || record === undefined || !isSameTarget(record.target, target)) return
      this.#stageFailures = 0
      if (record.state === 'Fetching') await this.#journal.step('stage', { verified: true }, { staged: slot })
      else await this.#journal.write({ staged: slot })
    } catch (e) {
      if (!signal.aborted) await this.#stageFailed(e)
    }
  }

  /** What somebody changed is replaced by another copy: the same slot would be taken for whole. */
  #freshCopy(target: Target): { readonly generation?: number } {
    const { record } = this
    return this.#drift !== undefined && isSlotOf(record?.current, target)
      ? { generation: generationAfter(record?.current) }
      : {}
  }

  async #stageFailed(error: unknown): Promise<void> {
    const { clock, random } = this.#deps
    const message = messageOf(error)
    this.#log.warn('component not staged', { error })
    const isFinal = isKubeNodeError(error) && error.retry === 'never'
    const waitMs = Math.min(STAGE_MOST_MS, STAGE_FIRST_MS * 2 ** Math.min(this.#stageFailures, 20))
    this.#stageFailures++
    this.#stageAgainAt = clock.monotonic() + random.jitter(waitMs, 0.3)
    if (this.record?.state !== 'Fetching') return
    if (isFinal) await this.#journal.step('giveUp', { fetchGaveUp: true }, { message })
    else await this.#journal.write({ message })
  }

  async #restart(): Promise<void> {
    const ask = this.#asks[0]?.kind === 'Restart' ? this.#asks.shift() : undefined
    try {
      await this.#switcher.restart()
      ask?.done({ kind: 'Done' })
    } catch (e) {
      ask?.done({ kind: 'Failed', message: messageOf(e) })
      throw e
    }
  }

  async #reinstall(): Promise<void> {
    const ask = this.#asks.shift()
    const { record } = this
    if (ask === undefined) return
    if (record?.current === undefined || !isAtRest(record)) {
      ask.done({ kind: 'Failed', message: `${this.component} is being changed already` })
      return
    }
    const { version, config } = record.current
    const target: Target = { version, attempt: record.target.attempt, ...(config === undefined ? {} : { config }) }
    try {
      const request = { component: this.component, target, generation: generationAfter(record.current) }
      const { slot } = await this.#deps.stage(request, new AbortController().signal)
      if ((await this.#deps.isNodeFrozen?.()) === true) {
        ask.done(REFUSED)
        return
      }
      this.#reinstalling = ask
      await this.#switcher.beginAgain(slot)
      if (this.record?.open === undefined)
        this.#endReinstall({ kind: 'Failed', message: this.record?.message ?? 'it went back' })
    } catch (e) {
      this.#reinstalling = undefined
      ask.done({ kind: 'Failed', message: messageOf(e) })
    }
  }

  #endReinstall(result: AskResult): void {
    this.#reinstalling?.done(result)
    this.#reinstalling = undefined
  }

  #later(ms: number): void {
    this.#timer?.cancel()
    this.#timer = this.#deps.clock.after(ms, () => this.wake())
  }
}

const generationAfter = (slot: Slot | undefined): number => Number(slot?.id.split('-')[1] ?? 0) + 1

/** Nothing else is on its way to this component. */
const isAtRest = ({ state }: ComponentRecord): boolean =>
  state === 'Healthy' || state === 'Degraded' || state === 'RolledBack' || state === 'Failed'
