// What an API server serves, from its discovery pages.
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { KubeClient } from './client.ts'
import { ApiError, failure } from './errors.ts'

type Client = Pick<KubeClient, 'raw'>

/** Of one group and version. Core has some thirty, the largest groups of operators some two hundred. */
const MOST_RESOURCES = 1_000
/** As the API conventions have it. */
const LONGEST_NAME = 253

/** For one group and version, without subresources. Undefined if not served. */
export async function servedResources(
  client: Client,
  apiVersion: string,
  signal: AbortSignal | undefined,
): Promise<readonly ResourceType[] | undefined> {
  const body = await page(client, apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`, signal)
  if (body === undefined) return undefined
  const list: unknown = isObject(body) ? body['resources'] : undefined
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
  const found = (Array.isArray(list) ? (list as readonly unknown[]) : []).flatMap((r) =>
    isObject(r) && isName(r['name']) && isName(r['kind']) && !r['name'].includes('/')
      ? [{ group, version, kind: r['kind'], plural: r['name'], namespaced: r['namespaced'] === true }]
      : [],
  )
  return found.slice(0, MOST_RESOURCES)
}

const isName = (value: unknown): value is string => typeof value === 'string' && value.length <= LONGEST_NAME

/** The server's preferred `group/version`. Undefined if the group is not served. */
export async function preferredVersion(
  client: Client,
  group: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const body = await page(client, `/apis/${group}`, signal)
  const preferred = isObject(body) && isObject(body['preferredVersion']) ? body['preferredVersion'] : {}
  return typeof preferred['groupVersion'] === 'string' ? preferred['groupVersion'] : undefined
}

/** Only a 404 means it is not served: an aggregated API may be unavailable, and rights may be missing. */
async function page(client: Client, path: string, signal: AbortSignal | undefined): Promise<unknown> {
  const { status, text } = await client.raw({ method: 'GET', path, ...defined({ signal }) })
  if (status === 404) return undefined
  if (status !== 200) throw new ApiError(failure(status, text), { action: 'discover', target: path })
  return JSON.parse(text)
}
