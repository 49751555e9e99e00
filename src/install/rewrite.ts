// Stores all objects of a definition again in its storage version, then records that in status.storedVersions. Only after that may a version be removed.
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { listPages } from '#kube/list-all.ts'
import { inParallel } from '#lib/pool.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { objectKey } from '#api/schema/object-meta.ts'
import type { InstallContext } from './context.ts'
import { factsOf, type Rewrite } from './definitions.ts'
import { installErrors } from './install-errors.ts'
import { definitionType } from './observe.ts'

const PARALLEL = 8
/** Controllers write the same objects concurrently. */
const ATTEMPTS = 10

export async function rewriteStored(context: InstallContext, { definition, to }: Rewrite): Promise<void> {
  const { group, kind, plural, scope } = factsOf(definition)
  const type: ResourceType = { group, version: to, kind, plural, namespaced: scope === 'Namespaced' }
  let count = 0
  for await (const page of listPages(
    context.client,
    type,
    context.signal === undefined ? {} : { signal: context.signal },
  )) {
    await inParallel(page, PARALLEL, (object) => storeAgain(context, type, object))
    count += page.length
  }
  await shorten(context, definition, to)
  context.print(`${plural}.${group}: ${count} objects are stored in version ${to}`)
}

/** An update without changes makes the server write the storage version. A deleted object needs none. */
async function storeAgain({ client }: InstallContext, type: ResourceType, first: KubeObject): Promise<void> {
  let object: KubeObject | undefined = first
  for (let attempt = 0; attempt < ATTEMPTS && object !== undefined; attempt++) {
    const outcome = await updateExactly(client, type, object)
    if (outcome.kind === 'Applied' || outcome.kind === 'Stale') return
    if (outcome.kind !== 'Conflict' && outcome.kind !== 'Unknown') throw failed(object, outcome.error)
    object = await client.get(type, objectKey(first))
  }
  if (object !== undefined) throw failed(object, 'other programs write it all the time')
}

const failed = (object: KubeObject, error: unknown): KubeNodeError =>
  new KubeNodeError(installErrors.KN1420({ object: `${object.kind}/${object.metadata.name}`, why: messageOf(error) }))

async function shorten({ client }: InstallContext, { metadata }: KubeObject, to: string): Promise<void> {
  const name = metadata.name ?? ''
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const now = await client.get(definitionType, { name })
    if (now === undefined) return
    const status = isObject(now['status']) ? now['status'] : {}
    const object = { ...now, status: { ...status, storedVersions: [to] } }
    const outcome = await updateExactly(client, definitionType, object, { subresource: 'status' })
    if (outcome.kind === 'Applied' || outcome.kind === 'Stale') return
    if (outcome.kind !== 'Conflict' && outcome.kind !== 'Unknown') throw failed(now, outcome.error)
  }
}
