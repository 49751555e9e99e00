// POST /api/prepare and /api/push: a requested change as a commit, and its push. Validates the request; the repository does the work.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { KubeClient } from '#kube/client.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
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
const MOST_REASON = 512
const MOST_NODES = 200

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
  if (value['kind'] !== 'Import') throw wrong('change.kind must be Version or Import')
  const nodes = value['nodes']
  if (!Array.isArray(nodes) || nodes.length === 0 || nodes.length > MOST_NODES)
    throw wrong(`name 1 to ${MOST_NODES} nodes`)
  const names = nodes.map((n: unknown) => {
    if (typeof n !== 'string' || !NAME.test(n)) throw wrong('a node has a name that no Node can have')
    return n
  })
  return { kind: 'Import', cluster, nodes: names }
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
        id: textIn(body, 'id', /^[0-9a-f]{40}$/),
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
