// GET /api/plan: what hubs recorded of a commit, and its plan if a repository is available.
import { KubeNodeError } from '#lib/errors.ts'
import { shellWord } from '#lib/shell-word.ts'
import type { KubeClient } from '#kube/client.ts'
import type { PlanAnswer, PlanRecord } from '../plan.ts'
import type { ClusterState } from './cluster-cache.ts'
import type { FleetRepository } from './fleet-repository.ts'
import { Refused } from './request.ts'
import { planRecords } from './views/plan-record.ts'

/** Git's names of commits and branches, also relative: `main~2`. Nothing that a command could take for an option. */
const REVISION = /^[A-Za-z0-9][A-Za-z0-9._/~^-]{0,252}$/

export interface PlanQuestion {
  readonly query: URLSearchParams
  /** Hubs whose Releases the user may read. */
  readonly hubs: readonly ClusterState[]
  readonly repository: FleetRepository | undefined
  /** The user's own clients. */
  readonly clients: ReadonlyMap<string, KubeClient>
}

export async function planAnswer({ query, hubs, repository, clients }: PlanQuestion): Promise<PlanAnswer> {
  const commit = revisionIn(query, 'commit')
  if (commit === undefined) throw new Refused(400, 'BadCommit', 'name a commit')
  const base = revisionIn(query, 'base')
  const asked = { commit, base }
  const made = await planOf(repository, asked, query.get('predict') === '1' ? clients : undefined)
  // Releases name a commit by its id; the repository resolves a branch or HEAD.
  const record = planRecords(hubs, made.certain.state === 'Made' ? made.certain.value.commit : commit)
  return { commit, record, ...made, commands: commandsOf(asked, record) }
}

function revisionIn(query: URLSearchParams, key: string): string | undefined {
  const text = query.get(key)
  if (text === null || text === '') return undefined
  if (!REVISION.test(text) || text.includes('..'))
    throw new Refused(400, 'BadCommit', `${key} is not a commit or branch`)
  return text
}

interface Asked {
  readonly commit: string
  readonly base: string | undefined
}

async function planOf(
  repository: FleetRepository | undefined,
  { commit, base }: Asked,
  clients: ReadonlyMap<string, KubeClient> | undefined,
): Promise<Pick<PlanAnswer, 'certain' | 'predicted'>> {
  const none = (why: string): Pick<PlanAnswer, 'certain' | 'predicted'> => ({
    certain: { state: 'Absent', why },
    predicted: clients === undefined ? { state: 'Unasked' } : { state: 'Absent', why },
  })
  if (repository === undefined)
    return none(
      'this console was started without a repository, and clusters keep no rendered commits; run the command below in a clone, or start kubenode console --repo DIR',
    )
  try {
    const { certain, predicted } = await repository.plan({ commit, base, clients })
    return { certain: { state: 'Made', value: certain }, predicted }
  } catch (e) {
    if (e instanceof KubeNodeError) return none(e.message)
    throw e
  }
}

function commandsOf({ commit, base }: Asked, record: readonly PlanRecord[]): readonly string[] {
  // A revision contains no character that is special to a shell.
  const range = `${base ?? `${commit}~1`}..${commit}`
  const [first] = record
  return [
    `kubenode plan ${range}`,
    `kubenode diff ${range}`,
    ...(first === undefined ? [] : [`kubenode trace ${commit} --context ${shellWord(first.object.cluster)}`]),
  ]
}
