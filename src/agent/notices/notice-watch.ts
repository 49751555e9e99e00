// While the Machine requests it, polls the cloud's metadata service for upcoming events of this host. If a read fails, the previous notices stay.
import { type MachineNotices, MAX_NOTICES } from '#api/kinds/machine.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { ALICLOUD_METADATA } from '#providers/alicloud/notices.ts'
import { AWS_METADATA } from '#providers/aws/notices.ts'
import { type MetadataService, type NoticeCloud, SPOT_EVERY_MS, type Notice } from '#providers/cloud/metadata.ts'
import { ask } from '#runtime/outbound/get.ts'

const SERVICES: Readonly<Record<NoticeCloud, MetadataService>> = { Alicloud: ALICLOUD_METADATA, AWS: AWS_METADATA }

/** The service is on the host's own link: a slower answer will not arrive. */
const DEADLINE_MS = 2_000
/** A few events with their texts are a few kilobytes. */
const MOST_BYTES = 64 * 1024
const SESSION_SECONDS = 300
/** Renewed well before it expires. */
const SESSION_MS = (SESSION_SECONDS / 2) * 1_000
/** A single lost answer is not worth a message in the Machine. */
const FAILURES_TO_REPORT = 3
/** A service that does not answer is polled less and less often. */
const LONGEST_WAIT_MS = 60_000
/** A text that fits into a header. */
const SESSION = /^[\x21-\x7e]{1,1024}$/

export interface NoticeWatchDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly onChange: () => void
  /** Addresses of the services, and their timeout; only tests change them. */
  readonly origins?: Partial<Readonly<Record<NoticeCloud, string>>>
  readonly deadlineMs?: number
}

interface Following {
  readonly service: MetadataService
  readonly stop: AbortController
  readonly done: Promise<void>
}

/** Reads in a row without the notice before it counts as withdrawn. */
const ABSENT_READS = 2

interface Kept {
  readonly notice: Notice
  readonly absent: number
}

/** Notices by page, kept until two reads in a row lack them: one wrong answer does not withdraw a notice. A missing page was never read. */
type KeptNotices = ReadonlyMap<string, readonly Kept[]>

function withRead(kept: KeptNotices, path: string, read: readonly Notice[]): KeptNotices {
  const ids = new Set(read.map((n) => n.id))
  const absent = (kept.get(path) ?? [])
    .filter(({ notice }) => !ids.has(notice.id))
    .map((k) => ({ ...k, absent: k.absent + 1 }))
    .filter((k) => k.absent < ABSENT_READS)
  return new Map(kept).set(path, [...read.map((notice) => ({ notice, absent: 0 })), ...absent])
}

/** Undefined until each page was read once: before that, a missing notice proves nothing. Soonest first, limited to the number that a Machine can hold. */
function noticesOf(kept: KeptNotices, paths: readonly string[]): readonly Notice[] | undefined {
  if (paths.some((path) => !kept.has(path))) return undefined
  const byId = new Map<string, Notice>()
  for (const { notice } of [...kept.values()].flat()) if (!byId.has(notice.id)) byId.set(notice.id, notice)
  const rank = (n: Notice) => `${n.notBefore ?? '~'} ${n.id}`
  const soonest = [...byId.values()].toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, MAX_NOTICES)
  return soonest.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

export class NoticeWatch {
  readonly #deps: NoticeWatchDeps
  #following: Following | undefined
  #kept: KeptNotices = new Map()
  #problem: string | undefined
  #session: { readonly token: string; readonly until: number } | undefined

  constructor(deps: NoticeWatchDeps) {
    this.#deps = deps
  }

  /** Applies the Machine's order. */
  obey(cloud: NoticeCloud | undefined): void {
    if (this.#following?.service.cloud === cloud) return
    this.#following?.stop.abort()
    this.#kept = new Map()
    this.#problem = undefined
    this.#session = undefined
    if (cloud === undefined) {
      this.#following = undefined
      return
    }
    const origin = new URL(this.#deps.origins?.[cloud] ?? SERVICES[cloud].origin).origin
    const service = { ...SERVICES[cloud], origin }
    const stop = new AbortController()
    this.#following = { service, stop, done: this.#follow(service, stop.signal) }
  }

  /** Notices for the Machine; undefined until every page was read once. */
  get report(): MachineNotices | undefined {
    if (this.#following === undefined) return undefined
    const { cloud, pages } = this.#following.service
    const items = noticesOf(
      this.#kept,
      pages.map((p) => p.path),
    )
    if (items === undefined) return undefined
    return { from: cloud, items, ...defined({ problem: this.#problem }) }
  }

  async close(): Promise<void> {
    const following = this.#following
    following?.stop.abort()
    await following?.done
  }

  async #follow(service: MetadataService, signal: AbortSignal): Promise<void> {
    const { clock, random, log, onChange } = this.#deps
    const due = new Map<string, number>()
    let failures = 0
    while (!signal.aborted) {
      const before = JSON.stringify(this.report)
      const { problem, isSilent } = await this.#readDue(service, due, signal)
      if (signal.aborted) return
      failures = problem === undefined ? 0 : failures + 1
      if (failures === FAILURES_TO_REPORT)
        log.warn('cannot read the notices of the cloud', { cloud: service.cloud, problem })
      // Keeps the first message: one that changes with every try would cause a write with every try.
      if (problem === undefined) this.#problem = undefined
      else if (failures >= FAILURES_TO_REPORT) this.#problem ??= problem
      if (JSON.stringify(this.report) !== before) onChange()
      // One failing page must not delay a spot host's notice.
      const wait = isSilent ? Math.min(LONGEST_WAIT_MS, SPOT_EVERY_MS * 2 ** Math.min(failures, 10)) : SPOT_EVERY_MS
      await clock.sleep(random.jitter(wait), signal).catch(() => undefined)
    }
  }

  /** The problem in one sentence, and whether nothing at all could be read. */
  async #readDue(
    service: MetadataService,
    due: Map<string, number>,
    signal: AbortSignal,
  ): Promise<{ readonly problem: string | undefined; readonly isSilent: boolean }> {
    const { clock } = this.#deps
    let problem: string | undefined
    let isSilent = true
    for (const { path, everyMs, notices } of service.pages) {
      // A jittered wait may end slightly before its page is due.
      if ((due.get(path) ?? -Infinity) > clock.monotonic() + SPOT_EVERY_MS / 2) continue
      const answer = await this.#get(service, path, signal)
      if (signal.aborted) break
      if (typeof answer === 'string') {
        problem ??= answer
        continue
      }
      // Both vendors return 404 when there are no notices.
      const read = answer.status === 404 ? [] : answer.status === 200 ? notices(answer.text) : undefined
      if (read === undefined) {
        problem ??= `${path} answered status ${answer.status} with a text that cannot be read`
        continue
      }
      isSilent = false
      this.#kept = withRead(this.#kept, path, read)
      due.set(path, clock.monotonic() + everyMs)
    }
    return { problem, isSilent }
  }

  async #get(
    { origin, secondsHeader, sessionHeader }: MetadataService,
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly text: string } | string> {
    const { clock, deadlineMs = DEADLINE_MS } = this.#deps
    // The only origin that the outbound guard allows, wherever the answers point to.
    const limits = { allow: new Set([origin]), deadlineMs, maxBytes: MOST_BYTES, signal }
    if (this.#session === undefined || this.#session.until <= clock.monotonic()) {
      const headers = { [secondsHeader]: String(SESSION_SECONDS) }
      const given = await ask(`${origin}/latest/api/token`, { ...limits, method: 'PUT', headers })
      if (given.kind !== 'Answered') return `the metadata service gives no session: ${given.message}`
      const token = given.text.trim()
      if (given.status !== 200 || !SESSION.test(token))
        return `the metadata service gives no session: status ${given.status}`
      this.#session = { token, until: clock.monotonic() + SESSION_MS }
    }
    const answer = await ask(`${origin}${path}`, { ...limits, headers: { [sessionHeader]: this.#session.token } })
    if (answer.kind !== 'Answered') return `${path}: ${answer.message}`
    // The next read starts a new session.
    if (answer.status === 401 || answer.status === 403) this.#session = undefined
    return answer
  }
}
