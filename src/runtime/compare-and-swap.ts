// Changes one object only from a state that was read: read, decide, write over exactly that version, a bounded number of times. After a lost reply it reads
// again, so `mutate` must recognize its own earlier change and answer `Keep`. A caller that holds the version it wrote last may skip the first read: if the
// server has a newer one, it rejects the write and the next attempt starts with a read.
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient, WriteOptions } from '#kube/client.ts'
import { isTooManyRequests } from '#kube/errors.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'
import { backoffDelay } from './backoff.ts'

export type Mutation<T> =
  | { readonly kind: 'Write'; readonly object: T }
  /** The object already has the wanted content. */
  | { readonly kind: 'Keep' }
  | { readonly kind: 'Refuse'; readonly reason: string }

export type Swap<T> =
  | { readonly kind: 'Swapped'; readonly object: T; readonly wrote: boolean }
  /** Another client won every time, or the connection failed. */
  | ({ readonly kind: 'Lost' } & Unwritten)
  /** `mutate`, the fence or the server refused. */
  | ({ readonly kind: 'Refused' } & Unwritten)

interface Unwritten {
  readonly reason: string
  /** The reply to a write was lost: the write may have taken effect, or still may. */
  readonly mayHaveApplied: boolean
}

export interface SwapOptions<T extends KubeObject = KubeObject> extends WriteOptions {
  readonly clock: Clock
  readonly random: Random
  /** Called right before each write, such as `leader.isLeader`. */
  readonly mayWrite?: () => boolean
  readonly attempts?: number
  /** The version that the first attempt may write over. Used for nothing else: success is reported only after reading the object back. */
  readonly held?: T | undefined
}

/** With one intended writer conflicts are rare. Eight attempts outlast a burst of holds and approvals and end within a second. */
const DEFAULT_ATTEMPTS = 8
const BETWEEN_TRIES = { baseMs: 5, capMs: 200 }

export async function compareAndSwap<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  key: ObjectKey,
  mutate: (current: T | undefined) => Mutation<T>,
  { clock, random, mayWrite = () => true, attempts = DEFAULT_ATTEMPTS, held, ...write }: SwapOptions<T>,
): Promise<Swap<T>> {
  let reason = 'no attempt was made'
  const first = mayWrite() ? await overHeld(client, type, held, mutate, write) : undefined
  if (first?.kind === 'Applied') return { kind: 'Swapped', object: first.object, wrote: true }
  let mayHaveApplied = first?.kind === 'Unknown'
  const refused = (why: string): Swap<T> => ({ kind: 'Refused', reason: why, mayHaveApplied })
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (attempt > 0) await clock.sleep(backoffDelay(BETWEEN_TRIES, attempt - 1, random), write.signal)
    const read = await outcomeOf(() => client.get(type, key, write.signal && { signal: write.signal }))
    if (isFinal(read)) return refused(read.error.message)
    if (read.kind !== 'Applied') {
      reason = read.error.message
      continue
    }
    const current = read.object
    const mutation = mutate(current)
    if (mutation.kind === 'Refuse') return refused(mutation.reason)
    if (mutation.kind === 'Keep' && current !== undefined) return { kind: 'Swapped', object: current, wrote: false }
    if (mutation.kind === 'Keep') return refused('the object does not exist')
    if (!mayWrite()) return refused('this process is no longer the leader')
    const outcome = await writeOver(client, type, current, mutation.object, write)
    if (outcome.kind === 'Applied') return { kind: 'Swapped', object: outcome.object, wrote: true }
    if (isFinal(outcome)) return refused(outcome.error.message)
    reason = outcome.error.message
    mayHaveApplied ||= outcome.kind === 'Unknown'
  }
  return { kind: 'Lost', reason, mayHaveApplied }
}

/** Undefined if there is no held version to write over. */
function overHeld<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  held: T | undefined,
  mutate: (current: T | undefined) => Mutation<T>,
  write: WriteOptions,
): Promise<WriteOutcome<T>> | undefined {
  if (held?.metadata.uid === undefined || held.metadata.resourceVersion === undefined) return undefined
  const mutation = mutate(held)
  return mutation.kind === 'Write' ? writeOver(client, type, held, mutation.object, write) : undefined
}

/** A busy server's denial is temporary; any other is final. */
const isFinal = (outcome: WriteOutcome<unknown>): outcome is Extract<WriteOutcome<unknown>, { kind: 'Denied' }> =>
  outcome.kind === 'Denied' && !isTooManyRequests(outcome.error)

/** Uid and version come from the object that was read, whatever `mutate` returned. */
function writeOver<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  current: T | undefined,
  wanted: T,
  write: WriteOptions,
): Promise<WriteOutcome<T>> {
  if (current === undefined) return outcomeOf(() => client.create(type, wanted, write))
  const { uid, resourceVersion } = current.metadata
  const metadata = { ...wanted.metadata, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  return outcomeOf(() => client.update(type, { ...wanted, metadata }, write))
}
