// POST /api/prepare, /api/predict and /api/push: a requested change as a commit, what it does, and its push. Validates the request; the repository does the work.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { KubeClient } from '#kube/client.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Part, PredictedPlan } from '../plan.ts'
import type { ChangeRequest, PreparedCommit, PushedCommit } from '../prepared.ts'
import type { ClusterState } from './cluster-cache.ts'
import type { FleetRepository } from './fleet-repository.ts'
import { Refused, wrong } from './request.ts'

type Body = Readonly<Record<string, unknown>>

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const COMPONENT = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/
/** Characters of a version, excluding any that could end a string. */
const VERSION = /^[A-Za-z0-9][A-Za-z0-9._+~-]{0,127}$/
const PERSON = /^[^<>\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,100}$/u
const EMAIL = /^[^<>\s\p{Cc}\p{Cf}]{1,200}$/u
const COMMIT = /^[0-9a-f]{40}$/
const MOST_REASON = 512
const MOST_NODES = 200
/** As many as a policy protects by name. */
const MOST_MACHINES = 64

function textIn(body: Body, key: string, pattern: RegExp): string {
  const value = body[key]
  if (typeof value !== 'string' || value.trim() === '') throw wrong(`${key} is missing`)
  if (!pattern.test(value)) throw wrong(`${key} is not valid`)
  return value
}

function changeIn(value: unknown): ChangeRequest {
  if (!isObject(value)) throw wrong('change is missing')
  const cluster = value['cluster']
  if (typeof cluster !== 'string') throw wrong('cluster is missing')
  if (value['kind'] === 'Version')
    return {
      kind: 'Version',
      cluster,
      set: textIn(value, 'set', NAME),
      component: textIn(value, 'component', COMPONENT),
      from: textIn(value, 'from', VERSION),
      to: textIn(value, 'to', VERSION),
    }
  const kind = value['kind']
  if (kind === 'Import') return { kind, cluster, nodes: namesIn(value['nodes'], 'nodes', MOST_NODES) }
  if (kind !== 'Protect' && kind !== 'Unprotect')
    throw wrong('change.kind must be Version, Import, Protect or Unprotect')
  return { kind, cluster, machines: namesIn(value['machines'], 'machines', MOST_MACHINES) }
}

function namesIn(value: unknown, what: string, most: number): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > most) throw wrong(`name 1 to ${most} ${what}`)
  const names = value.map((n: unknown) => {
    if (typeof n !== 'string' || !NAME.test(n)) throw wrong(`${what} has a name that no object can have`)
    return n
  })
  return [...new Set(names)]
}

export interface Preparing {
  readonly body: Body
  readonly person: string
  readonly repository: FleetRepository | undefined
  /** Hubs whose FleetSources the user may read. */
  readonly hubs: readonly ClusterState[]
  readonly clientOf: (cluster: string) => KubeClient
}

export async function preparedAnswer({ body, person, repository, hubs, clientOf }: Preparing): Promise<PreparedCommit> {
  const there = needed(repository)
  const change = changeIn(body['change'])
  const reason = textIn(body, 'reason', /^[^]*$/)
  if (reason.length > MOST_REASON) throw wrong(`reason is longer than ${MOST_REASON} characters`)
  const asked = {
    person,
    source: sourceIn(body['source'], hubs),
    change,
    author: textIn(body, 'author', PERSON),
    email: textIn(body, 'email', EMAIL),
    reason,
    client: clientOf(change.cluster),
  }
  return spoken(there.prepare(asked))
}

/** Its URL comes from the hub, never from the page. */
function sourceIn(value: unknown, hubs: readonly ClusterState[]): FleetSource {
  if (!isObject(value)) throw wrong('source is missing')
  const found = hubs
    .find((c) => c.name === value['cluster'])
    ?.list('sources')
    .find(({ metadata }) => metadata.name === value['name'] && metadata.namespace === value['namespace'])
  if (found === undefined) throw new Refused(404, 'NotFound', 'there is no such FleetSource, or you may not read it')
  return found
}

export async function predictedAnswer({
  body,
  person,
  repository,
  clients,
}: Pick<Preparing, 'body' | 'person' | 'repository'> & {
  readonly clients: ReadonlyMap<string, KubeClient>
}): Promise<Part<PredictedPlan>> {
  return spoken(needed(repository).predict({ id: textIn(body, 'id', COMMIT), person, clients }))
}

export async function pushAnswer({
  body,
  person,
  repository,
}: Pick<Preparing, 'body' | 'person' | 'repository'>): Promise<PushedCommit> {
  const there = needed(repository)
  const text = (key: string): string | undefined => (typeof body[key] === 'string' ? body[key] : undefined)
  const [username, token] = [text('username'), text('token')]
  return spoken(
    there.push(
      {
        id: textIn(body, 'id', COMMIT),
        branch: textIn(body, 'branch', /^[^]*$/),
        ...(username !== undefined && username !== '' && { username }),
        ...defined({ token }),
      },
      person,
    ),
  )
}

function needed(repository: FleetRepository | undefined): FleetRepository {
  if (repository === undefined)
    throw new Refused(
      404,
      'NotFound',
      'this console was started without a repository; start kubenode console --repo DIR',
    )
  return repository
}

/** Shows a repository's refusal to the user but does not log it: it may be about credentials. */
async function spoken<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (e) {
    if (e instanceof KubeNodeError) throw new Refused(422, e.code, e.message)
    throw e
  }
}
