// What a user may read and write in each cluster: checked at its API server as that user, cached for a minute.
import { approval } from '#api/kinds/approval.ts'
import { HOLD_TARGETS, operationalHold } from '#api/kinds/operational-hold.ts'
import { API_GROUP } from '#api/kind.ts'
import { programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { type AccessQuestion, isAllowed } from '#kube/access-review.ts'
import { isApiError } from '#kube/errors.ts'
import { PROGRAMS } from '#explain/programs.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ClusterAccess } from '../protocol.ts'
import type { ClusterCache } from './cluster-cache.ts'
import type { Fleet } from './fleet.ts'
import type { SignedIn } from './sessions.ts'
import { HEARTBEAT_MS } from './stream.ts'
import { noAnswer, readAs, type Readable, type Rights, topicsOf, troubleFor } from './rights.ts'
import { isHub } from './views/clusters.ts'
import { LISTED_KINDS, WATCHED, type WatchedKind } from './watched-kinds.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** How long an API server's answers are cached. */
export const KEPT_MS = 60_000
/** Retry interval for an API server that does not answer. */
const UNKNOWN_KEPT_MS = 5_000
const VIEW_CHARACTERS = 24
const REVIEW_MS = 5_000
/**
 * How long a revoked right may last: the answer is cached (behind a proxy, its user data too), a stream notices with its next heartbeat, and the check takes
 * time.
 */
export const RIGHT_ENDS_WITHIN_MS = KEPT_MS + HEARTBEAT_MS + REVIEW_MS

export interface Access {
  readonly readable: Readable
  readonly clusters: readonly ClusterAccess[]
  /** Equal for equal rights and equal cluster states. */
  readonly digest: string
  /** Equal for equal read rights. Part of each revision, because users with other rights have another state. */
  readonly view: string
}

interface OfCluster {
  /** Whether the API server has answered. If not, these are the rights of its last answer, or none. */
  readonly isKnown: boolean
  /** When it answered, in milliseconds since 1970. */
  readonly answeredAt?: number
  readonly kinds: ReadonlySet<WatchedKind>
  readonly canHold: boolean
  readonly canLift: boolean
  readonly canApprove: boolean
}

interface Kept {
  /** The user's identity at that time: a new connection to a cluster may have other rights. */
  readonly identity: string
  until: number
  answer: Promise<OfCluster>
  /** The pending check. */
  asked: Promise<OfCluster>
  /** The API server's last answer, if it still counts. */
  last: OfCluster | undefined
  isAnswered: boolean
}

export class AccessBook {
  readonly #fleet: Fleet
  readonly #clock: Clock
  readonly #log: Logger
  /** By cluster name, one answer per user and cluster; garbage collected with the user. */
  readonly #kept = new WeakMap<SignedIn, Map<string, Kept>>()

  constructor(fleet: Fleet, clock: Clock, log: Logger) {
    this.#fleet = fleet
    this.#clock = clock
    this.#log = log
  }

  /** `Waits`: also waits for an API server that did not answer before. `Serves`: continues meanwhile with the previous rights at most. */
  async of(person: SignedIn, patience: 'Waits' | 'Serves' = 'Serves'): Promise<Access> {
    const pairs = await Promise.all(
      this.#fleet.clusters.map(async (cluster) => [cluster, await this.#ofCluster(person, cluster, patience)] as const),
    )
    const readable = new Map<string, Rights>()
    // With a link the console reads as the user, who may therefore read its errors.
    const isOwn = person.person.how === 'Link'
    const clusters = pairs.flatMap(([cluster, own]) => {
      if (own === 'SignedOut') return [signedOut(cluster)]
      const topics = topicsOf(own.kinds)
      // A cluster without readable topics is not drawn. Without an answer the rights are unknown, and the page shows that.
      if (topics.size === 0 && own.isKnown && (cluster.state === 'Connected' || !isOwn)) return []
      const seesTrouble = isOwn || topics.size > 0
      const rights = { topics, kinds: own.kinds, seesTrouble, ...(!own.isKnown && { isUnknown: true as const }) }
      readable.set(cluster.name, rights)
      return [accessOf(cluster, own, rights)]
    })
    const read = [...readable].map(([name, { isUnknown, seesTrouble, kinds }]) => [
      name,
      isUnknown === true,
      seesTrouble,
      ...kinds,
    ])
    const view = sha256Hex(JSON.stringify(read)).slice(0, VIEW_CHARACTERS)
    const digest = sha256Hex(JSON.stringify([clusters, read])).slice(0, VIEW_CHARACTERS)
    return { readable, clusters, digest, view }
  }

  async #ofCluster(
    person: SignedIn,
    cluster: ClusterCache,
    patience: 'Waits' | 'Serves',
  ): Promise<OfCluster | 'SignedOut'> {
    const client = person.clientOf(cluster.name)
    if (client === undefined) return 'SignedOut'
    const own = this.#kept.get(person) ?? new Map<string, Kept>()
    this.#kept.set(person, own)
    const before = own.get(cluster.name)
    const known = before?.identity === person.identity ? before : undefined
    const isCurrent = known !== undefined && this.#clock.monotonic() < known.until
    const kept = isCurrent ? known : this.#asked(person, cluster.name, client, known)
    own.set(cluster.name, kept)
    return patience === 'Waits' ? kept.asked : kept.answer
  }

  /** Without an answer nothing is allowed, and the check is repeated soon. */
  #asked(person: SignedIn, cluster: string, client: KubeClient, before: Kept | undefined): Kept {
    const asked = this.#ask(client).then(
      (answer) => {
        kept.last = answer
        return answer
      },
      (e: unknown) => {
        this.#log.debug('cannot ask for rights', { error: messageOf(e) })
        kept.isAnswered = false
        kept.until = this.#clock.monotonic() + UNKNOWN_KEPT_MS
        if (isApiError(e) && e.status === 401) person.refusedBy?.(cluster)
        if (!isLastShown(person, e)) kept.last = undefined
        return kept.last === undefined ? NOTHING : lastKnown(kept.last)
      },
    )
    const kept: Kept = {
      identity: person.identity,
      until: this.#clock.monotonic() + KEPT_MS,
      asked,
      // An API server that did not answer is checked in the background: views of other clusters do not need it.
      answer: before === undefined || before.isAnswered ? asked : before.answer,
      last: before?.last,
      isAnswered: true,
    }
    void asked.then(() => (kept.answer = asked))
    return kept
  }

  async #ask(client: KubeClient): Promise<OfCluster> {
    const ask = async (question: AccessQuestion): Promise<boolean> =>
      (await isAllowed(client, question, AbortSignal.timeout(REVIEW_MS))) === true
    const may = (verb: string, resource: string) => ask({ verb, group: API_GROUP, resource })
    const [kinds, seesPrograms, canHold, canLift, canApprove] = await Promise.all([
      Promise.all(LISTED_KINDS.map(async (k) => ((await may('list', WATCHED[k].type.plural)) ? [k] : []))),
      mayReadPrograms(ask),
      may('create', operationalHold.plural),
      may('delete', operationalHold.plural),
      may('create', approval.plural),
    ])
    return {
      isKnown: true,
      answeredAt: this.#clock.now(),
      kinds: new Set([...kinds.flat(), ...(seesPrograms ? (['programs'] as const) : [])]),
      canHold,
      canLift,
      canApprove,
    }
  }
}

/** All Leases of the namespace, or those of KubeNode's programs by name. */
async function mayReadPrograms(ask: (question: AccessQuestion) => Promise<boolean>): Promise<boolean> {
  const { group, plural } = WATCHED.programs.type
  const leases = { verb: 'get', group, resource: plural, namespace: SYSTEM_NAMESPACE }
  if (await ask(leases)) return true
  const each = await Promise.all(PROGRAMS.map((program) => ask({ ...leases, name: programLeaseName(program) })))
  return each.every(Boolean)
}

const signedOut = ({ name }: ClusterCache): ClusterAccess => ({
  name,
  isHub: false,
  state: 'SignedOut',
  message: 'you have not signed in to this cluster',
  topics: [],
  holds: [],
  canLift: false,
  canApprove: false,
})

/**
 * The link's user runs the console: it read everything with their own rights and may show it to them again. For other users a silent API server decides
 * nothing.
 */
const isLastShown = ({ person }: SignedIn, error: unknown): boolean =>
  person.how === 'Link' && !(isApiError(error) && (error.status === 401 || error.status === 403))

/** Writes are impossible there now. */
const lastKnown = ({ kinds, answeredAt }: OfCluster): OfCluster => ({
  ...NOTHING,
  kinds,
  ...defined({ answeredAt }),
})

const NOTHING: OfCluster = { isKnown: false, kinds: new Set(), canHold: false, canLift: false, canApprove: false }

const accessOf = (
  cluster: ClusterCache,
  { canHold, canLift, canApprove, isKnown, answeredAt }: OfCluster,
  rights: Rights,
): ClusterAccess => {
  const { topics } = rights
  const message =
    rights.isUnknown === true && cluster.state === 'Connected' ? noAnswer(topics) : troubleFor(cluster, rights)
  return {
    name: cluster.name,
    isHub: topics.size > 0 && isHub(readAs(cluster, 'clusters', rights)),
    state: rights.isUnknown === true && cluster.state === 'Connected' ? 'Unreachable' : cluster.state,
    ...defined({ message }),
    ...(!isKnown && answeredAt !== undefined && { answeredAt }),
    topics: [...topics].toSorted(),
    holds: canHold ? HOLD_TARGETS : [],
    canLift,
    canApprove,
  }
}
