// Reads what nodes are asked for and use: Pods page by page, each forgotten after it was counted, and the metrics API where the cluster serves it.
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { listPages } from '#kube/list-all.ts'
import { podType } from '#nodes/objects.ts'
import { type NodeMetrics, PodRequests, usageByNode } from './capacity.ts'

/** A cluster at the limit of Kubernetes. Beyond it the sums would be wrong, so there are none. */
const MOST_PODS = 150_000
const METRICS_PATH = '/apis/metrics.k8s.io/v1beta1/nodes'
const METRICS_MS = 10_000

/** Undefined: more pods than are counted. */
export async function readRequests(client: Pick<KubeClient, 'list'>): Promise<PodRequests | undefined> {
  const requests = new PodRequests()
  let count = 0
  for await (const page of listPages(client, podType)) {
    count += page.length
    if (count > MOST_PODS) return undefined
    for (const pod of page) requests.add(pod)
  }
  return requests
}

/** By node. Undefined: nothing in the cluster measures it. */
export async function readUse(
  client: Pick<KubeClient, 'raw'>,
): Promise<ReadonlyMap<string, ReadonlyMap<string, number>> | undefined> {
  const { status, text } = await client.raw({ method: 'GET', path: METRICS_PATH, timeoutMs: METRICS_MS })
  if (status === 404 || status === 403 || status === 503) return undefined
  const body: unknown = status === 200 ? JSON.parse(text) : undefined
  if (isObject(body) && Array.isArray(body['items'])) return usageByNode(body['items'] as readonly NodeMetrics[])
  throw new Error(`the API server answered ${METRICS_PATH} with ${status}`)
}
