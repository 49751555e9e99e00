// Decides whether a scraper may read the metrics: the API server identifies the token's user and authorizes it. Answers are cached for a minute by the token's
// hash. An unknown answer is never cached and never grants access.
import { createHash } from 'node:crypto'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'

export type Access = 'Allowed' | 'Unauthenticated' | 'Denied' | 'Unknown'

export interface Scraper {
  readonly username: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, unknown>>
}

/** A revoked token keeps working for this long. */
export const KEPT_MS = 60_000
/** Scrapers are few. Denied answers have their own cache, so made-up tokens only evict each other. */
const MOST_KEPT = 128
/** Further checks fail: a flood of tokens must not become a flood of reviews. */
const MOST_AT_ONCE = 8
const REVIEW_MS = 5_000
/** No server issues longer tokens. */
const MAX_TOKEN = 16 * 1024

/** What a scraper must be allowed to do, as SubjectAccessReview names it. */
export type ReadRight =
  | { readonly nonResourceAttributes: { readonly path: string; readonly verb: 'get' } }
  | {
      readonly resourceAttributes: {
        readonly resource: string
        readonly subresource: string
        readonly name: string
        readonly verb: 'get'
      }
    }

/** Of a program: what Kubernetes' own components ask for. */
const OF_A_PROGRAM: ReadRight = { nonResourceAttributes: { path: '/metrics', verb: 'get' } }

/** Of a node: what its kubelet asks for, so that a scraper of kubelets needs no further right. */
export const ofNode = (name: string): ReadRight => ({
  resourceAttributes: { resource: 'nodes', subresource: 'metrics', name, verb: 'get' },
})

export interface AccessOptions {
  readonly client: Pick<KubeClient, 'raw'>
  /** Left out: GET /metrics. */
  readonly right?: ReadRight
  readonly clock: Clock
  readonly log: Logger
}

export class MetricsAccess {
  readonly #options: AccessOptions
  readonly #allowed: Kept
  readonly #refused: Kept
  readonly #asking = new Map<string, Promise<Access>>()

  constructor(options: AccessOptions) {
    this.#options = options
    this.#allowed = new Kept(options.clock)
    this.#refused = new Kept(options.clock)
  }

  async ofToken(token: string): Promise<Access> {
    if (token.length > MAX_TOKEN) return 'Unauthenticated'
    return this.#kept(`token ${createHash('sha256').update(token).digest('base64')}`, async () => {
      const status = await this.#ask('/apis/authentication.k8s.io/v1/tokenreviews', 'TokenReview', { token })
      if (status['authenticated'] !== true) return 'Unauthenticated'
      const user = scraperIn(status['user'])
      return user === undefined ? 'Unauthenticated' : this.#may(user)
    })
  }

  /** For the user of a verified client certificate. */
  ofUser(user: Scraper): Promise<Access> {
    return this.#kept(`user ${JSON.stringify([user.username, user.groups])}`, () => this.#may(user))
  }

  async #may({ username: user, ...rest }: Scraper): Promise<Access> {
    const spec = { user, ...rest, ...(this.#options.right ?? OF_A_PROGRAM) }
    const status = await this.#ask('/apis/authorization.k8s.io/v1/subjectaccessreviews', 'SubjectAccessReview', spec)
    return status['allowed'] === true ? 'Allowed' : 'Denied'
  }

  async #kept(key: string, ask: () => Promise<Access>): Promise<Access> {
    const known = this.#allowed.get(key) ?? this.#refused.get(key)
    if (known !== undefined) return known
    const asking = this.#asking.get(key)
    if (asking !== undefined) return asking
    if (this.#asking.size >= MOST_AT_ONCE) return 'Unknown'
    const answer = this.#answered(key, ask).finally(() => this.#asking.delete(key))
    this.#asking.set(key, answer)
    return answer
  }

  async #answered(key: string, ask: () => Promise<Access>): Promise<Access> {
    try {
      const access = await ask()
      ;(access === 'Allowed' ? this.#allowed : this.#refused).set(key, access)
      return access
    } catch (e) {
      this.#options.log.warn('cannot ask who reads the metrics', { error: messageOf(e) })
      return 'Unknown'
    }
  }

  async #ask(path: string, kind: string, spec: object): Promise<Readonly<Record<string, unknown>>> {
    const apiVersion = path.split('/').slice(2, 4).join('/')
    const body = { apiVersion, kind, spec }
    const { status, text } = await this.#options.client.raw({ method: 'POST', path, body, timeoutMs: REVIEW_MS })
    const answer: unknown = status === 201 ? JSON.parse(text) : undefined
    if (isObject(answer) && isObject(answer['status'])) return answer['status']
    throw new Error(`the API server answered a ${kind} with ${status}`)
  }
}

function scraperIn(user: unknown): Scraper | undefined {
  if (!isObject(user) || typeof user['username'] !== 'string' || user['username'] === '') return undefined
  const { username, uid, groups, extra } = user
  const named = Array.isArray(groups) ? (groups as unknown[]).filter((g) => typeof g === 'string') : []
  return { username, groups: named, ...(typeof uid === 'string' && { uid }), ...(isObject(extra) && { extra }) }
}

class Kept {
  readonly #clock: Clock
  readonly #answers = new Map<string, { readonly access: Access; readonly until: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(key: string): Access | undefined {
    const found = this.#answers.get(key)
    return found !== undefined && this.#clock.monotonic() < found.until ? found.access : undefined
  }

  set(key: string, access: Access): void {
    this.#answers.delete(key)
    this.#answers.set(key, { access, until: this.#clock.monotonic() + KEPT_MS })
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > MOST_KEPT && oldest !== undefined) this.#answers.delete(oldest)
  }
}
