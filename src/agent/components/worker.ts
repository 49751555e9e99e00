// The loop of one component: read, plan, act, one action at a time. Downloads run in parallel, so a crashed process never waits for one.
import { assertNever } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Reason } from '#api/catalogue.ts'
import { KnownDigests } from '../files/digest.ts'
import type { AdoptionReport } from './adoption.ts'
import { reinstallAsked, restartAsked, type RepairParts } from './asked-work.ts'
import { Asks, failed, type AskKind, type AskResult } from './asks.ts'
import { type Cause, type StepProblem, causeOf, explained } from './cause.ts'
import { Journal } from './journal.ts'
import { ComponentObserver } from './observer.ts'
import type { ComponentAction } from './actions.ts'
import { planComponent } from './plan.ts'
import type { OrderReading, ComponentSeen, ProbeReading } from './seen.ts'
import type { PermitReading } from './permit-reading.ts'
import { Probing } from './probing.ts'
import { isAtRest, type ComponentRecord, type OnRemoval, type RemovalPlan } from './record.ts'
import { removeComponent } from './remove.ts'
import { RemovalOutlook } from './removal-outlook.ts'
import { Staging } from './staging.ts'
import { isPowerLoss, Switcher } from './switch.ts'
import { ACT_RETRY_MS, Tries } from './tries.ts'
import { Visits } from './visits.ts'
import type { WorkerDeps } from './worker-deps.ts'

/** A change made by an action is reported when the action ends, or after this time. */
const REPORT_AFTER_MS = 1_000
const READS: ReadonlySet<ComponentAction['kind']> = new Set(['ReadPermit', 'ReadNode'])

export class ComponentWorker {
  readonly component: string
  readonly #deps: WorkerDeps
  readonly #journal: Journal
  readonly #switcher: Switcher
  readonly #staging: Staging
  readonly #probing: Probing
  readonly #observer: ComponentObserver
  readonly #tries: Tries
  readonly #asks = new Asks()
  readonly #log: Logger
  #order: OrderReading = 'Unread'
  #permit: PermitReading | undefined
  #isNodePending: boolean | undefined
  #waiting: string | undefined
  #waitingBecause: Reason | undefined
  #busy: Promise<void> | undefined
  #isDirty = false
  #isClosed = false
  #timer: { cancel(): void } | undefined
  readonly #visits = new Visits()
  #removalProblem: string | undefined
  #drift: string | undefined
  #foreign: readonly string[] = []
  readonly #removal: RemovalOutlook

  constructor(deps: WorkerDeps, component: string) {
    this.component = component
    this.#deps = deps
    this.#log = deps.log.with({ component })
    this.#journal = new Journal(deps, component)
    this.#switcher = new Switcher({ ...deps, log: this.#log }, component, this.#journal)
    this.#tries = new Tries(deps.clock, this.#log)
    this.#probing = new Probing({
      clock: deps.clock,
      random: deps.random,
      runProbe: (probe, watchedMs) => deps.runProbe(probe, component, watchedMs),
      onChange: () => {
        this.wake()
        deps.onChange()
      },
    })
    const known = { ...deps, digests: new KnownDigests(deps.files) }
    this.#observer = new ComponentObserver({ ...known, probing: this.#probing, starts: this.#tries.starts }, component)
    this.#removal = new RemovalOutlook(known, component, (record) => this.#observer.specInUse(record))
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

  /** Why the removal has not finished; it is retried. */
  get removalProblem(): string | undefined {
    return this.#removalProblem
  }

  /** Why the version in use cannot be started. */
  get startProblem(): string | undefined {
    return this.#tries.starts.failure?.problem
  }

  /** Why the last step failed, which the journal may not hold: it is on the disk that is full. */
  get stepProblem(): StepProblem | undefined {
    return this.#tries.problem ?? this.#staging.unrecorded
  }

  get probes(): ProbeReading {
    return this.#probing.reading
  }

  /** Differences from what was installed that wait for a switch order. */
  get drift(): string | undefined {
    return this.#drift
  }

  /** Paths on the node where foreign files were left in place. */
  get foreign(): readonly string[] {
    return this.#foreign
  }

  /** What adopting other owners' files would do, or which originals it kept. */
  get adoption(): AdoptionReport | undefined {
    return this.#observer.adoption
  }

  /** What would happen if the component left now. */
  get removal(): RemovalPlan | undefined {
    return this.record?.removal ?? this.#removal.planFor(this.record)
  }

  setDrift(drift: string | undefined, foreign: readonly string[] = []): void {
    if (drift === this.#drift && foreign.length === this.#foreign.length) return
    this.#drift = drift
    this.#foreign = foreign
    if (drift !== undefined) this.#log.warn('component drifted', { drift })
    this.wake()
    this.#deps.onChange()
  }

  /** Runs the work between two steps, but not while a switch is open or nothing is in use. */
  between(work: () => Promise<void>): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    const isCalm = (): boolean =>
      this.record?.current !== undefined && this.record.open === undefined && this.record.removal === undefined
    const visited = this.#visits.add(() => (isCalm() ? work() : Promise.resolve()))
    this.wake()
    return visited
  }

  /** Nothing is installed and nothing is requested. */
  get isIdle(): boolean {
    return this.record === undefined && this.#order === 'None' && this.#busy === undefined
  }

  /** Nothing is under way, and every probe has an answer that counts: until something changes, only time passes. */
  get isQuiet(): boolean {
    const isRemoved = this.record?.removal !== undefined && this.#removalProblem === undefined
    const isOpen = this.record?.open !== undefined || isRemoved
    return this.#busy === undefined && this.#staging.target === undefined && !isOpen && this.#probing.hasVerdict
  }

  load(): Promise<void> {
    return this.#journal.load()
  }

  get order(): OrderReading {
    return this.#order
  }

  setOrder(order: OrderReading): void {
    this.#order = order
    this.wake()
  }

  /** For repairs with a granted permit. Resolves when the action is done and the component has settled, or was reverted. */
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
    this.#visits.drop()
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
        await this.#visits.run()
        await this.#turn()
      } catch (e) {
        this.#log.error('component step failed', { error: e })
        // Reported once: each change wakes components that wait for this one, and two that fail on one disk would wake each other without end.
        if (this.#tries.noteFailure(e)) this.#deps.onChange()
        this.#later(this.#tries.leftMs)
      }
    }
  }

  async #turn(): Promise<void> {
    this.#tries.observing()
    const seen = await this.#observe()
    const plan = planComponent(seen)
    this.#permit = undefined
    this.#isNodePending = undefined
    if (plan.action === undefined) {
      const isReported = this.#waiting === plan.waiting && this.#tries.problem === undefined
      this.#tries.noteNothingToDo()
      this.#waiting = plan.waiting
      this.#waitingBecause = plan.because
      if (!isReported) this.#deps.onChange()
      if (plan.requeueAfterMs !== undefined) this.#later(plan.requeueAfterMs)
      if (await this.#inspectRemoval()) this.#deps.onChange()
      return
    }
    // Observing changes nothing: the wait continues until an action is done.
    const isRead = READS.has(plan.action.kind)
    this.#tries.acting(plan.action)
    const delayMs = isRead ? 0 : this.#tries.leftMs
    if (delayMs > 0) return this.#later(delayMs)
    this.#log.info('component action', { action: plan.action.kind, reason: plan.action.reason })
    if (!isRead) this.#waiting = this.#waitingBecause = undefined
    await this.#actAndReport(plan.action)
    if (!isRead) this.#tries.noteDone(plan.action, this.record)
    // Report both together: otherwise a Healthy version without its removal plan would be handed back as if nothing restarted.
    if (plan.action.kind === 'Commit' || plan.action.kind === 'RollBack') await this.#inspectRemoval()
    this.#isDirty = true
    if (!isRead) this.#deps.onChange()
  }

  #inspectRemoval(): Promise<boolean> {
    return this.#removal.inspect(this.record, { drift: this.#drift, foreign: this.#foreign.length })
  }

  /** Long steps are reported while they run: a stop, a hook, a slow start. */
  async #actAndReport(action: ComponentAction): Promise<void> {
    const reporting = this.#deps.clock.after(REPORT_AFTER_MS, () => this.#deps.onChange())
    try {
      await this.#act(action)
    } finally {
      reporting.cancel()
    }
  }

  async #observe(): Promise<ComponentSeen> {
    const { record } = this
    const observed = await this.#observer.observe(record)
    if (observed.isNodeFrozen === true) this.#asks.refuseAll()
    const unfrozen = observed.isNodeFrozen === true ? undefined : record
    return {
      ...observed,
      order: this.#order,
      permit: this.#permit,
      isNodePending: this.#isNodePending,
      switchBackoffMs: this.#tries.switchBackoffMs(record),
      hostBlocksMs: this.#tries.hostBlocksMs(unfrozen, this.#order, observed.hungHook),
      stageBackoffMs: this.#staging.backoffMs(this.#order),
      staging: this.#staging.target,
      asked: this.#asks.next,
      isDrifted: this.#drift !== undefined,
    }
  }

  async #act(action: ComponentAction): Promise<void> {
    switch (action.kind) {
      case 'Stage':
        return this.#staging.begin(action.target)
      case 'ReadPermit':
        this.#permit = await this.#deps.readPermit(action.permit, action.forReboot === true)
        return
      case 'ShareReboot':
        return this.#switcher.shareReboot(action.with)
      case 'Reboot':
        this.#probing.stop()
        return this.#switcher.reboot()
      case 'ReadNode':
        this.#isNodePending = await this.#deps.readNodePending()
        // Unknown: do nothing and ask again later.
        if (this.#isNodePending === undefined) await this.#deps.clock.sleep(ACT_RETRY_MS)
        return
      case 'Switch':
        this.#probing.stop()
        return this.#switcher.begin(action.to, action.permit)
      case 'ContinueSwitch':
        this.#probing.stop()
        return this.#switcher.go()
      case 'UseInPlace':
        return this.#useInPlace()
      case 'GiveUp':
        return this.#switcher.giveUp({ because: action.because, message: action.reason })
      case 'Commit':
        // The modified files are in the previous copy; the next check covers this one.
        this.#drift = undefined
        this.#foreign = []
        await this.#switcher.commit()
        return this.#asks.switched({ kind: 'Done' })
      case 'StartAgain':
        // The next start begins a new settle window.
        this.#probing.stop()
        return this.#switcher.startAgain(action.how)
      case 'RollBack':
        this.#probing.stop()
        await this.#switcher.goBack(await explained(action, () => this.#lastOutput()), action.pending)
        return this.#asks.switched(failed(action.reason))
      case 'Start':
        this.#probing.stop()
        return this.#tries.starts.try(() => this.#switcher.start())
      case 'Restart':
        this.#probing.stop()
        return this.#tries.starts.try(() => restartAsked(this.#repairParts()))
      case 'Reinstall':
        this.#probing.stop()
        return reinstallAsked(this.#repairParts())
      case 'Degrade':
        return this.#degrade(await explained(action, () => this.#lastOutput()))
      case 'Recover':
        await this.#journal.step('recover', { probesPass: true }, {})
        return
      case 'NoteRemoval':
        return this.#noteRemoval(action.onRemoval)
      case 'Remove':
        this.#probing.stop()
        this.#staging.stop('no longer desired')
        return this.#remove()
      default:
        return assertNever(action)
    }
  }

  async #remove(): Promise<void> {
    try {
      const parts = { ...this.#deps, log: this.#log, component: this.component, journal: this.#journal }
      await removeComponent(parts, await this.#removal.now(this.record))
      this.#removalProblem = undefined
    } catch (error) {
      if (isPowerLoss(error)) throw error
      this.#removalProblem = `cannot be handed back yet: ${causeOf(error, 'InstallFailed').message}`
      this.#deps.onChange()
      throw error
    }
  }

  /** The message belongs to the state, and the state does not change. */
  async #noteRemoval(onRemoval: OnRemoval | undefined): Promise<void> {
    const { message, reason, output } = this.record ?? {}
    await this.#journal.write({ onRemoval, message, reason, output })
  }

  async #degrade({ because: reason, message, output }: Cause): Promise<void> {
    await this.#journal.step('degrade', { probeFails: true }, { message, reason, output })
  }

  /** The order again asks for the version in use, for example after a revert: nothing to switch. */
  async #useInPlace(): Promise<void> {
    await this.#journal.step('useInPlace', { sameAsInUse: true }, { staged: undefined })
    await this.#switcher.dropOldSlots()
  }

  async #lastOutput(): Promise<string> {
    try {
      return (await this.#deps.processes.lastOutput?.(this.component)) ?? ''
    } catch (error) {
      this.#log.warn('cannot read the log of the component', { error })
      return ''
    }
  }

  #repairParts(): RepairParts {
    const { stage, isNodeFrozen } = this.#deps
    const asks = this.#asks
    return { component: this.component, journal: this.#journal, switcher: this.#switcher, asks, stage, isNodeFrozen }
  }

  #later(ms: number): void {
    this.#timer?.cancel()
    this.#timer = this.#deps.clock.after(ms, () => this.wake())
  }
}
