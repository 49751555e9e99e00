// What users ask the console for, computed with their own rights: topics, explanations, reports, plans, the past, and what their writes came to.
// Knows no connections: the server checks who asks, and sends.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { Steps } from '#lib/steps.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { OtherCluster } from '#explain/with-hub.ts'
import type { KubeClient } from '#kube/client.ts'
import type { LoadAnswer } from '../load.ts'
import type { Session, TopicFamily } from '../protocol.ts'
import type { ReportAnswer } from '../report.ts'
import type { Access } from './access.ts'
import { answerApproving } from './approving-answer.ts'
import type { ClusterState } from './cluster-cache.ts'
import type { Fleet } from './fleet.ts'
import type { FleetRepository } from './fleet-repository.ts'
import { KeptAnswers } from './kept-answers.ts'
import { loadAnswer } from './load-answer.ts'
import { readNode } from './node-topic.ts'
import type { OwnCounts } from './own-counts.ts'
import { lifeAnswer, type PastAsked, pastAnswer, recordedAnswer } from './past-answer.ts'
import { planAnswer } from './plan-answer.ts'
import { predictedAnswer, preparedAnswer, pushAnswer } from './prepare-answer.ts'
import { searched, whyAnswer } from './questions.ts'
import type { Recorded } from './recorded.ts'
import { reportAnswer } from './report-answer.ts'
import { type Body, bodyOf, Refused } from './request.ts'
import { mayReadTopic, readAs } from './rights.ts'
import type { SignedIn } from './sessions.ts'
import { SharedBodies } from './shared-bodies.ts'
import { TimeShares } from './time-shares.ts'
import { inView } from './topic-log.ts'
import { mayRead, parseTopic, type TopicName } from './topics.ts'
import { isHub } from './views/clusters.ts'
import { awayPrograms } from './views/programs.ts'
import { liftHold, writeApproval, writeHold } from './writes.ts'

export interface AnswersOptions {
  readonly fleet: Fleet
  readonly counts: OwnCounts
  readonly clock: Clock
  readonly version: string
  /** The fleet's repository, if this machine has it and may run its code in the cage. */
  readonly repository?: FleetRepository | undefined
  /** The recorded history of these clusters, if this machine has one. */
  readonly recorded?: Recorded | undefined
}

/** Who asks, and for what. */
export interface Asker {
  readonly who: SignedIn
  readonly access: Access
  readonly url: URL
  /** The browser unpacks gzip. */
  readonly mayPack: boolean
  /** The connection of the request was closed. */
  readonly hasLeft: () => boolean
}

type Fields = Readonly<Record<string, unknown>>

export class Answers {
  readonly #options: AnswersOptions
  readonly #bodies: SharedBodies
  readonly #shares = new TimeShares(systemClock)
  readonly #reports = new KeptAnswers<ReportAnswer>()
  readonly #loads = new KeptAnswers<LoadAnswer>()

  constructor(options: AnswersOptions) {
    this.#options = options
    this.#bodies = new SharedBodies(options.clock)
  }

  async read(person: Asker, path: string): Promise<Body> {
    const { url, access } = person
    if (path === '/api/session') return asBody(person, this.#session(person))
    if (path === '/api/why') return this.#why(person)
    if (path === '/api/approving') return this.#approving(person)
    if (path === '/api/past') {
      const topic = url.searchParams.get('topic') ?? ''
      return this.#inSteps(person, pastAnswer(this.#pastAsked(person), topicNamed(topic, access), topic))
    }
    if (path === '/api/life') return this.#inSteps(person, lifeAnswer(this.#pastAsked(person)))
    if (path === '/api/recorded') return this.#computed(person, () => recordedAnswer(this.#pastAsked(person)))
    if (path === '/api/plan') return this.#plan(person)
    if (path === '/api/report') return this.#report(person)
    if (path === '/api/load') return this.#load(person)
    if (path === '/api/search') {
      const query = url.searchParams.get('q') ?? ''
      return this.#computed(person, () => searched(query, this.#options.fleet.clusters, access.readable))
    }
    if (path.startsWith('/api/topic/')) return this.#topic(person, path.slice('/api/topic/'.length))
    throw new Refused(404, 'NotFound', `there is no ${path}`)
  }

  /** `body` reads the request's fields: of a known path only. */
  async write(person: Asker, path: string, body: () => Promise<Fields>): Promise<object> {
    const { access, who } = person
    const { fleet, repository, clock } = this.#options
    const { name } = who.person
    if (path === '/api/prepare') {
      const hubs = fleet.clusters.filter((cluster) => mayReadTopic(access.readable, cluster.name, 'commits'))
      const ownClient = (cluster: string): KubeClient => clientOf(person, cluster)
      return preparedAnswer({ body: await body(), person: name, repository, hubs, clientOf: ownClient })
    }
    if (path === '/api/predict')
      return predictedAnswer({ body: await body(), person: name, repository, clients: clientsOf(person) })
    if (path === '/api/push') return pushAnswer({ body: await body(), person: name, repository })
    const write = WRITES.get(path)
    if (write === undefined) throw new Refused(404, 'NotFound', `there is no ${path}`)
    const fields = await body()
    const cluster = typeof fields['cluster'] === 'string' ? fields['cluster'] : ''
    return write({ client: clientOf(person, cluster), cluster, body: fields, now: clock.now() })
  }

  #session({ who, access }: Asker): Session {
    return {
      version: this.#options.version,
      person: who.person,
      clusters: access.clusters,
      digest: access.digest,
      canPrepare: this.#options.repository !== undefined,
      isRecorded: this.#options.recorded !== undefined,
      ...defined({ expires: who.expiresAt }),
    }
  }

  async #topic(person: Asker, topic: string): Promise<Body> {
    const { fleet, clock } = this.#options
    const { access, who, mayPack } = person
    const name = topicNamed(topic, access)
    if (name.family === 'node') {
      const client = who.clientOf(name.cluster)
      const cluster = this.#clusterFor(person, name.cluster, 'node')
      const node =
        client &&
        cluster &&
        (await readNode({ client, cluster, name: name.name, topic, revision: fleet.revision, now: clock.now() }))
      if (node === undefined) throw new Refused(404, 'NotFound', `node "${name.name}" not found`)
      return asBody(person, { ...node, revision: inView(node.revision, access.view) })
    }
    return this.#bodies.of(`${topic} ${access.view} ${mayPack}`, fleet.current(), async () => {
      const snapshot = fleet.snapshot(name, topic, access.readable)
      if (snapshot === undefined)
        throw new Refused(404, 'NotFound', `there is no topic ${topic}, or you may not read it`)
      return bodyOf(JSON.stringify({ ...snapshot, revision: inView(snapshot.revision, access.view) }), mayPack)
    })
  }

  #clusterFor({ access }: Asker, name: string, family: TopicFamily): ClusterState | undefined {
    const [whole, rights] = [this.#options.fleet.cluster(name), access.readable.get(name)]
    return whole && rights && readAs(whole, family, rights)
  }

  async #why(person: Asker): Promise<Body> {
    const { url, access } = person
    const given = (key: string): string => url.searchParams.get(key) ?? ''
    const cluster = given('cluster')
    const [state, rights] = [this.#options.fleet.cluster(cluster), access.readable.get(cluster)]
    const away = state === undefined || rights === undefined ? [] : awayPrograms({ state, ...rights })
    const answer = await whyAnswer({
      client: clientOf(person, cluster),
      cluster,
      kind: given('kind'),
      name: given('name'),
      namespace: url.searchParams.get('namespace') ?? undefined,
      now: this.#options.clock.now(),
      away: away.map(({ program, since }) => ({ program, since })),
      hubs: this.#hubsBeside(person, cluster),
    })
    return asBody(person, answer)
  }

  async #approving(person: Asker): Promise<Body> {
    const { searchParams: query } = person.url
    const name = query.get('cluster') ?? ''
    const cluster = this.#clusterFor(person, name, 'budgets')
    const answer = await answerApproving({
      client: clientOf(person, name),
      query,
      machine: (of) => cluster?.machine(of),
      now: this.#options.clock.now(),
    })
    return asBody(person, answer)
  }

  async #load(person: Asker): Promise<Body> {
    const { url, access, who } = person
    const { clock } = this.#options
    const name = url.searchParams.get('cluster') ?? ''
    const client = clientOf(person, name)
    const cluster = this.#clusterFor(person, name, 'machines')
    const machines = (url.searchParams.get('machines') ?? '').split(',').filter((text) => text !== '')
    if (cluster === undefined) throw new Refused(404, 'NotFound', `there is no cluster ${name}, or you may not read it`)
    const key = JSON.stringify([who.identity, access.digest, name, machines])
    const asked = { client, cluster, machines, now: clock.now() }
    return asBody(person, await this.#loads.of(key, clock.monotonic(), () => loadAnswer(asked)))
  }

  async #report(person: Asker): Promise<Body> {
    const { url, access, who } = person
    const { clock, counts, recorded } = this.#options
    const given = (key: string): string => url.searchParams.get(key) ?? ''
    const asked = { cluster: given('cluster'), kind: given('kind'), since: given('since') }
    const client = clientOf(person, asked.cluster)
    const key = JSON.stringify([who.identity, access.digest, asked])
    const answer = await this.#reports.of(key, clock.monotonic(), () =>
      reportAnswer({
        ...asked,
        client,
        now: clock.now(),
        hubs: this.#hubsBeside(person, asked.cluster),
        past: async (range) =>
          recorded === undefined
            ? undefined
            : this.#shares.inSteps(who, recorded.reported(access.readable, asked.cluster, range), nextTurn),
      }),
    )
    const seen = mayReadTopic(access.readable, asked.cluster, 'machines') ? counts.of(asked.cluster) : undefined
    return asBody(person, { ...answer, ...defined({ seen }) })
  }

  #hubsBeside({ access, who }: Asker, cluster: string): readonly OtherCluster[] {
    return [...access.readable.keys()].flatMap((context) => {
      const [state, client] = [this.#options.fleet.cluster(context), who.clientOf(context)]
      if (context === cluster || state === undefined || client === undefined || !isHub(state)) return []
      return [{ context, read: (question) => question(client) }]
    })
  }

  async #plan(person: Asker): Promise<Body> {
    const { url, access } = person
    const { fleet, repository } = this.#options
    const readable = fleet.clusters.filter(({ name }) => access.readable.has(name))
    const answer = await planAnswer({
      query: url.searchParams,
      hubs: readable.filter(({ name }) => mayReadTopic(access.readable, name, 'pipeline')),
      repository,
      clients: clientsOf(person),
    })
    return asBody(person, answer)
  }

  #pastAsked({ url, access }: Asker): PastAsked {
    const { fleet, clock, recorded } = this.#options
    return { fleet, recorded, readable: access.readable, query: url.searchParams, now: clock.now() }
  }

  /** Computed for this query only, so its time counts. */
  #computed(person: Asker, answer: () => object): Promise<Body> {
    return this.#shares.run(person.who, () => asBody(person, answer()))
  }

  /** The same, over a history of millions of rows. It ends when its connection does. */
  async #inSteps(person: Asker, steps: Steps<object>): Promise<Body> {
    const answer = await this.#shares.inSteps(person.who, steps, async () => {
      await nextTurn()
      if (person.hasLeft()) throw new Refused(400, 'Left', 'the connection was closed')
    })
    return this.#computed(person, () => answer)
  }
}

const WRITES = new Map([
  ['/api/hold', writeHold],
  ['/api/lift', liftHold],
  ['/api/approval', writeApproval],
])

const asBody = ({ mayPack }: Asker, answer: object): Promise<Body> => bodyOf(JSON.stringify(answer), mayPack)

/** Forbidden and missing topics get the same response. */
export function topicNamed(topic: string, { readable }: Access): TopicName {
  const name = parseTopic(topic)
  if (name === undefined || !mayRead(name, readable))
    throw new Refused(404, 'NotFound', `there is no topic ${topic}, or you may not read it`)
  return name
}

/** The user's own connection to a cluster with something that they may read. */
export function clientOf({ who, access }: Pick<Asker, 'who' | 'access'>, cluster: string): KubeClient {
  if (cluster === '') throw new Refused(400, 'BadCluster', 'name a cluster')
  const client = access.readable.has(cluster) ? who.clientOf(cluster) : undefined
  if (client === undefined) throw new Refused(404, 'NotFound', `there is no cluster ${cluster}, or you may not read it`)
  return client
}

/** To every cluster that the user may read. */
function clientsOf({ access, who }: Asker): ReadonlyMap<string, KubeClient> {
  return new Map(
    [...access.readable.keys()].flatMap((name) => {
      const client = who.clientOf(name)
      return client === undefined ? [] : [[name, client] as const]
    }),
  )
}
