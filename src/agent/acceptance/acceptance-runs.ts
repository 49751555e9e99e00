// Runs the acceptance that the Machine orders, one attempt at a time. An attempt starts once: when the agent was restarted in between, its result is unknown.
import { MAX_ACCEPTANCE_OUTPUT } from '#api/kinds/machine-acceptance.ts'
import type { AcceptanceReport, Machine, MachineAcceptance } from '#api/kinds/machine.ts'
import { orderedAcceptance } from '#api/protocol/acceptance.ts'
import { type Clock, timestamp } from '#lib/clock.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { isKubeNodeError, messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { readState, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { readFrozen } from '../frozen.ts'
import { lastLines } from '../last-lines.ts'
import { acceptanceFile, type NodeDir } from '../node-dir.ts'
import type { StepResult } from '../repair/steps.ts'
import { parseAcceptanceRecord } from './acceptance-record.ts'

type Script = NonNullable<MachineAcceptance['script']>

export interface AcceptanceRunsDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly log: Logger
  readonly runScript: (script: Script, signal: AbortSignal) => Promise<StepResult>
  readonly onChange: () => void
}

const MOST_LINES = 8
/** On a full disk or a frozen node, the attempt starts later. */
const AGAIN_MS = 2_000
/** A script that was stopped may still print why. */
const LAST_OUTPUT_MS = 1_000
/** Until a script that could not be fetched is fetched again. */
const FETCH_AGAIN_MS = 10_000

interface Running {
  readonly run: string
  readonly stop: AbortController
  readonly done: Promise<void>
}

export class AcceptanceRuns {
  readonly #deps: AcceptanceRunsDeps
  #report: AcceptanceReport | undefined
  #running: Running | undefined
  #order: ReturnType<typeof orderedAcceptance>
  #again: { cancel(): void } | undefined
  #isClosed = false

  constructor(deps: AcceptanceRunsDeps) {
    this.#deps = deps
  }

  /** The last attempt, for the status of the Machine. */
  get report(): AcceptanceReport | undefined {
    return this.#report
  }

  async load(): Promise<void> {
    const { files, dir } = this.#deps
    this.#report = (await readState(files, acceptanceFile(dir), parseAcceptanceRecord))?.report
  }

  /** Follows a Machine that was read just now. An attempt that is no longer ordered is stopped. */
  obey(machine: Machine): void {
    this.#order = orderedAcceptance(machine)
    if (this.#running !== undefined && this.#running.run !== this.#order?.run)
      this.#running.stop.abort(new Error('it is no longer ordered'))
    this.#follow()
  }

  #follow(): void {
    this.#again?.cancel()
    if (this.#isClosed || this.#order === undefined || this.#running !== undefined) return
    const isOver = this.#report?.run === this.#order.run && this.#report.outcome !== undefined
    if (!isOver) this.#start(this.#order.run, this.#order.acceptance)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#again?.cancel()
    this.#running?.stop.abort(new Error('the agent stops'))
    await this.#running?.done
  }

  #start(run: string, acceptance: MachineAcceptance): void {
    const { log, clock } = this.#deps
    const stop = new AbortController()
    const done = this.#turn(run, acceptance, stop.signal)
      .catch((error: unknown) => {
        if (!stop.signal.aborted) log.warn('cannot run the acceptance', { error })
      })
      .then(() => {
        this.#running = undefined
        if (this.#isClosed) return
        // The order may have changed meanwhile, or the disk may be full.
        if (this.#order?.run === run) this.#again = clock.after(AGAIN_MS, () => this.#follow())
        else this.#follow()
      })
    this.#running = { run, stop, done }
  }

  async #turn(run: string, acceptance: MachineAcceptance, signal: AbortSignal): Promise<void> {
    const { clock, files, dir, log } = this.#deps
    if (this.#report?.run === run) {
      // It started before this agent did. The script was ended then.
      if (this.#report.outcome === undefined)
        await this.#ended(this.#report, { outcome: 'Unknown', output: 'the agent was restarted while the script ran' })
      return
    }
    while ((await readFrozen(files, dir)) !== undefined) await clock.sleep(AGAIN_MS, signal)
    const started: AcceptanceReport = { run, startedAt: timestamp(clock.now()) }
    await this.#journal(started)
    log.info('acceptance started', { run, script: acceptance.script?.component })
    const result = await this.#within(acceptance, signal)
    // An agent that stops has not seen the end; the next one reports that.
    if (this.#isClosed) return
    log.info('acceptance ended', { run, outcome: result.outcome })
    await this.#ended(started, result)
  }

  async #within({ script, timeout }: MachineAcceptance, signal: AbortSignal): Promise<StepResult> {
    const { clock, log, runScript } = this.#deps
    if (script === undefined) return { outcome: 'Failed', output: 'this agent knows nothing to run for it' }
    const limitMs = parseDuration(timeout)
    const late = new AbortController()
    const timer = clock.after(limitMs, () => late.abort(new Error(`timed out after ${formatDuration(limitMs)}`)))
    const both = AbortSignal.any([signal, late.signal])
    let lastError = ''
    try {
      for (;;) {
        try {
          return await Promise.race([runScript(script, both), afterAbort(both, clock)])
        } catch (error) {
          // The script has not started: a short outage says nothing about the node.
          if (both.aborted || !isKubeNodeError(error) || error.retry === 'never') throw error
          log.warn('cannot fetch the script of the acceptance yet', { error })
          lastError = error.message
        }
        await clock.sleep(FETCH_AGAIN_MS, both)
      }
    } catch (error) {
      return { outcome: 'Failed', output: `${lastError}\n${messageOf(error)}`.trim() }
    } finally {
      timer.cancel()
    }
  }

  /** Kept in memory even if the disk is full: the result is reported in any case. */
  async #ended(
    started: AcceptanceReport,
    { outcome, output }: { readonly outcome: StepResult['outcome'] | 'Unknown'; readonly output: string },
  ): Promise<void> {
    const lines = lastLines(output, MOST_LINES).slice(-MAX_ACCEPTANCE_OUTPUT).toWellFormed()
    const report: AcceptanceReport = {
      ...started,
      finishedAt: timestamp(this.#deps.clock.now()),
      outcome: outcome === 'Skipped' ? 'Unknown' : outcome,
      ...(lines !== '' && { output: lines }),
    }
    this.#report = report
    this.#deps.onChange()
    await this.#journal(report)
  }

  async #journal(report: AcceptanceReport): Promise<void> {
    const { files, dir, onChange } = this.#deps
    await writeDurably(files, acceptanceFile(dir), JSON.stringify({ format: 1, report }))
    this.#report = report
    onChange()
  }
}

const afterAbort = (signal: AbortSignal, clock: Clock): Promise<never> =>
  new Promise((_, reject) => {
    const end = (): void => void clock.after(LAST_OUTPUT_MS, () => reject(signal.reason))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
