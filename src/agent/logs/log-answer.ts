// Answers one log request: reads it, checks that it is for this Machine, and writes pages that only the requester can open. Ends by itself, or when the
// Machine no longer lists the request.
import { logRequest, type LogRequest } from '#api/kinds/log-request.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { LOG_ANSWER_BYTES, LOG_FOLLOW_MS, LOG_PAGE_EVERY_MS } from '#api/protocol/log-bounds.ts'
import { sealedPage } from '#api/protocol/log-requests.ts'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { agentErrors } from '../agent-errors.ts'
import type { KnownFields } from '../known-fields.ts'
import type { LogPlace } from '../supervise/port.ts'
import { LineQueue } from './line-queue.ts'
import { openSource } from './log-source.ts'
import { Redactor } from './redactor.ts'

export interface LogAnswerDeps {
  readonly client: KubeClient
  readonly known: KnownFields
  readonly clock: Clock
  readonly log: Logger
  readonly machine: string
  readonly machineUid: () => string | undefined
  /** Names of the components that have a log on this node. */
  readonly components: () => readonly string[]
  readonly placeOf: (component: string) => LogPlace | undefined
  /** Secret values of the component that may be in its log. Throws when they cannot be read. */
  readonly secretsOf: (component: string) => Promise<readonly string[]>
}

/** Default if the requester gives no number; most logs reach the byte limit first. */
const MOST_LINES = 5_000

type Status = NonNullable<LogRequest['status']>

/** Never rejects. */
export async function answerLogRequest(
  deps: LogAnswerDeps,
  name: string,
  ticket: string,
  signal: AbortSignal,
): Promise<void> {
  const { client, log } = deps
  try {
    const request = await client.get(logRequest, { name }, { signal })
    if (request === undefined || request.spec.ticket !== ticket || !isOwn(deps, request)) return
    // Answers are counted in memory: after an agent restart, earlier pages are unknown.
    if (request.status?.phase === 'Answering') throw new KubeNodeError(agentErrors.KN1449_logRestart())
    if (request.status?.phase !== undefined) return
    const { by, component } = request.spec
    log.info('log requested', { by, component, request: name })
    await answer(deps, request, signal).catch(async (error: unknown) => {
      if (!signal.aborted) await write(deps, request, { phase: 'Refused', message: messageOf(error).slice(0, 512) })
    })
  } catch (error) {
    if (!signal.aborted) log.warn('cannot answer a request for a log', { error })
  }
}

const isOwn = ({ machine, machineUid }: LogAnswerDeps, { spec }: LogRequest): boolean =>
  spec.machine === machine && spec.machineUid === machineUid()

async function answer(deps: LogAnswerDeps, request: LogRequest, signal: AbortSignal): Promise<void> {
  const { clock, components, placeOf, secretsOf } = deps
  const { component, tail = MOST_LINES, sinceSeconds, follow = false } = request.spec
  const known = components()
  if (!known.includes(component))
    throw new KubeNodeError(agentErrors.KN1313_componentOfAgent({ component, known: known.join(', ') || 'none' }))
  const place = placeOf(component)
  if (place === undefined) throw new KubeNodeError(agentErrors.KN8092({ component }))
  const redactor = new Redactor(await secretsOf(component))
  const sinceMs = sinceSeconds === undefined ? undefined : clock.now() - sinceSeconds * 1_000
  const source = openSource(place, { tail: Math.min(tail, MOST_LINES), sinceMs }, clock)
  const queue = new LineQueue(LOG_ANSWER_BYTES)
  const old = await source.old()
  queue.add(redactor.lines(old.lines))
  if (request.spec.tail !== undefined) queue.keepLast(request.spec.tail)
  const pages = new Pages(deps, request)
  const note = old.note === undefined ? {} : { message: old.note }
  if (!follow) return writeAll(pages, { clock, queue, signal, note })
  const reader = source.follow((lines) => queue.add(redactor.lines(lines)))
  try {
    await writeOn(pages, { clock, queue, signal, note })
  } finally {
    reader.close()
  }
}

interface Writing {
  readonly clock: Clock
  readonly queue: LineQueue
  readonly signal: AbortSignal
  readonly note: Pick<Status, 'message'>
}

async function writeAll(pages: Pages, { clock, queue, signal, note }: Writing): Promise<void> {
  for (;;) {
    const page = queue.take()
    await pages.write(page, { phase: queue.isEmpty ? 'Done' : 'Answering', ...note })
    if (queue.isEmpty) return
    await clock.sleep(LOG_PAGE_EVERY_MS, signal)
  }
}

async function writeOn(pages: Pages, { clock, queue, signal, note }: Writing): Promise<void> {
  const end = clock.monotonic() + LOG_FOLLOW_MS
  // The first page shows that the agent answers, even while there are no lines.
  await pages.write(queue.take(), { phase: 'Answering', ...note })
  while (clock.monotonic() < end) {
    await clock.sleep(LOG_PAGE_EVERY_MS, signal)
    if (!queue.isEmpty) await pages.write(queue.take(), { phase: 'Answering' })
  }
  await pages.write(queue.take(), { phase: 'Done', message: `ended after ${LOG_FOLLOW_MS / 60_000} minutes` })
}

class Pages {
  readonly #deps: LogAnswerDeps
  readonly #request: LogRequest
  #page = 0

  constructor(deps: LogAnswerDeps, request: LogRequest) {
    this.#deps = deps
    this.#request = request
  }

  async write({ text, omittedLines }: { text: string; omittedLines: number }, status: Status): Promise<void> {
    const { metadata, spec } = this.#request
    const page = ++this.#page
    const sealed = sealedPage(spec.replyKey, spec.machine, metadata.name ?? '', page, text)
    await write(this.#deps, this.#request, { ...status, page, sealed, ...(omittedLines > 0 && { omittedLines }) })
  }
}

async function write({ client, known }: LogAnswerDeps, { metadata }: LogRequest, status: Status): Promise<void> {
  const object = {
    apiVersion: API_GROUP_VERSION,
    kind: logRequest.kind,
    metadata: { name: metadata.name ?? '', uid: metadata.uid ?? '' },
    status,
  }
  const options = { fieldManager: FIELD_MANAGERS.agent, force: true, subresource: 'status' }
  await known.apply(client, logRequest, object, options)
}
