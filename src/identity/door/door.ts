// The door: the endpoint where hosts rejoin whose certificates expired while the approver or API server was unavailable. It only queues: an accepted
// request grants no rights, and waits for a user's `kubenode machine readmit` and for the approver, which checks the proof again. It is independent of
// the transport: the embedded server serves it, and a role can too. Limits: REQUEST_BYTES per request; rates by place and in total (rates.ts); AT_ONCE
// in progress; one entry per Machine, replaced at most every EACH_ENTRY_MS; MOST_ENTRIES in total, only for existing Machines with a proved recorded
// key, so strangers take no place in the queue.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { AGENTS_GROUP, agentKeyGroup, agentNodeGroup, agentUser, machineUidGroup } from '#api/names.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { Clock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { subdomainProblems } from '#api/schema/name-problems.ts'
import { acceptsProvedKey } from '../agent-key.ts'
import type { CertificateRequest } from '../certificate-request.ts'
import { nodeNameOf } from '#nodes/machine-node.ts'
import type { RequestContent } from '../request-content.ts'
import { claimedKey, parseProof, provedKey, type DoorProof } from './proof.ts'
import { type DoorQueue, entryName, entryOf, isOfDoor, isUndecided } from './queue.ts'
import { DoorRates } from './rates.ts'

/** A request with its proof takes about 1,500 bytes. */
export const REQUEST_BYTES = 4_096
const MOST_ENTRIES = 20_000
const AT_ONCE = 16
/** A key holder that keeps generating new keys causes at most this rate of writes. */
const EACH_ENTRY_MS = 60_000
const NONCE_GOOD_MS = 5 * 60_000
/** Shortest retry interval of a host. With more waiting hosts each asks less often, so that together they stay below a quarter of the rate. */
const LEAST_RETRY_SECONDS = 10
const ENTRIES_A_SECOND = 10
/** Answered or deleted entries are noticed when the queue looks full, at most this often. */
const COUNT_AGAIN_MS = 60_000

export interface DoorRequest {
  readonly method: string
  readonly body: string
  /** The sender's place, from `placeOf`. */
  readonly place: string
}

export interface DoorAnswer {
  readonly status: number
  readonly body: DoorReply
}

/** The answer that the agent reads. */
export type DoorReply =
  | { readonly state: 'Open'; readonly nonce: string }
  | { readonly state: 'Waiting'; readonly retryAfterSeconds: number }
  | { readonly state: 'Approved'; readonly certificate: string }
  | { readonly state: 'Denied'; readonly message: string }
  | { readonly state: 'Refused'; readonly message: string }
  | { readonly state: 'Busy'; readonly retryAfterSeconds: number; readonly message: string }

export interface DoorOptions {
  readonly queue: DoorQueue
  /** The server's prints, from `authorityPrint`. */
  readonly server: () => readonly string[]
  /** Lifetime of the Machine's next certificate. */
  readonly seconds: (machine: Machine) => number
  readonly clock: Clock
  readonly log: Logger
  /** Lowers MOST_ENTRIES for tests. */
  readonly most?: number
}

const refused = (status: number, message: string): DoorAnswer => ({ status, body: { state: 'Refused', message } })
const busy = (status: number, retryAfterSeconds: number, message: string): DoorAnswer => ({
  status,
  body: { state: 'Busy', retryAfterSeconds, message },
})
/** The same for every unknown name, so that a stranger learns neither machine names nor which keys were revoked. */
const unknown = (): DoorAnswer => refused(403, 'no machine of this name and uid has this key on record')

export class Door {
  readonly #options: DoorOptions
  readonly #rates: DoorRates
  readonly #secret = randomBytes(32)
  readonly #most: number
  /** By the Machine's uid. */
  readonly #entries = new Map<string, Entry>()
  #counted: Promise<void> | undefined
  #countedAt = Number.NEGATIVE_INFINITY
  readonly #inWork = new Set<string>()

  constructor(options: DoorOptions) {
    this.#options = options
    this.#most = options.most ?? MOST_ENTRIES
    this.#rates = new DoorRates(() => options.clock.monotonic())
  }

  async answer({ method, body, place }: DoorRequest): Promise<DoorAnswer> {
    const wait = this.#rates.take(place)
    if (wait > 0) return busy(429, wait, 'too many requests')
    if (method === 'GET') return { status: 200, body: { state: 'Open', nonce: this.#nonce() } }
    if (method !== 'POST') return refused(405, 'the door takes GET and POST')
    const asked = askedIn(body)
    if (asked === undefined) return refused(400, 'not a request with its proof')
    const { proof } = asked
    if (!this.#isNonce(proof.nonce) || !this.#options.server().includes(proof.server))
      return refused(409, 'the proof is too old, or made for another server')
    if (this.#inWork.size >= AT_ONCE || this.#inWork.has(proof.uid)) return busy(429, 1, 'too many requests at once')
    this.#inWork.add(proof.uid)
    try {
      return await this.#judge(asked)
    } finally {
      this.#inWork.delete(proof.uid)
    }
  }

  async #judge({ request, proof }: Asked): Promise<DoorAnswer> {
    const { queue } = this.#options
    if (subdomainProblems(proof.machine).length > 0) return unknown()
    const machine = await queue.machine(proof.machine)
    if (machine === undefined || machine.metadata.uid !== proof.uid) return unknown()
    if (machine.metadata.deletionTimestamp !== undefined) return unknown()
    // Check the claim first, because that is cheap.
    if (!acceptsProvedKey(machine, claimedKey(proof))) return unknown()
    const key = provedKey(proof, request)
    if (key === undefined || !acceptsProvedKey(machine, key)) return unknown()
    const { readContent } = await import('../request-content.ts')
    const read = await readContent(Buffer.from(request).toString('base64'))
    if (read.kind === 'Unreadable') return refused(400, `cannot accept the certificate request: ${read.why}`)
    const problem = subjectProblem(machine, read.content)
    if (problem !== undefined) return refused(400, problem)
    const name = entryName(proof.uid, read.content.key)
    const found = await queue.request(name)
    return found === undefined ? this.#enter(name, { request, proof }, machine) : this.#state(found)
  }

  /** Adds it to the queue, replacing an earlier entry of the Machine. */
  async #enter(name: string, { request, proof }: Asked, machine: Machine): Promise<DoorAnswer> {
    const { queue, clock, log, seconds } = this.#options
    // Entries from before this process started count too.
    await this.#count()
    const before = this.#entries.get(proof.uid)
    const now = clock.monotonic()
    if (before !== undefined && before.name !== name) {
      const left = before.at + EACH_ENTRY_MS - now
      if (left > 0) return busy(429, Math.ceil(left / 1_000), 'a request of this machine was queued a moment ago')
      await queue.remove(before.name)
    }
    if (before === undefined && this.#entries.size >= this.#most) {
      if (now - this.#countedAt >= COUNT_AGAIN_MS) this.#counted = undefined
      await this.#count()
      if (this.#entries.size >= this.#most)
        return busy(503, COUNT_AGAIN_MS / 1_000, `the queue is full: ${this.#most} machines wait`)
    }
    await queue.add(entryOf(name, request, { proof, seconds: seconds(machine) }))
    this.#entries.set(proof.uid, { name, at: now })
    log.info('certificate request queued at the door', { machine: proof.machine, request: name })
    return this.#waiting()
  }

  #state(found: CertificateRequest): DoorAnswer {
    if (!isOfDoor(found)) return { status: 200, body: { state: 'Denied', message: 'the name of the request is taken' } }
    const { certificate, conditions = [] } = found.status ?? {}
    if (certificate !== undefined && certificate !== '')
      return { status: 200, body: { state: 'Approved', certificate: Buffer.from(certificate, 'base64').toString() } }
    if (isUndecided(found) || conditions.some((c) => c.type === 'Approved' && !hasNo(conditions)))
      return this.#waiting()
    const { message = 'denied' } = conditions.find((c) => c.type !== 'Approved') ?? {}
    return { status: 200, body: { state: 'Denied', message } }
  }

  #waiting(): DoorAnswer {
    const retryAfterSeconds = Math.max(LEAST_RETRY_SECONDS, Math.ceil(this.#entries.size / ENTRIES_A_SECOND))
    return { status: 202, body: { state: 'Waiting', retryAfterSeconds } }
  }

  #count(): Promise<void> {
    this.#counted ??= this.#countNow().catch((e: unknown) => {
      this.#counted = undefined
      throw e
    })
    return this.#counted
  }

  async #countNow(): Promise<void> {
    const { queue, clock } = this.#options
    this.#countedAt = clock.monotonic()
    const waiting = new Map((await queue.waiting()).map(({ name, uid }) => [uid, name]))
    for (const uid of this.#entries.keys()) if (!waiting.has(uid) && !this.#inWork.has(uid)) this.#entries.delete(uid)
    for (const [uid, name] of waiting)
      // For entries older than this process, the time is unknown.
      if (!this.#entries.has(uid)) this.#entries.set(uid, { name, at: Number.NEGATIVE_INFINITY })
  }

  /** Not stored: it contains its own issue time. */
  #nonce(): string {
    const at = Math.floor(this.#options.clock.monotonic()).toString(36)
    return `${at}.${this.#mark(at)}`
  }

  #mark(at: string): string {
    return createHmac('sha256', this.#secret).update(at).digest('hex')
  }

  #isNonce(nonce: string): boolean {
    const [at = '', mark = ''] = nonce.split('.')
    const own = Buffer.from(this.#mark(at))
    const given = Buffer.from(mark)
    if (own.length !== given.length || !timingSafeEqual(own, given)) return false
    return this.#options.clock.monotonic() - Number.parseInt(at, 36) <= NONCE_GOOD_MS
  }
}

interface Entry {
  readonly name: string
  readonly at: number
}

interface Asked {
  /** PEM. */
  readonly request: string
  readonly proof: DoorProof
}

function askedIn(body: string): Asked | undefined {
  if (body.length > REQUEST_BYTES) return undefined
  try {
    const value: unknown = JSON.parse(body)
    if (!isObject(value) || typeof value['request'] !== 'string') return undefined
    const proof = parseProof(value['proof'])
    return proof === undefined ? undefined : { request: value['request'], proof }
  } catch {
    return undefined
  }
}

const hasNo = (conditions: readonly { readonly type: string }[]): boolean =>
  conditions.some((c) => c.type === 'Denied' || c.type === 'Failed')

/** The approver checks this too; here it keeps requests out of the queue that can never be approved. */
function subjectProblem(
  machine: Machine,
  { commonNames, organizations, extras, key }: RequestContent,
): string | undefined {
  const { name = '', uid = '' } = machine.metadata
  const wanted = [AGENTS_GROUP, agentNodeGroup(nodeNameOf(machine)), machineUidGroup(uid), agentKeyGroup(key)].sort()
  const asked = [...organizations].sort()
  const isExact =
    commonNames.length === 1 &&
    commonNames[0] === agentUser(name) &&
    extras.length === 0 &&
    asked.length === wanted.length &&
    asked.every((o, i) => o === wanted[i])
  return isExact ? undefined : `the request must be for ${agentUser(name)} with the groups ${wanted.join(', ')}`
}
