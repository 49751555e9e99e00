// Requests a log from one machine's agent and hands on the pages as they arrive. The answer's private key stays in this process. The request is deleted at the
// end, also after Ctrl-C.
import { randomBytes } from 'node:crypto'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { logRequest, type LogRequest } from '#api/kinds/log-request.ts'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { newSealingKey } from '#api/sealed.ts'
import { pageText, ticketFor } from '#api/protocol/log-requests.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { isGone } from '#kube/errors.ts'
import { logErrors } from './log-errors.ts'

/** A controller forwards requests at once, unless its limit of open requests is reached. */
const PASSED_ON_WITHIN_MS = 15_000
/** An agent receives its Machine within a second and spends at most ten on a slow journal. */
const ANSWERED_WITHIN_MS = 20_000
const POLL_MS = 1_000

/** Takes the answer. Its text is as the log has it: the caller makes it safe to show. */
interface LogReader {
  readonly lines: (lines: readonly string[]) => void
  /** What is missing, or why it ended. */
  readonly note: (text: string) => void
}

export interface LogAsking {
  readonly client: KubeClient
  readonly clock: Clock
  readonly reader: LogReader
  readonly machine: Machine
  readonly agentKey: string
  readonly by: string
  readonly component: string
  readonly tail?: number
  readonly sinceSeconds?: number
  readonly follow: boolean
  readonly signal: AbortSignal
  /** Called and awaited when the agent answers, before anything is handed on. */
  readonly onAnswer: () => Promise<void>
}

export async function readLog(asking: LogAsking): Promise<void> {
  const { client, machine, agentKey, by, component, tail, sinceSeconds, follow, signal } = asking
  const { name = '', uid = '' } = machine.metadata
  const key = newSealingKey()
  const request = randomBytes(16).toString('hex')
  const spec = {
    machine: name,
    machineUid: uid,
    component,
    ...defined({ tail, sinceSeconds }),
    ...(follow && { follow }),
    replyKey: key.publicKey,
    ticket: ticketFor(agentKey, name, request),
    by,
  }
  const object = { apiVersion: API_GROUP_VERSION, kind: logRequest.kind, metadata: { name: request }, spec }
  try {
    // One whose answer was lost may exist all the same.
    const made = await client.create(logRequest, object, { signal })
    await readAnswer(asking, made, key.privateKey)
  } finally {
    await client.delete(logRequest, { name: request }).catch(() => undefined)
  }
}

/** Each page replaces the previous one, and a watch delivers all in order. Only a broken watch may miss some. */
async function readAnswer(asking: LogAsking, made: LogRequest, privateKey: string): Promise<void> {
  const { client, signal } = asking
  const name = made.metadata.name ?? ''
  const answer = new Answer(asking, made, privateKey)
  const late = new AbortController()
  const both = AbortSignal.any([signal, late.signal])
  const patience = answer.waitForFirst(both).catch((error: unknown) => late.abort(error))
  try {
    let seen: LogRequest | undefined = made
    while (seen !== undefined) {
      if (await answer.take(seen)) return
      const { resourceVersion = '' } = seen.metadata
      const watch = { fieldSelector: `metadata.name=${name}`, resourceVersion, signal: both }
      for await (const event of watched(client, watch)) if (await answer.take(event)) return
      both.throwIfAborted()
      seen = await client.get(logRequest, { name }, { signal: both })
    }
    throw new KubeNodeError(logErrors.KN1449_logDeleted())
  } catch (error) {
    if (late.signal.aborted && !signal.aborted) throw late.signal.reason
    throw error
  } finally {
    late.abort(new Error('the answer is complete'))
    await patience
  }
}

async function* watched(client: KubeClient, options: Parameters<KubeClient['watch']>[1]): AsyncIterable<LogRequest> {
  try {
    for await (const event of client.watch(logRequest, options))
      if (event.type === 'DELETED') return
      else if (event.type !== 'BOOKMARK') yield event.object
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

class Answer {
  readonly #asking: LogAsking
  readonly #request: LogRequest
  readonly #privateKey: string
  #page = 0
  #hasAnswer = false

  constructor(asking: LogAsking, request: LogRequest, privateKey: string) {
    this.#asking = asking
    this.#request = request
    this.#privateKey = privateKey
  }

  /** True for the last page. */
  async take({ status, spec, metadata }: LogRequest): Promise<boolean> {
    const { reader, onAnswer } = this.#asking
    const { phase, message = '', page = 0, sealed } = status ?? {}
    if (phase === undefined) return false
    this.#hasAnswer = true
    await onAnswer()
    if (phase === 'Refused')
      throw new KubeNodeError(
        logErrors.KN1642_component({ component: spec.component, machine: spec.machine, why: message }),
      )
    if (page > this.#page && sealed !== undefined) {
      if (page > this.#page + 1) reader.note(`… ${page - this.#page - 1} pages were missed`)
      this.#page = page
      const text = pageText(this.#privateKey, spec.machine, metadata.name ?? '', page, sealed)
      if (text === undefined)
        throw new KubeNodeError(logErrors.KN1642_component({ ...spec, why: 'the answer cannot be opened' }))
      const { omittedLines = 0 } = status ?? {}
      if (omittedLines > 0) reader.note(`… ${omittedLines} older lines left out`)
      if (message !== '') reader.note(message)
      if (text !== '') reader.lines(text.split('\n'))
    }
    return phase === 'Done'
  }

  /** Rejects if no agent answers in time, with how far the request got. */
  async waitForFirst(signal: AbortSignal): Promise<void> {
    const { client, clock, machine } = this.#asking
    const name = machine.metadata.name ?? ''
    const start = clock.monotonic()
    let passedOnAt: number | undefined
    while (!this.#hasAnswer) {
      await clock.sleep(POLL_MS, signal)
      if (this.#hasAnswer) return
      const now = clock.monotonic()
      if (passedOnAt === undefined) {
        const found = await client.get(machineType, { name }, { signal })
        if ((found?.spec.logs ?? []).includes(this.#request.spec.ticket)) passedOnAt = now
      }
      if (passedOnAt === undefined && now - start > PASSED_ON_WITHIN_MS)
        throw new KubeNodeError(logErrors.KN1644({ machine: name, waited: formatDuration(PASSED_ON_WITHIN_MS) }))
      if (passedOnAt !== undefined && now - passedOnAt > ANSWERED_WITHIN_MS)
        throw new KubeNodeError(logErrors.KN1642_silent({ machine: name, waited: formatDuration(ANSWERED_WITHIN_MS) }))
    }
  }
}
