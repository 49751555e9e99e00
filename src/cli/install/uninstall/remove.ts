// Deletes objects and waits until they no longer exist. Refused deletions are retried: servers apply deleted webhooks and policies for a moment longer.
import { messageOf } from '#lib/errors.ts'
import { isApiError } from '#kube/errors.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { inParallel } from '#lib/pool.ts'
import type { ObjectKey, ResourceType } from '#schema/resource.ts'
import { refText, type ObjectRef } from '#delivery/object-ref.ts'
import { endOfNamespace } from '../namespace-end.ts'
import { ifServed, until, type InstallContext, type Look } from '../context.ts'

const PARALLEL = 8

export const keyOfRef = ({ namespace, name }: ObjectRef): ObjectKey => ({
  name,
  ...(namespace !== '' && { namespace }),
})

export async function removeRef(context: InstallContext, ref: ObjectRef): Promise<void> {
  const type = await typeOf(context, ref)
  if (type !== undefined) await remove(context, type, keyOfRef(ref), refText(ref))
}

export const removeRefs = (context: InstallContext, refs: readonly ObjectRef[]): Promise<void> =>
  inParallel(refs, PARALLEL, (ref) => removeRef(context, ref))

/** A kind that is not served has no objects. */
const typeOf = ({ types, signal }: InstallContext, { group, kind }: ObjectRef): Promise<ResourceType | undefined> =>
  group === '' ? types.of('v1', kind, signal).catch(() => undefined) : types.ofGroup(group, kind, signal)

export async function remove(context: InstallContext, type: ResourceType, key: ObjectKey, text: string): Promise<void> {
  const { client } = context
  let isAsked = false
  await until(context, `${text} to be deleted`, async (): Promise<Look<void>> => {
    if (!isAsked) {
      const outcome = await outcomeOf(() => client.delete(type, key, { propagationPolicy: 'Background' }))
      if (outcome.kind === 'Stale') return { done: undefined }
      if (outcome.kind !== 'Applied')
        return { waitsFor: isApiError(outcome.error) ? outcome.error.serverMessage : messageOf(outcome.error) }
      if (outcome.object === 'Gone') return { done: undefined }
      isAsked = true
    }
    // The answer alone does not tell: a namespace has its finalizers in its spec.
    const found = await ifServed(() => client.get(type, key))
    if (found === undefined) return { done: undefined }
    const finalizers = found.metadata.finalizers ?? []
    return {
      waitsFor:
        finalizers.length === 0
          ? (endOfNamespace(found) ?? 'it is being deleted')
          : `finalizers ${finalizers.join(', ')}`,
    }
  })
}
