// What the machines on a page use of their nodes: from the metrics API of their cluster, as the requesting user, one small read for each. Nothing is written for it.
import type { KubeClient } from '#kube/client.ts'
import { defined } from '#lib/defined.ts'
import { fieldAt, fieldsOf, objectIn } from '#lib/fields.ts'
import { quantityValue } from '#lib/quantity.ts'
import { nodeNameOf } from '#explain/attention/observed.ts'
import { type LoadAnswer, type MachineLoad, MOST_LOADS } from '../load.ts'
import type { ClusterState } from './cluster-cache.ts'
import { Refused } from './request.ts'
import type { Allocatable } from './watched-kinds.ts'

const METRICS_GROUP = 'metrics.k8s.io'
/** An API server answers other requests meanwhile. */
const AT_ONCE = 6
const READ_MS = 5_000

export interface LoadRequest {
  readonly client: Pick<KubeClient, 'raw'>
  /** As the user may read it. */
  readonly cluster: Pick<ClusterState, 'machine' | 'node'>
  readonly machines: readonly string[]
  readonly now: number
}

interface Wanted {
  readonly machine: string
  readonly node: string
  readonly has: Allocatable
}

type Read = MachineLoad | 'NotMeasured' | { readonly unknown: string }

export async function loadAnswer({ client, cluster, machines, now }: LoadRequest): Promise<LoadAnswer> {
  if (machines.length === 0 || machines.length > MOST_LOADS)
    throw new Refused(400, 'BadMachines', `name 1 to ${MOST_LOADS} machines`)
  // A machine without a node that the user may read has no share of anything.
  const wanted = [...new Set(machines)].flatMap((machine): readonly Wanted[] => {
    const row = cluster.machine(machine)
    const node = row && nodeNameOf(row)
    const has = node === undefined ? undefined : cluster.node(node)?.allocatable
    return node === undefined || has === undefined ? [] : [{ machine, node, has }]
  })
  const [first, ...others] = wanted
  if (first === undefined) return { at: now, loads: [], unknown: 'none of these machines has a node that you may read' }
  // A cluster that measures nothing is asked once.
  const found = [await readLoad(client, first)]
  while (others.length > 0 && whyUnknown(found) === undefined)
    found.push(...(await Promise.all(others.splice(0, AT_ONCE).map((each) => readLoad(client, each)))))
  const unknown = whyUnknown(found)
  return { at: now, loads: found.filter(isLoad), ...defined({ unknown }) }
}

const isLoad = (read: Read): read is MachineLoad => typeof read === 'object' && 'machine' in read

const whyUnknown = (found: readonly Read[]): string | undefined =>
  found.find((read) => typeof read === 'object' && 'unknown' in read)?.unknown

async function readLoad(client: LoadRequest['client'], { machine, node, has }: Wanted): Promise<Read> {
  const path = `/apis/${METRICS_GROUP}/v1beta1/nodes/${encodeURIComponent(node)}`
  const answer = await client.raw({ method: 'GET', path, timeoutMs: READ_MS }).catch(() => undefined)
  if (answer === undefined) return { unknown: 'the metrics API does not answer' }
  const { status, text } = answer
  const body = objectIn(text)
  if (status === 404)
    return isOfMetrics(body) ? 'NotMeasured' : { unknown: `the cluster does not serve ${METRICS_GROUP}` }
  if (status === 403) return { unknown: `you may not read nodes of ${METRICS_GROUP}` }
  if (status !== 200) return { unknown: 'the metrics API does not answer' }
  const usage = fieldsOf(body['usage'])
  const [cpu, memory] = [percent(usage['cpu'], has.cpu), percent(usage['memory'], has.memory)]
  return cpu === undefined || memory === undefined ? 'NotMeasured' : { machine, cpu, memory }
}

/** Where the group is not served, the API server says nothing about it. */
const isOfMetrics = (body: unknown): boolean => fieldAt(body, 'details', 'group') === METRICS_GROUP

function percent(quantity: unknown, of: number): number | undefined {
  const used = quantityValue(quantity)
  return used === undefined || of <= 0 ? undefined : Math.round((used / of) * 100)
}
