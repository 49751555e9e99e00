// Why a definition that is being deleted still exists: most often its objects have finalizers that no program removes.
import { listPages } from '#kube/list-all.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { objectKey } from '#api/schema/object-meta.ts'
import { someOf } from '#lib/some-of.ts'
import { ifServed, until, type InstallContext } from './context.ts'
import { storedType } from './definitions.ts'
import { definitionType } from './observe.ts'

const MOST_NAMED = 5

/** Reads one page; the sentence names only a few. */
export async function endOfDefinition({ client }: InstallContext, definition: KubeObject): Promise<string | undefined> {
  const type = storedType(definition)
  if (type === undefined) return undefined
  const first = await ifServed(() => listPages(client, type).next())
  const page: readonly KubeObject[] = first?.value ?? []
  const held = page.flatMap(({ metadata: { name = '', namespace, finalizers = [] } }) =>
    finalizers.length === 0
      ? []
      : [`${type.kind} ${namespace === undefined ? '' : `${namespace}/`}${name} (${finalizers.join(', ')})`],
  )
  return held.length === 0 ? undefined : `finalizers hold its objects: ${someOf(held, MOST_NAMED)}`
}

/** A definition applied while it is being deleted is lost with its objects. */
export const awaitDefinitionEnd = (context: InstallContext, definition: KubeObject): Promise<void> =>
  until(context, `customresourcedefinition ${definition.metadata.name} to be deleted`, async () => {
    const { client, signal } = context
    const now = await client.get(definitionType, objectKey(definition), signal === undefined ? {} : { signal })
    if (now?.metadata.deletionTimestamp === undefined) return { done: undefined }
    return { waitsFor: (await endOfDefinition(context, now)) ?? 'it is being deleted' }
  })
