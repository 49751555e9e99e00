// GET /api/approving: reads what an approval would allow and who gave one, with the rights of the user who is about to approve.
import { approval } from '#api/kinds/approval.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { type ReleasePipeline, releasePipeline } from '#api/kinds/release-pipeline.ts'
import { release } from '#api/kinds/release.ts'
import { ANY_APPROVER } from '#defender/approvals.ts'
import { type Asker, askersOfCommit, askersOfPermit, askersOfRelease } from '#explain/approvers.ts'
import type { Approved } from '#explain/approvers-asked.ts'
import type { KubeClient } from '#kube/client.ts'
import { currentPerson } from '#kube/current-person.ts'
import { isApiError } from '#kube/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { assertNever } from '#lib/errors.ts'
import { ANYONE } from '#sync/release/gates.ts'
import { targetsDigest } from '#sync/release/tracks.ts'
import type { ApprovingAnswer } from '../approving.ts'
import type { MachineRow } from './machine-row.ts'
import { type Approving, approvingAnswer } from './views/approving.ts'
import { readRequested } from './writes.ts'

export interface ApprovingQuestion {
  /** The user's own. */
  readonly client: KubeClient
  readonly query: URLSearchParams
  readonly machine: (name: string) => MachineRow | undefined
  readonly now: number
}

export async function answerApproving({ client, query, machine, now }: ApprovingQuestion): Promise<ApprovingAnswer> {
  const named = {
    kind: query.get('kind'),
    name: query.get('name'),
    namespace: query.get('namespace') ?? undefined,
  }
  const { object, request } = await readRequested(client, named, query.get('digest'))
  const isRelease = object.kind === 'Release'
  const { namespace = '' } = object.metadata
  const [approvals, releases, clusters, pipeline, person] = await Promise.all([
    // A hub keeps the approvals and releases of years: only those of this content and this track are read.
    ifAllowed(() => listAll(client, approval, { fieldSelector: `spec.digest=${request.digest}` })),
    object.kind === 'Release'
      ? ifAllowed(() => listAll(client, release, { namespace, fieldSelector: `spec.track=${object.spec.track}` }))
      : [],
    isRelease ? ifAllowed(() => listAll(client, cluster)) : [],
    object.kind === 'Release'
      ? ifAllowed(() => client.get(releasePipeline, { namespace, name: object.spec.pipeline }))
      : undefined,
    currentPerson(client),
  ])
  return approvingAnswer({
    object,
    request,
    approvals: approvals === 'Forbidden' ? undefined : approvals,
    askers: await askersOf(client, object, request.digest, pipeline),
    person,
    releases: releases === 'Forbidden' ? [] : releases,
    clusters: clusters === 'Forbidden' ? [] : clusters,
    pipeline: pipeline === 'Forbidden' ? undefined : pipeline,
    machine,
    now,
  })
}

async function ifAllowed<T>(read: () => Promise<T>): Promise<T | 'Forbidden'> {
  try {
    return await read()
  } catch (error) {
    if (!isApiError(error) || error.status !== 403) throw error
    return 'Forbidden'
  }
}

/** One approval is enough for them, by any user who may create one. */
const anyone = (name: string): Asker => ({ name, asks: { from: [ANYONE], count: 1 } })

async function askersOf(
  client: KubeClient,
  object: Approved,
  digest: string,
  pipeline: ReleasePipeline | 'Forbidden' | undefined,
): Promise<Approving['askers']> {
  switch (object.kind) {
    case 'Release':
      if (digest !== targetsDigest(object)) return [anyone('the prune guard')]
      return pipeline === 'Forbidden' ? 'you may not read the pipeline' : askersOfRelease(object, pipeline)
    case 'OperationPermit': {
      const policies = await ifAllowed(() => listAll(client, defenderPolicy))
      return policies === 'Forbidden' ? 'you may not read the policies' : permitAskers(object, policies)
    }
    case 'FleetSource':
      return digest === object.status?.refused?.digest ? askersOfCommit(object) : [anyone('the prune guard')]
    default:
      return assertNever(object)
  }
}

type Verdict = NonNullable<NonNullable<OperationPermit['status']>['gates']>[number]

const isForAnyone = ({ gate, verdict, limit }: Verdict): boolean =>
  gate === 'Approval' && verdict !== 'Granted' && limit?.endsWith(ANY_APPROVER) === true

/** A loss of data needs an approval besides those of the policies. */
export function permitAskers(
  permit: OperationPermit,
  policies: Parameters<typeof askersOfPermit>[1],
): readonly Asker[] {
  const { gates = [], verdicts = [] } = permit.status ?? {}
  const others = (all: readonly Verdict[]) => all.filter((v) => !isForAnyone(v))
  const ofPolicies = { ...permit, status: { ...permit.status, gates: others(gates), verdicts: others(verdicts) } }
  return [
    ...askersOfPermit(ofPolicies, policies),
    ...([...gates, ...verdicts].some(isForAnyone) ? [anyone('the loss of data on the machine')] : []),
  ]
}
