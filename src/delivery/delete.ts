// Deletes exactly the object that was decided about, or nothing.
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf, type WriteOutcome } from '#kube/outcome.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { Deleted } from '#runtime/preconditions.ts'
import { keyOfRef } from './object-ref.ts'
import type { Delete } from './operation.ts'
import type { ResourceTypes } from './resource-types.ts'

interface Deleter {
  readonly client: KubeClient
  readonly types: Pick<ResourceTypes, 'ofGroup'>
  readonly signal?: AbortSignal
  /** For callers without a later pass to retry. A concurrent write or a lost reply costs one attempt. */
  readonly patience?: { readonly clock: Clock; readonly attempts: number; readonly pauseMs: number }
}

/** `Gone`: others deleted or replaced it, or its kind is no longer served. */
export async function deleteObject(
  { client, types, signal, patience }: Deleter,
  { ref, uid, resourceVersion }: Pick<Delete, 'ref' | 'uid' | 'resourceVersion'>,
): Promise<WriteOutcome<Deleted>> {
  const type = await types.ofGroup(ref.group, ref.kind, signal)
  if (type === undefined) return { kind: 'Applied', object: 'Gone' }
  const call = defined({ signal })
  const key = keyOfRef(ref)
  let preconditions = { uid, resourceVersion }
  for (let attempt = 1; ; attempt++) {
    const options = { preconditions, propagationPolicy: 'Background', ...call } as const
    const outcome = await outcomeOf(() => client.delete(type, key, options))
    if (isAnswer(outcome) || patience === undefined || attempt === patience.attempts) return outcome
    await patience.clock.sleep(patience.pauseMs, signal)
    const { metadata } = (await client.get(type, key, call)) ?? {}
    if (metadata?.uid !== uid) return { kind: 'Applied', object: 'Gone' }
    preconditions = { uid, resourceVersion: metadata.resourceVersion ?? '' }
  }
}

/** A busy server, a lost reply or a concurrent change leaves the deletion undecided. */
const isAnswer = (outcome: WriteOutcome<Deleted>): boolean =>
  outcome.kind === 'Applied' || (outcome.kind === 'Denied' && outcome.error.status !== 429)
