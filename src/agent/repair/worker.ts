// The loop of one repair job: read, plan, record, run, report. A step runs only after its start is on the disk and acknowledged by the API server.
import type { Clock } from '#lib/clock.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { assertNever, messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { OperationName } from '#api/kinds/operations.ts'
import { operationFacts } from '#api/protocol/operations.ts'
import { remedyOperationJob, type RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { PermitReading } from '../components/permit-reading.ts'
import { readState, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { readFrozen } from '../frozen.ts'
import type { KnownFields } from '../known-fields.ts'
import { jobFile, type NodeDir } from '../node-dir.ts'
import { readPermit } from '../permits.ts'
import { planJob, type JobAction, type JobOperation } from './plan.ts'
import { parseJobRecord, withStep, type JobRecord, type StepRecord } from './record.ts'
import { doStep, type StepPorts } from './steps.ts'

export interface JobDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly client: KubeClient
  readonly known: KnownFields
  readonly clock: Clock
  readonly log: Logger
  readonly machine: string
  readonly bootId: string
  /** How long the machine has run. */
  readonly upMs: () => number
  readonly ports: StepPorts
  /** UIDs under which a permit may name this node. */
  readonly targets: () => readonly string[]
  readonly nodeUid: () => Promise<string | undefined>
  /** Called when a step ended; `beganAt` is in monotonic time. */
  readonly onStep: (operation: OperationName, outcome: string, beganAt: number) => void
}

const RETRY_MS = 2_000
/** A permit that was read before a slow acknowledgement is read again. */
const PERMIT_FRESH_MS = 3_000
const MAX_OUTPUT = 2_048
/** Limit of one step, whatever its job allows. */
const MAX_STEP_MS = 3_600_000
const FROZEN_POLL_MS = 1_000

export class JobWorker {
  readonly #deps: JobDeps
  readonly #log: Logger
  #job: RemedyOperationJob | undefined
  #record: JobRecord | undefined
  #reported: JobRecord | undefined
  #permit: { readonly reading: PermitReading; readonly at: number } | undefined
  #busyStep: number | undefined
  #isRebootAsked = false
  #isRunning = false
  #isDirty = false
  #isClosed = false
  #timer: { cancel(): void } | undefined

  constructor(deps: JobDeps, name: string) {
    this.#deps = deps
    this.#log = deps.log.with({ job: name })
  }

  setJob(job: RemedyOperationJob | undefined): void {
    this.#job = job
    if (job !== undefined) this.wake()
  }

  wake(): void {
    if (this.#isClosed) return
    this.#isDirty = true
    if (!this.#isRunning) void this.#run()
  }

  /** Nothing runs, and only a change of the job or time would change that. */
  get isQuiet(): boolean {
    return !this.#isRunning && this.#busyStep === undefined
  }

  /** Does not wait for a step that ends this process. */
  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#isDirty && !this.#isClosed) {
      this.#isDirty = false
      this.#timer?.cancel()
      try {
        await this.#turn()
      } catch (error) {
        this.#log.warn('repair step failed', { error })
        this.#later(RETRY_MS)
      }
    }
    this.#isRunning = false
  }

  async #turn(): Promise<void> {
    const job = this.#job
    const uid = job?.metadata.uid
    if (job === undefined || uid === undefined) return
    const { files, dir, machine, bootId, nodeUid, upMs } = this.#deps
    if (this.#record?.uid !== uid) this.#record = await readState(files, jobFile(dir, uid), parseJobRecord)
    const plan = planJob({
      job,
      record: this.#record,
      machine,
      bootId,
      nodeUid: await nodeUid(),
      permit: this.#permit?.reading,
      busy: this.#busyStep,
      isRebootAsked: this.#isRebootAsked,
      upMs: upMs(),
      isNodeFrozen: (await readFrozen(files, dir)) !== undefined,
    })
    this.#permit = undefined
    if (plan.action === undefined) {
      if (this.#record !== undefined && this.#reported !== this.#record) await this.#report(job)
      if (plan.requeueAfterMs !== undefined) this.#later(plan.requeueAfterMs)
      return
    }
    this.#log.info('repair action', { action: plan.action.kind, reason: plan.action.reason })
    // Continues immediately, except after a rejected start: otherwise this loop would retry at full speed.
    if (await this.#act(job, uid, plan.action)) this.#isDirty = true
    else this.#later(RETRY_MS)
  }

  /** Returns whether the next pass may follow immediately. */
  async #act(job: RemedyOperationJob, uid: string, action: JobAction): Promise<boolean> {
    const { clock } = this.#deps
    switch (action.kind) {
      case 'ReadPermit':
        this.#permit = { reading: await this.#readPermit(job, action.permit), at: clock.monotonic() }
        return true
      case 'Begin':
        return this.#begin(job, uid, action)
      case 'Conclude':
        await this.#journal(job, uid, { ...action.step, finishedAt: clock.now() })
        await this.#report(job)
        return true
      default:
        return assertNever(action)
    }
  }

  async #readPermit(job: RemedyOperationJob, permit: string): Promise<PermitReading> {
    const { client, targets } = this.#deps
    const index = job.spec.operations.findIndex((_, n) => !this.#isDone(n, job))
    const operation = job.spec.operations[index]
    const [disruption] = (operation === undefined ? undefined : operationFacts(operation)?.disruptions) ?? []
    return readPermit(client, permit, {
      targets: targets(),
      operations: disruption === undefined ? [] : [disruption],
    })
  }

  #isDone(index: number, job: RemedyOperationJob): boolean {
    const step = this.#record?.steps.find((s) => s.index === index)
    const own = step?.isUndone === true ? undefined : step?.outcome
    return (own ?? job.status?.steps?.find((s) => s.index === index)?.outcome) !== undefined
  }

  async #begin(
    job: RemedyOperationJob,
    uid: string,
    { step, operation }: { readonly step: StepRecord; readonly operation: JobOperation },
  ): Promise<boolean> {
    const { clock } = this.#deps
    const started = { ...step, startedAt: clock.now() }
    this.#busyStep = step.index
    try {
      const refusal = await this.#recordStart(job, uid, started)
      if (refusal !== undefined) {
        this.#log.warn('repair step not started', { step: step.index, why: refusal })
        await this.#journal(job, uid, {
          ...started,
          outcome: 'Unknown',
          isUndone: true,
          output: refusal,
          finishedAt: clock.now(),
        })
        return false
      }
      const beganAt = clock.monotonic()
      this.#isRebootAsked ||= operation.reboot !== undefined
      const result = await this.#do(job, operation, job.metadata.name ?? uid)
      // A reboot: the next boot reports its result.
      if (result === undefined) return true
      const output = result.output.slice(-MAX_OUTPUT)
      const { outcome, devices } = result
      await this.#journal(job, uid, { ...started, ...defined({ devices }), outcome, output, finishedAt: clock.now() })
      this.#deps.onStep(step.operation, result.outcome, beganAt)
    } finally {
      this.#busyStep = undefined
    }
    await this.#report(job)
    return true
  }

  /** Ends at the timeout, or when the node is frozen: no step keeps its slot forever. */
  async #do(job: RemedyOperationJob, operation: JobOperation, name: string): ReturnType<typeof doStep> {
    const { clock, files, dir, ports } = this.#deps
    const stop = new AbortController()
    const limitMs = Math.min(MAX_STEP_MS, parseDuration(job.spec.timeout))
    const timer = clock.after(limitMs, () =>
      stop.abort(new Error(`timed out after ${formatDuration(limitMs)}; the step may still take effect`)),
    )
    let poll: { cancel(): void } | undefined
    const watch = (): void => {
      poll = clock.after(FROZEN_POLL_MS, () => {
        void readFrozen(files, dir).then((found) => {
          if (found !== undefined) stop.abort(new Error(`the node was frozen: ${found.why}`))
          else if (!isOver) watch()
        })
      })
    }
    let isOver = false
    watch()
    try {
      return await doStep(ports, operation, name, { signal: stop.signal, clock })
    } finally {
      isOver = true
      timer.cancel()
      poll?.cancel()
    }
  }

  /** Why the step must not run. Undefined when its start is on the disk and acknowledged, and the permit is still valid. */
  async #recordStart(job: RemedyOperationJob, uid: string, started: StepRecord): Promise<string | undefined> {
    const { clock } = this.#deps
    const began = clock.monotonic()
    await this.#journal(job, uid, started)
    try {
      await this.#report(job)
    } catch (e) {
      return `cannot record the step: ${messageOf(e)}`
    }
    const permit = job.status?.permitRef
    if (permit === undefined || clock.monotonic() - began <= PERMIT_FRESH_MS) return undefined
    const again = await this.#readPermit(job, permit)
    return again.kind === 'Granted' ? undefined : `permit ${permit}: ${again.why}`
  }

  async #journal(job: RemedyOperationJob, uid: string, step: StepRecord): Promise<void> {
    const { files, dir } = this.#deps
    const before = this.#record ?? { format: 1, uid, name: job.metadata.name ?? '', steps: [] }
    const next = withStep(before, step)
    await writeDurably(files, jobFile(dir, uid), JSON.stringify(next))
    this.#record = next
  }

  /** Reports every step that ever belonged to this agent: an apply removes omitted fields. */
  async #report(job: RemedyOperationJob): Promise<void> {
    const record = this.#record
    if (record === undefined || record === this.#reported) return
    const object = {
      apiVersion: API_GROUP_VERSION,
      kind: 'RemedyOperationJob',
      metadata: { name: job.metadata.name ?? record.name, uid: record.uid },
      status: { steps: record.steps.map(stepStatus) },
    }
    const options = { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' }
    await this.#deps.known.apply(this.#deps.client, remedyOperationJob, object, options)
    this.#reported = record
  }

  #later(ms: number): void {
    this.#timer?.cancel()
    this.#timer = this.#deps.clock.after(ms, () => this.wake())
  }
}

const stepStatus = (s: StepRecord) => ({
  index: s.index,
  operation: s.operation,
  executor: 'Agent',
  attempts: s.attempts,
  bootID: s.bootId,
  startedAt: timestamp(s.startedAt),
  ...(s.finishedAt === undefined ? {} : { finishedAt: timestamp(s.finishedAt) }),
  ...defined({ outcome: s.outcome, output: s.output, devices: s.devices }),
})
