// One node, read as the requesting user: its Machine, its Node, what runs on it and its repairs.
import { isGoodCondition } from '#explain/conditions.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { holdTargetsOfMachine } from '#permits/holds/reach.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { podsOn } from '#nodes/drain.ts'
import { type Node, nodeType, type Pod } from '#nodes/objects.ts'
import { isObject } from '#lib/json.ts'
import type { Condition, KubeObject } from '#api/schema/object.ts'
import type { NodeTopic } from '../protocol.ts'
import type { NodeRow } from '../node-topics.ts'
import type { ClusterState } from './cluster-cache.ts'
import { mayReadLogs } from './log-answer.ts'
import { at, given, holdNotes, waitOf } from './views/parts.ts'
import { nodeFacts, podRows } from './views/node-kubernetes.ts'
import { permitRows } from './views/node-permits.ts'
import { repairRow } from './views/repairs.ts'

/** A valid Kubernetes name; anything else never becomes part of a URL. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const MOST_REPAIRS = 20

export interface NodeRequest {
  readonly client: KubeClient
  readonly cluster: ClusterState
  readonly name: string
  readonly topic: string
  readonly revision: string
  readonly now: number
}

/** Undefined if neither a Machine nor a Node has this name. */
export async function readNode({
  client,
  cluster,
  name,
  topic,
  revision,
  now,
}: NodeRequest): Promise<NodeTopic | undefined> {
  if (!NAME.test(name)) return undefined
  const known = cluster.list('machines').find((m) => m.node === name)?.metadata.name
  const machine = await client.get<Machine>(machineType, { name: known ?? name })
  const nodeName = machine?.status?.nodeRef?.name ?? name
  const [node, jobs, pods, canReadLogs] = await Promise.all([
    unlessForbidden(client.get(nodeType, { name: nodeName }), undefined),
    unlessForbidden(listAll(client, remedyOperationJob, { fieldSelector: `spec.node.name=${nodeName}` }), []),
    unlessForbidden(podsOn(client, nodeName), undefined),
    machine === undefined ? undefined : mayReadLogs(client, machine.metadata.name ?? ''),
  ])
  if (machine === undefined && node === undefined) return undefined
  const rows: readonly NodeRow[] = [
    ...conditionRows('Machine', machine),
    ...conditionRows('Node', node),
    ...componentRows(machine),
    ...(node === undefined ? [] : podRows(pods)),
    ...permitRows(cluster.list('permits'), { machine: machine?.metadata.name, node: node?.metadata.name }),
    ...jobs
      .toSorted((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1))
      .slice(0, MOST_REPAIRS)
      .map((job): NodeRow => {
        const repair = repairRow(cluster.name, job, false)
        return { id: `Repair/${repair.id}`, row: 'Repair', repair }
      }),
  ]
  return { topic, revision, at: now, head: headOf(cluster, name, { machine, node, pods, canReadLogs, now }), rows }
}

/** A user who may not read Nodes or repairs still gets the rest. */
async function unlessForbidden<T>(read: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await read
  } catch (e) {
    if (isApiError(e) && e.status === 403) return otherwise
    throw e
  }
}

function headOf(
  cluster: ClusterState,
  name: string,
  {
    machine,
    node,
    pods,
    canReadLogs,
    now,
  }: {
    readonly machine: Machine | undefined
    readonly node: Node | undefined
    readonly pods: readonly Pod[] | undefined
    readonly canReadLogs: boolean | undefined
    readonly now: number
  },
): NodeTopic['head'] {
  const { spec, status } = machine ?? {}
  return {
    cluster: cluster.name,
    name,
    ...given('machine', machine?.metadata.name),
    ...given('node', node?.metadata.name),
    phase: status?.phase ?? (machine === undefined ? 'Unmanaged' : 'Pending'),
    zone: spec?.zone ?? '',
    rack: spec?.rack ?? '',
    pool: spec?.pool ?? '',
    class: spec?.class ?? '',
    ...given('os', status?.platform?.os),
    ...given('arch', status?.platform?.arch),
    ...given('kernel', status?.platform?.kernel),
    ...given('agent', status?.agent?.version),
    ...given('commit', status?.commit),
    ...at('certificateExpires', status?.agent?.certificate?.expires),
    ...(node !== undefined && { kubernetes: nodeFacts(node, pods) }),
    holds: machine === undefined ? [] : holdNotes(cluster.list('holds'), holdTargetsOfMachine(machine, { node }), now),
    ...waitOf(status?.waitingFor),
    // An answer that was late takes no log off the page: the API server refuses what is not allowed.
    ...(machine !== undefined && canReadLogs !== false && { canReadLogs: true }),
  }
}

function conditionRows(of: 'Machine' | 'Node', object: KubeObject | undefined): readonly NodeRow[] {
  const status = isObject(object?.['status']) ? object['status'] : {}
  const conditions = Array.isArray(status['conditions']) ? (status['conditions'] as readonly Condition[]) : []
  return conditions.map((c): NodeRow => ({
    id: `${of}/${c.type}`,
    row: 'Condition',
    of,
    type: c.type,
    status: c.status,
    isGood: isGoodCondition(of, c),
    ...at('since', c.lastTransitionTime),
    reason: c.reason,
    message: c.message,
  }))
}

const componentRows = (machine: Machine | undefined): readonly NodeRow[] =>
  (machine?.status?.components ?? []).map((c): NodeRow => ({
    id: `Component/${c.name}`,
    row: 'Component',
    name: c.name,
    ...given('version', c.version),
    ...given('desired', c.desired),
    state: c.state,
    ...at('since', c.since),
    ...given('set', machine?.spec.components?.find((d) => d.name === c.name)?.setRef),
    ...given('message', c.message),
    ...given('output', c.output),
  }))
