// Renders in a Job of the cluster: creates the Job and its input, follows it, reads the result from its pod's log, and deletes it. Without room it
// waits; anything else that blocks the Job has its own error. Never falls back to a weaker cage.
import { setMaxListeners } from 'node:events'
import { RENDER_NAMESPACE } from '#api/names.ts'
import { ApiError, isForbidden, isInvalid } from '#kube/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, isKubeNodeError, messageOf, type ErrorMessage } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { inParallel } from '#lib/pool.ts'
import { printableLine } from '#lib/printable.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { POD_LEVEL } from '../cage.ts'
import type { RenderRequest } from '../protocol.ts'
import type { Renderer } from '../renderer.ts'
import {
  DEFAULT_DEADLINE_MS,
  DEFAULT_MAX_ANSWER,
  DEFAULT_MAX_PRINTED,
  type CagedEnd,
  type CageLimits,
} from '../run-caged.ts'
import { syncErrors } from '../../sync-errors.ts'
import {
  ALL_RENDERS,
  AS_RENDERER,
  CONTAINER,
  MAX_INPUT_BYTES,
  START_MS,
  countOfParts,
  jobName,
  jobOf,
  partsOfInput,
  selectorOf,
  wholeDeadlineMs,
  type Placement,
} from './job-spec.ts'
import { MAX_LOG_BYTES, resultIn } from './log-lines.ts'
import { packInput, unpackEnd } from './packed.ts'
import { progressOf, tooLate, type Awaited, type Progress } from './progress.ts'
import { Semaphore } from '#lib/semaphore.ts'

const JOB = coreKind('Job')
const POD = coreKind('Pod')
const CONFIG_MAP = coreKind('ConfigMap')
const EVENT = coreKind('Event')

export interface JobRendererOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  /** The image that this program runs from. */
  readonly image: string
  readonly placement?: Placement
  /** Version of this program; the Job must run the same one. */
  readonly version: string
  /** A name that no other render has or had. */
  readonly newRun: () => string
}

/** Each render takes up to 1.5 GB; beyond this limit, sources render one after the other. */
const MAX_AT_ONCE = 2
/** A watch reports changes; without any, all objects are read again after this time. */
const POLL_SECONDS = 5
/** Delay between attempts to create a Job when the quota has no room, and to read a log. */
const AGAIN_MS = 1_000
const LOG_ATTEMPTS = 5
/** The other waits end within seconds. */
const WORTH_A_LINE: readonly Awaited[] = ['Quota', 'Node', 'Image']
/** Jobs that are removed in parallel when the program starts. */
const SWEEPERS = 8

export class JobRenderer implements Renderer {
  readonly layers = POD_LEVEL.layers
  readonly #options: JobRendererOptions
  readonly #atOnce = new Semaphore(MAX_AT_ONCE, { what: 'render Jobs' })

  constructor(options: JobRendererOptions) {
    this.#options = options
  }

  /** Removes the Jobs of an earlier leader; their pods and input are deleted with them. */
  async sweep(): Promise<void> {
    const { client, log } = this.#options
    const left = await listAll(client, JOB, { namespace: RENDER_NAMESPACE, labelSelector: ALL_RENDERS })
    if (left.length > 0) log.info('removing Jobs of earlier renders', { jobs: left.length })
    await inParallel(left, SWEEPERS, (job) => this.#remove(job))
  }

  async run(request: RenderRequest, limits: CageLimits = {}): Promise<CagedEnd> {
    const { signal } = limits
    try {
      return await this.#atOnce.run(() => this.#run(request, limits), signal)
    } catch (error) {
      if (signal?.aborted === true) return { kind: 'Superseded', printed: '' }
      throw error
    }
  }

  async #run(request: RenderRequest, limits: CageLimits): Promise<CagedEnd> {
    const { deadlineMs = DEFAULT_DEADLINE_MS } = limits
    const { maxAnswerBytes = DEFAULT_MAX_ANSWER, maxPrintedBytes = DEFAULT_MAX_PRINTED } = limits
    const run = this.#options.newRun()
    const input = { run, limits: { deadlineMs, maxAnswerBytes, maxPrintedBytes }, request }
    const packed = await packInput(input)
    if (packed.length > MAX_INPUT_BYTES)
      throw new KubeNodeError(syncErrors.KN7114_jobFiles({ bytes: packed.length, limit: MAX_INPUT_BYTES }))
    const ending = new AbortController()
    // One listener for each request.
    setMaxListeners(0, ending.signal)
    const abort = () => ending.abort(limits.signal?.reason)
    limits.signal?.addEventListener('abort', abort, { once: true })
    if (limits.signal?.aborted === true) abort()
    const attempt = new Attempt(this.#options, run, deadlineMs, ending.signal)
    let job: KubeObject | undefined
    try {
      job = await attempt.makeJob(countOfParts(packed))
      await attempt.makeInput(job, packed)
      const end = await attempt.followed()
      return end.kind === 'OutOfMemory'
        ? { kind: 'OutOfMemory', printed: '' }
        : await attempt.result(end.pod, maxAnswerBytes)
    } finally {
      limits.signal?.removeEventListener('abort', abort)
      if (job !== undefined) await this.#remove(job)
    }
  }

  /** If this fails, the Job's time to live or the next start removes it later. */
  async #remove({ metadata: { name = '', uid = '' } }: KubeObject): Promise<void> {
    const { client, log } = this.#options
    try {
      await client.delete(
        JOB,
        { namespace: RENDER_NAMESPACE, name },
        { propagationPolicy: 'Background', ...(uid !== '' && { preconditions: { uid } }) },
      )
    } catch (error) {
      log.warn('cannot remove the Job of a render', { job: name, reason: messageOf(error) })
    }
  }
}

type Settled = Exclude<Progress, { readonly kind: 'Waiting' | 'Running' | 'Failed' }>

interface JobReading {
  readonly progress: Progress
  readonly resourceVersion: string
  readonly hasPod: boolean
}

/** One render, from its Job to its result. */
class Attempt {
  readonly #options: JobRendererOptions
  readonly #run: string
  readonly #deadlineMs: number
  readonly #signal: AbortSignal
  readonly #begun: number
  #reported: string | undefined

  constructor(options: JobRendererOptions, run: string, deadlineMs: number, signal: AbortSignal) {
    this.#options = options
    this.#run = run
    this.#deadlineMs = deadlineMs
    this.#signal = signal
    this.#begun = options.clock.monotonic()
  }

  #tookMs(): number {
    return this.#options.clock.monotonic() - this.#begun
  }

  /** Logs once for each kind of wait. */
  #report(awaited: Awaited, why: string): void {
    if (this.#reported === awaited || !WORTH_A_LINE.includes(awaited)) return
    this.#reported = awaited
    this.#options.log.info('a render waits', { run: this.#run, for: awaited, reason: why })
  }

  async makeJob(parts: number): Promise<KubeObject> {
    const { client, clock, image, placement } = this.#options
    const job = jobOf({ run: this.#run, image, ...defined({ placement }), parts, deadlineMs: this.#deadlineMs })
    for (;;) {
      try {
        return await client.create(JOB, job, { ...AS_RENDERER, signal: this.#signal })
      } catch (error) {
        const why = quotaIn(error)
        if (why === undefined) throw refusedOr(error, 'Job')
        this.#report('Quota', why)
        if (this.#tookMs() > START_MS) throw new KubeNodeError(tooLate(job.metadata.name ?? '', 'Quota', why), LATER)
        await clock.sleep(AGAIN_MS, this.#signal)
      }
    }
  }

  async makeInput(job: KubeObject, packed: Buffer): Promise<void> {
    const { client } = this.#options
    for (const part of partsOfInput(this.#run, job, packed))
      await client.create(CONFIG_MAP, part, { ...AS_RENDERER, signal: this.#signal }).catch((error: unknown) => {
        throw refusedOr(error, 'ConfigMap')
      })
  }

  /** Waits until the pod has ended. */
  async followed(): Promise<Settled> {
    const name = jobName(this.#run)
    let last: { readonly for: Awaited; readonly why: string } = { for: 'Pod', why: 'the Job has no pod yet' }
    let hasStarted = false
    for (;;) {
      const { progress, ...seen } = await this.#poll(name)
      if (progress.kind === 'Failed') throw failure(progress.error)
      if (progress.kind === 'Ended' || progress.kind === 'OutOfMemory') return progress
      if (progress.kind === 'Waiting') {
        last = progress
        this.#report(progress.for, progress.why)
      } else hasStarted = true
      if (!hasStarted && this.#tookMs() > START_MS) throw failure(tooLate(name, last.for, last.why))
      if (this.#tookMs() > wholeDeadlineMs(this.#deadlineMs))
        throw failure(
          syncErrors.KN7126_failed({
            job: name,
            why: 'its pod runs longer than it may, which its node should have ended',
          }),
        )
      await this.#change(seen)
    }
  }

  async #poll(name: string): Promise<JobReading> {
    const { client } = this.#options
    const key = { namespace: RENDER_NAMESPACE, name }
    const options = { signal: this.#signal }
    const pods = await client.list(POD, {
      namespace: RENDER_NAMESPACE,
      labelSelector: selectorOf(this.#run),
      ...options,
    })
    const job = await client.get(JOB, key, options)
    const events =
      pods.items.length > 0
        ? []
        : (
            await client.list(EVENT, {
              namespace: RENDER_NAMESPACE,
              fieldSelector: `involvedObject.kind=Job,involvedObject.name=${name}`,
              ...options,
            })
          ).items
    return {
      progress: progressOf({ name, job, pods: pods.items, events }),
      resourceVersion: pods.resourceVersion,
      hasPod: pods.items.length > 0,
    }
  }

  /** Waits for a change of its pods, or a few seconds without one. A failed watch is no reason to give up: the next poll reads the state. */
  async #change({ resourceVersion, hasPod }: Omit<JobReading, 'progress'>): Promise<void> {
    const { client, clock } = this.#options
    const watched = client.watch(POD, {
      namespace: RENDER_NAMESPACE,
      labelSelector: selectorOf(this.#run),
      resourceVersion,
      // The reason for the missing pod is reported elsewhere.
      timeoutSeconds: hasPod ? POLL_SECONDS : 1,
      signal: this.#signal,
    })
    try {
      for await (const event of watched) if (event.type !== 'BOOKMARK') return
    } catch (error) {
      this.#signal.throwIfAborted()
      if (!isKubeNodeError(error)) throw error
      await clock.sleep(AGAIN_MS, this.#signal)
    }
  }

  async result(pod: string, maxAnswerBytes: number): Promise<CagedEnd> {
    const job = jobName(this.#run)
    const log = await this.#log(job, pod)
    const logged = resultIn(this.#run, log)
    if (logged.kind !== 'Whole') throw failure(syncErrors.KN7126_log({ job, problem: problemOf(logged.kind, log) }))
    const ended = await unpackEnd(logged.result, maxAnswerBytes)
    if (typeof ended === 'string') throw failure(syncErrors.KN7126_log({ job, problem: `has a result that ${ended}` }))
    const { version: own } = this.#options
    if (ended.version !== own)
      throw failure(syncErrors.KN7130({ job, seen: printableLine(ended.version.slice(0, MAX_TAIL_CHARS)), own }))
    const { end } = ended
    if (end.kind === 'PackedTooLarge')
      throw new KubeNodeError(syncErrors.KN7114_log({ bytes: end.bytes, limit: end.limit }))
    return end
  }

  /** Its node may be busy, or may not know yet that the container ended. */
  async #log(job: string, pod: string): Promise<string> {
    const { client, clock } = this.#options
    const query = new URLSearchParams({ container: CONTAINER, limitBytes: String(MAX_LOG_BYTES) })
    const path = `/api/v1/namespaces/${RENDER_NAMESPACE}/pods/${encodeURIComponent(pod)}/log?${query.toString()}`
    for (let attempt = 1; ; attempt++) {
      const { status, text } = await client.raw({ method: 'GET', path, signal: this.#signal })
      if (status === 200) return text
      if (attempt === LOG_ATTEMPTS)
        throw failure(syncErrors.KN7126_log({ job, problem: `cannot be read: ${printableLine(text.slice(0, 300))}` }))
      await clock.sleep(AGAIN_MS, this.#signal)
    }
  }
}

const LATER = { retry: 'later' } as const
const failure = (message: ErrorMessage): KubeNodeError => new KubeNodeError(message, LATER)
const MAX_TAIL_CHARS = 200

function problemOf(kind: 'Nothing' | 'Cut' | 'Damaged', log: string): string {
  const tail = printableLine((log.trim().split('\n').at(-1) ?? '').slice(0, MAX_TAIL_CHARS))
  if (kind === 'Nothing') return tail === '' ? 'is empty' : `has no result; its last line: ${tail}`
  return kind === 'Cut' ? 'was cut: a part of the result is missing' : 'is not what its program wrote'
}

const quotaIn = (error: unknown): string | undefined =>
  error instanceof ApiError && isForbidden(error) && error.serverMessage.includes('exceeded quota')
    ? printableLine(error.serverMessage)
    : undefined

/** Handles missing rights, policies and quotas; any other error comes from a failing server and explains itself. */
function refusedOr(error: unknown, kind: 'Job' | 'ConfigMap'): unknown {
  const quota = quotaIn(error)
  if (quota !== undefined) return failure(syncErrors.KN7122({ why: quota }))
  return error instanceof ApiError && (isForbidden(error) || isInvalid(error) || error.status === 404)
    ? new KubeNodeError(syncErrors.KN7131({ kind, why: printableLine(error.serverMessage) }), {
        ...LATER,
        cause: error,
      })
    : error
}
