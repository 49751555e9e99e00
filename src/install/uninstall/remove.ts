// Deletes objects and waits until they no longer exist. Retries refused deletions: servers enforce deleted webhooks and policies a moment longer.
import { answerOf } from '#kube/errors.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { inParallel } from '#lib/pool.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'
import { keyOfRef, refText, type ObjectRef } from '#delivery/object-ref.ts'
import { endOfNamespace } from '../namespace-end.ts'
import { ifServed, until, type InstallContext, type PollResult } from '../context.ts'

const PARALLEL = 8

export async function removeRef(context: InstallContext, ref: ObjectRef): Promise<void> {
  const { types, signal } = context
  // A kind that is not served has no objects.
  const type = await types.ofGroup(ref.group, ref.kind, signal)
  if (type !== undefined) await remove(context, type, keyOfRef(ref), refText(ref))
}

export const removeRefs = (context: InstallContext, refs: readonly ObjectRef[]): Promise<void> =>
  inParallel(refs, PARALLEL, (ref) => removeRef(context, ref))

/** Undefined if the server does not report it. */
type End = (found: KubeObject) => Promise<string | undefined>

export async function remove(
  context: InstallContext,
  type: ResourceType,
  key: ObjectKey,
  text: string,
  endOf?: End,
): Promise<void> {
  const { client } = context
  let uid: string | undefined
  let isAsked = false
  /** Also undefined if another run has created one with this name since. */
  const read = async (): Promise<KubeObject | undefined> => {
    const found = await ifServed(() => client.get(type, key))
    uid ??= found?.metadata.uid
    return found?.metadata.uid === uid ? found : undefined
  }
  await until(context, `${text} to be deleted`, async (): Promise<PollResult<void>> => {
    if (!isAsked) {
      if ((await read()) === undefined) return { done: undefined }
      const options = { propagationPolicy: 'Background', ...(uid !== undefined && { preconditions: { uid } }) } as const
      const outcome = await outcomeOf(() => client.delete(type, key, options))
      if (outcome.kind === 'Stale') return { done: undefined }
      if (outcome.kind !== 'Applied') return { waitsFor: answerOf(outcome.error) }
      if (outcome.object === 'Gone') return { done: undefined }
      isAsked = true
    }
    // The response alone is not enough: a namespace has its finalizers in its spec.
    const found = await read()
    if (found === undefined) return { done: undefined }
    const finalizers = found.metadata.finalizers ?? []
    const held =
      finalizers.length === 0 ? (endOfNamespace(found) ?? 'it is being deleted') : `finalizers ${finalizers.join(', ')}`
    return { waitsFor: (await endOf?.(found)) ?? held }
  })
}
