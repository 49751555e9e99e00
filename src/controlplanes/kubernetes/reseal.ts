// Reseals a store's Secrets after another key has started to seal. An empty patch makes an API server rewrite what an older key sealed, and nothing else; the
// Secrets' content is never read here.
import { programUser } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { NOTHING_READ, readFurther } from '#kube/page-size.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { inParallel } from '#lib/pool.ts'
import type { ReadingTools } from './readings.ts'
import type { StoreSize } from './step-upgrade.ts'

/** Throws if the list of Secrets is unknown. */
export type SealAgain = (of: Parameters<StoreSize>[0]) => Promise<Resealed>

interface Resealed {
  /** Secrets that the server did not write, as namespace/name. */
  readonly failed: readonly string[]
  /** Its response to the first of them. */
  readonly why?: string
}

interface Key {
  readonly namespace: string
  readonly name: string
}

const SECRETS = coreKind('Secret')
const LIFE_MS = 30 * 60_000
const PAGE = 500
const AT_ONCE = 8
const MOST_NAMED = 10
const NAMES_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

export const sealAgainWith =
  ({ connect }: Pick<ReadingTools, 'connect'>): SealAgain =>
  async ({ record, kubeconfig }) => {
    const text = await kubeconfig({ user: programUser('cluster'), groups: ['system:masters'], lifeMs: LIFE_MS })
    if (text === undefined) throw new Error('it has no kubeconfig')
    const client = connect(parseSafeKubeconfig(text, record.id).config)
    try {
      return await sealAgain(client)
    } finally {
      client.close?.()
    }
  }

export async function sealAgain(client: Pick<KubeClient, 'raw' | 'patch'>): Promise<Resealed> {
  const failed: string[] = []
  let why: string | undefined
  for await (const keys of pagesOfKeys(client))
    await inParallel(keys, AT_ONCE, async (key) => {
      const outcome = await outcomeOf(() => client.patch(SECRETS, key, { type: 'merge', value: {} }))
      // A deleted one needs no key, and one that another client wrote has the new key.
      if (outcome.kind === 'Applied' || outcome.kind === 'Stale' || outcome.kind === 'Conflict') return
      why ??= messageOf(outcome.error)
      if (failed.length < MOST_NAMED) failed.push(`${key.namespace}/${key.name}`)
    })
  return { failed, ...defined({ why }) }
}

async function* pagesOfKeys(client: Pick<KubeClient, 'raw'>): AsyncGenerator<readonly Key[]> {
  let next = ''
  let read = NOTHING_READ
  do {
    const path = `/api/v1/secrets?limit=${PAGE}${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`
    const answer = await client.raw({ method: 'GET', path, headers: { accept: NAMES_ONLY } })
    if (answer.status !== 200) throw new Error(`the names of its Secrets cannot be read: ${answer.status}`)
    const list: unknown = JSON.parse(answer.text)
    const { kind, items, metadata } = isObject(list) ? list : {}
    // An empty list has null items.
    if (kind !== 'PartialObjectMetadataList' || !(Array.isArray(items) || items === null))
      throw new Error('the names of its Secrets cannot be read: no list')
    const page: readonly unknown[] = items ?? []
    read = readFurther(read, page, SECRETS)
    yield page.map(itemKey)
    const token = isObject(metadata) ? metadata['continue'] : undefined
    next = typeof token === 'string' ? token : ''
  } while (next !== '')
}

function itemKey(item: unknown): Key {
  const { namespace, name } = isObject(item) && isObject(item['metadata']) ? item['metadata'] : {}
  if (typeof namespace !== 'string' || typeof name !== 'string') throw new Error('a Secret has no name')
  return { namespace, name }
}
