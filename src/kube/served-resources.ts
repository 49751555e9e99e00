// What an API server says that it serves of one group and version: its page of discovery.
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { KubeClient } from './client.ts'

/** Without subresources. Undefined: there is no such page, or it cannot be read now. */
export async function servedResources(
  client: Pick<KubeClient, 'raw'>,
  apiVersion: string,
  signal: AbortSignal | undefined,
): Promise<readonly ResourceType[] | undefined> {
  const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const { status, text } = await client.raw({ method: 'GET', path, ...defined({ signal }) })
  if (status !== 200) return undefined
  const body: unknown = JSON.parse(text)
  const list: unknown = isObject(body) ? body['resources'] : undefined
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
  return (Array.isArray(list) ? (list as readonly unknown[]) : []).flatMap((r) =>
    isObject(r) && typeof r['name'] === 'string' && typeof r['kind'] === 'string' && !r['name'].includes('/')
      ? [{ group, version, kind: r['kind'], plural: r['name'], namespaced: r['namespaced'] === true }]
      : [],
  )
}
