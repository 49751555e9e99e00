// The loop of one component: read, plan, act, one action at a time. Fetching runs beside it, so that a crashed process never waits for a download.
import { assertNever, messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Reason } from '#api/catalogue.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { KnownDigests } from '../files/digest.ts'
import { lastLines } from '../last-lines.ts'
import { adoptionReport, inTheWay, keptReport, standingsOf, type AdoptionReport } from './adoption.ts'
import { Asks, REFUSED, failed, type AskKind, type AskResult } from './asks.ts'
import { withOutput, type Cause } from './cause.ts'
import { Journal } from './journal.ts'
import { readKept } from './kept.ts'
import { type ComponentOrder, UNREAD } from './order.ts'
import {
  planComponent,
  type ComponentAction,
  type ComponentSeen,
  type Missing,
  type PermitReading,
  type ProbeReading,
} from './plan.ts'
import { Probing } from './probing.ts'
import { generationAfter, type Attempt, type ComponentRecord, type OnRemoval, type RemovalPlan } from './record.ts'
import { lookAtRemoval } from './removal-look.ts'
import { KeptSpec } from './slot.ts'
import { Staging } from './staging.ts'
import { StartTries } from './start-tries.ts'
import { Switcher, foreignError } from './switch.ts'
import type { WorkerDeps } from './worker-deps.ts'

interface Visit {
  readonly run: () => Promise<void>
  readonly drop: () => void
}

/** Delay after an action failed for a temporary reason. */
const ACT_RETRY_MS = 2_000
/** A change by an action is reported when the action ends, or after this time. */
const TOLD_AFTER_MS = 1_000
const LOOKS: ReadonlySet<ComponentAction['kind']> = new Set(['ReadPermit', 'ReadNode'])
const TELLS_BY_LOG: ReadonlySet<Reason> = new Set(['CrashLooping', 'ProbeFailed'])
const SHOWN_LINES = 3

export class ComponentWorker {
  readonly component: string
  readonly #deps: WorkerDeps
  readonly #journal: Journal
  readonly #switcher: Switcher
  readonly #staging: Staging
  readonly #probing: Probing
  readonly #starts: StartTries
  readonly #asks = new Asks()
  readonly #log: Logger
  #order: ComponentOrder = UNREAD
  readonly #inUse: KeptSpec
  readonly #staged: KeptSpec
  #permit: PermitReading | undefined
  #isNodePending: boolean | undefined
  #waiting: string | undefined
  #waitingBecause: Reason | undefined
  #busy: Promise<void> | undefined
  #isDirty = false
  #isClosed = false
  #timer: { cancel(): void } | undefined
  #visits: Visit[] = []
  #drift: string | undefined
  #foreign: readonly string[] = []
  readonly #digests: KnownDigests
  #adoption: AdoptionReport | undefined
  #inTheWay: string | undefined
  /** Slot for which the report is of what was kept. */
  #keptIn: string | undefined
  #removal: { readonly key: string; readonly plan: RemovalPlan } | undefined

  constructor(deps: WorkerDeps, component: string) {
    this.component = component
    this.#deps = deps
    this.#log = deps.log.with({ component })
    this.#digests = new KnownDigests(deps.files)
    this.#journal = new Journal(deps, component)
    this.#switcher = new Switcher({ ...deps, log: this.#log }, component, this.#journal)
    this.#inUse = new KeptSpec(deps, component)
    this.#staged = new KeptSpec(deps, component)
    this.#starts = new StartTries(deps.clock, this.#log)
    this.#probing = new Probing({
      clock: deps.clock,
      random: deps.random,
      look: (probe, watchedMs) => deps.look(probe, component, watchedMs),
      onChange: () => {
        this.wake()
        deps.onChange()
      },
    })
    this.#staging = new Staging({
      ...deps,
      log: this.#log,
      component,
      journal: this.#journal,
      isDrifted: () => this.#drift !== undefined,
      onEnd: () => {
        deps.onChange()
        this.wake()
      },
    })
  }

  get record(): ComponentRecord | undefined {
    return this.#journal.record
  }

  get waiting(): string | undefined {
    return this.#waiting
  }

  get waitingBecause(): Reason | undefined {
    return this.#waitingBecause
  }

  /** Why the version in use cannot be started. */
  get startProblem(): string | undefined {
    return this.#starts.failure?.problem
  }

  get probes(): ProbeReading {
    return this.#probing.reading
  }

  /** Differences from what was installed that wait for a switch order. */
  get drift(): string | undefined {
    return this.#drift
  }

  /** Paths of the node where foreign files were left in place. */
  get foreign(): readonly string[] {
    return this.#foreign
  }

  /** What adopting the files of others would do, or has kept. */
  get adoption(): AdoptionReport | undefined {
    return this.#adoption
  }

  /** What would happen if the component left now. */
  get removal(): RemovalPlan | undefined {
    return this.record?.removal ?? this.#removal?.plan
  }

  setDrift(drift: string | undefined, foreign: readonly string[] = []): void {
    if (drift === this.#drift && foreign.length === this.#foreign.length) return
    this.#drift = drift
    this.#foreign = foreign
    if (drift !== undefined) this.#log.warn('component drifted', { drift })
    this.wake()
    this.#deps.onChange()
  }

  /** Runs between two steps; not while a switch is open or nothing is in use. */
  between(work: () => Promise<void>): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const isCalm = (): boolean =>
      this.record?.current !== undefined && this.record.open === undefined && this.record.removal === undefined
    this.#visits.push({ run: () => (isCalm() ? work() : Promise.resolve()).then(resolve, reject), drop: resolve })
    this.wake()
    return promise
  }

  /** Nothing is installed and nothing is requested. */
  get isIdle(): boolean {
    return this.record === undefined && this.#order.kind === 'Remove' && this.#busy === undefined
  }

  async load(): Promise<void> {
    await this.#journal.load()
  }

  setOrder(order: ComponentOrder): void {
    this.#order = order
    this.wake()
  }

  /** For repairs with a granted permit. Resolves when the action is done and the component has settled again, or was reverted. */
  ask(kind: AskKind): Promise<AskResult> {
    const { record } = this
    if (record?.current === undefined) return Promise.resolve(failed(`${this.component} is not installed`))
    if (kind === 'Reinstall' && !isAtRest(record))
      return Promise.resolve(failed(`${this.component} is being changed already: ${record.state}`))
    const asked = this.#asks.add(kind)
    this.wake()
    return asked
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
    this.#probing.stop()
    this.#staging.stop('the agent is stopping')
    await this.#busy
    for (const visit of this.#visits.splice(0)) visit.drop()
  }

  /** Resolves when the worker is idle; for tests and for a clean shutdown. */
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
      const isTold = this.#waiting === plan.waiting
      this.#waiting = plan.waiting
      this.#waitingBecause = plan.because
      if (!isTold) this.#deps.onChange()
      if (plan.requeueAfterMs !== undefined) this.#later(plan.requeueAfterMs)
      return this.#lookAtRemoval(this.record)
    }
    this.#log.info('component action', { action: plan.action.kind, reason: plan.action.reason })
    // Observing changes nothing: a wait continues until an action is done.
    const isLook = LOOKS.has(plan.action.kind)
    if (!isLook) this.#waiting = this.#waitingBecause = undefined
    await this.#actAndTell(plan.action)
    this.#isDirty = true
    if (!isLook) this.#deps.onChange()
  }

  /** Long steps are reported while they last: a stop, a hook, a start that waits. */
  async #actAndTell(action: ComponentAction): Promise<void> {
    const telling = this.#deps.clock.after(TOLD_AFTER_MS, () => this.#deps.onChange())
    try {
      await this.#act(action)
    } finally {
      telling.cancel()
    }
  }

  async #observe(): Promise<ComponentSeen> {
    const { processes } = this.#deps
    const { record } = this
    const spec = await this.#specInUse(record)
    const reading = spec?.service === undefined ? 'NoService' : processes.reading(this.component)
    this.#probing.watch(spec, reading === 'NoService' || reading === 'Running' || reading === 'Frozen')
    if (reading === 'NoService' || reading === 'Running' || reading === 'Ended') this.#starts.noteUp()
    const startFailure = this.#starts.failure
    await this.#lookAtOthers(record)
    const isNodeFrozen = (await this.#deps.isNodeFrozen?.()) ?? false
    if (isNodeFrozen) this.#asks.refuseAll()
    return {
      order: this.#order,
      record,
      process: reading,
      end: processes.end(this.component),
      brakeMs: processes.brakeMs(this.component),
      startFailure,
      probes: this.probes,
      permit: this.#permit,
      isNodePending: this.#isNodePending,
      missingRequirement: await this.#missing(record),
      stageBackoffMs: this.#staging.backoffMs(this.#order),
      staging: this.#staging.target,
      asked: this.#asks.next,
      isDrifted: this.#drift !== undefined,
      adoption: this.#deps.adoption?.() ?? 'Refuse',
      inTheWay: this.#inTheWay,
      isNodeFrozen,
    }
  }

  /** What other programs have at the paths of the staged version; afterwards, what was kept of it. */
  async #lookAtOthers(record: ComponentRecord | undefined): Promise<void> {
    const deps = { ...this.#deps, digests: this.#digests }
    const before = JSON.stringify(this.#adoption)
    const slot = record?.state === 'Staged' ? record.staged?.id : undefined
    const spec = slot === undefined ? undefined : await this.#staged.read(slot)
    this.#inTheWay = undefined
    if (slot !== undefined && spec !== undefined) {
      const kept = await readKept(deps, this.component)
      const standings = await standingsOf(deps, spec, slot, kept)
      const isFirst = record?.current === undefined && spec.service !== undefined
      const unit = isFirst ? await deps.processes.standing?.(this.component, spec.service) : undefined
      const stays = unit === undefined || !isFirst ? [] : await this.#dropIns(spec.service)
      this.#adoption = adoptionReport(standings, unit, stays)
      const problem = foreignError(
        this.component,
        inTheWay(standings, deps.adoption?.() ?? 'Refuse', kept),
        deps.machine,
      )
      this.#inTheWay = problem?.message
    } else if (record?.state === 'Healthy' && this.#keptIn !== record.current?.id) {
      this.#keptIn = record.current?.id
      this.#adoption = keptReport(await readKept(deps, this.component))
    }
    if (JSON.stringify(this.#adoption) !== before) this.#deps.onChange()
  }

  async #dropIns(service: MachineComponentSpec['service']): Promise<readonly string[]> {
    return service === undefined ? [] : ((await this.#deps.processes.dropIns?.(this.component, service)) ?? [])
  }

  async #specInUse(record: ComponentRecord | undefined): Promise<MachineComponentSpec | undefined> {
    const slot = record?.current?.id
    if (slot === undefined) return undefined
    if (!this.#inUse.isOf(slot)) this.#probing.stop()
    return this.#inUse.read(slot)
  }

  async #missing(record: ComponentRecord | undefined): Promise<Missing | undefined> {
    const slot = record?.staged?.id
    if (slot === undefined || record?.state !== 'Staged') return undefined
    const spec = await this.#staged.read(slot)
    return spec && this.#deps.missingRequirement(spec)
  }

  async #act(action: ComponentAction): Promise<void> {
    switch (action.kind) {
      case 'Stage':
        return this.#staging.begin(action.target)
      case 'ReadPermit':
        this.#permit = await this.#deps.readPermit(action.permit)
        return
      case 'ReadNode':
        this.#isNodePending = await this.#deps.readNodePending()
        // Unknown: do nothing, ask again later.
        if (this.#isNodePending === undefined) await this.#deps.clock.sleep(ACT_RETRY_MS)
        return
      case 'Switch':
        this.#probing.stop()
        return this.#switcher.begin(action.to, action.permit)
      case 'ContinueSwitch':
        this.#probing.stop()
        return this.#switcher.go()
      case 'UseInPlace':
        await this.#useInPlace()
        return
      case 'Commit':
        // The modification is in the previous copy; the next check reports on this one.
        this.#drift = undefined
        this.#foreign = []
        await this.#switcher.commit()
        return this.#asks.switched({ kind: 'Done' })
      case 'StartAgain':
        // Another settle window begins with the next start.
        this.#probing.stop()
        return this.#switcher.startAgain(action.how)
      case 'RollBack':
        this.#probing.stop()
        await this.#switcher.goBack(await this.#causeOf(action))
        return this.#asks.switched(failed(action.reason))
      case 'Start':
        this.#probing.stop()
        return this.#starts.try(() => this.#switcher.start())
      case 'Restart':
        this.#probing.stop()
        return this.#starts.try(() => this.#restart())
      case 'Reinstall':
        this.#probing.stop()
        return this.#reinstall()
      case 'Degrade':
        await this.#degrade(await this.#causeOf(action))
        return
      case 'Recover':
        await this.#journal.step('recover', { probesPass: true }, {})
        return
      case 'NoteRemoval':
        return this.#noteRemoval(action.onRemoval)
      case 'Remove':
        this.#probing.stop()
        this.#staging.stop('no longer desired')
        return this.#switcher.remove(await this.#removalNow())
      default:
        return assertNever(action)
    }
  }

  /** The message belongs to the state, which stays. */
  async #noteRemoval(onRemoval: OnRemoval | undefined): Promise<void> {
    const { message, reason, output } = this.record ?? {}
    await this.#journal.write({ onRemoval, message, reason, output })
  }

  /** What was reported as harmless, and was allowed as such, restarts nothing. */
  async #removalNow(): Promise<RemovalPlan> {
    const now = await this.#plannedRemoval()
    return now.restarts && this.#removal?.plan.restarts === false ? { how: 'Keep', restarts: false } : now
  }

  async #plannedRemoval(): Promise<RemovalPlan> {
    const { record } = this
    const spec = await this.#specInUse(record)
    if (record?.current === undefined || spec === undefined) return { how: 'Uninstall', restarts: false }
    const { id: slot, version } = record.current
    const use = { component: this.component, slot, version, spec }
    const wish = { wanted: record.onRemoval, isObserved: this.#deps.isObserved?.() ?? false }
    return lookAtRemoval({ ...this.#deps, digests: this.#digests }, use, wish)
  }

  /** Computed again only when something that it depends on is different. */
  async #lookAtRemoval(record: ComponentRecord | undefined): Promise<void> {
    if (record?.current === undefined || record.open !== undefined || record.removal !== undefined) return
    const main = this.#deps.processes.main?.(this.component)
    const key = JSON.stringify([
      record.current.id,
      record.onRemoval,
      this.#drift,
      this.#foreign.length,
      main,
      this.#deps.processes.reading(this.component),
      this.#deps.isObserved?.() ?? false,
    ])
    if (this.#removal?.key === key) return
    this.#removal = { key, plan: await this.#plannedRemoval() }
    this.#deps.onChange()
  }

  async #degrade({ because: reason, message, output }: Cause): Promise<void> {
    await this.#journal.step('degrade', { probeFails: true }, { message, reason, output })
  }

  /** Its last output explains more than its exit code, and the next start deletes it. */
  async #causeOf({ because, reason: message }: { readonly because: Reason; readonly reason: string }): Promise<Cause> {
    const cause = { because, message }
    if (!TELLS_BY_LOG.has(because)) return cause
    const log = await this.#deps.processes.lastOutput?.(this.component).catch((error: unknown) => {
      this.#log.warn('cannot read the log of the component', { error })
      return ''
    })
    return withOutput(cause, lastLines(log ?? '', SHOWN_LINES))
  }

  /** The order names the version in use again, for example after a revert: nothing to switch. */
  async #useInPlace(): Promise<void> {
    await this.#journal.step('useInPlace', { sameAsInUse: true }, { staged: undefined })
    await this.#switcher.dropOldSlots()
  }

  async #restart(): Promise<void> {
    const ask = this.#asks.take('Restart')
    try {
      await this.#switcher.restart()
      ask?.done({ kind: 'Done' })
    } catch (e) {
      ask?.done(failed(messageOf(e)))
      throw e
    }
  }

  async #reinstall(): Promise<void> {
    const ask = this.#asks.take('Reinstall')
    const { record } = this
    if (ask === undefined) return
    if (record?.current === undefined || !isAtRest(record))
      return ask.done(failed(`${this.component} is being changed already`))
    const { version, config } = record.current
    const target: Attempt = { version, attempt: record.target.attempt, ...(config === undefined ? {} : { config }) }
    try {
      const request = { component: this.component, target, generation: generationAfter(record.current) }
      const { slot } = await this.#deps.stage(request, new AbortController().signal)
      if ((await this.#deps.isNodeFrozen?.()) === true) return ask.done(REFUSED)
      this.#asks.holdUntilSwitched(ask)
      await this.#switcher.beginAgain(slot)
      if (this.record?.open === undefined) this.#asks.switched(failed(this.record?.message ?? 'rolled back'))
    } catch (e) {
      this.#asks.drop()
      ask.done(failed(messageOf(e)))
    }
  }

  #later(ms: number): void {
    this.#timer?.cancel()
    this.#timer = this.#deps.clock.after(ms, () => this.wake())
  }
}

/** No other version is being prepared for this component. */
const isAtRest = ({ state }: ComponentRecord): boolean =>
  state === 'Healthy' || state === 'Degraded' || state === 'RolledBack' || state === 'Failed'
