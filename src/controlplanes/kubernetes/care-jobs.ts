// The Jobs that maintain a control plane's etcd: their progress, the reason of a failure, and their containers' output.
import { printableLine } from '#lib/printable.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { plainObject } from '#api/schema/object-meta.ts'
import { listAt, recordAt } from './fields-of.ts'
import { troubleOfPod } from './part-trouble.ts'
import { applyAll, JOBS, limitsOf, PODS, type Place } from './plane-objects.ts'

/** A status has room for a few lines. */
const MAX_LOG_CHARS = 200

/** Reads a container's log: all of it, or its last lines. */
export type ReadLog = (
  pod: { readonly namespace: string; readonly name: string },
  container: string,
  lastLines?: number,
) => Promise<string>

export type JobReading<T> =
  | { readonly is: 'Done'; readonly value: T }
  | { readonly is: 'Waits'; readonly why: string }
  /** The Job is removed: the next pass starts a new one. */
  | { readonly is: 'Failed'; readonly why: string }

type JobState =
  | { readonly is: 'Running' }
  | { readonly is: 'Done'; readonly job: KubeObject }
  | { readonly is: 'Failed'; readonly why: string }

export async function jobState({ client, namespace }: Place, name: string): Promise<JobState | undefined> {
  const job = await client.get(JOBS, { namespace, name })
  if (job === undefined || job.metadata.deletionTimestamp !== undefined) return undefined
  const conditions = listAt(recordAt(job, 'status'), 'conditions').filter((c) => c['status'] === 'True')
  if (conditions.some((c) => c['type'] === 'Complete')) return { is: 'Done', job }
  const failed = conditions.find((c) => c['type'] === 'Failed')
  return failed === undefined ? { is: 'Running' } : { is: 'Failed', why: String(failed['message'] ?? failed['reason']) }
}

export const removeJob = async ({ client, namespace }: Place, name: string): Promise<void> => {
  const job = await client.get(JOBS, { namespace, name })
  if (job === undefined) return
  const { uid = '' } = job.metadata
  await client.delete(JOBS, { namespace, name }, { preconditions: { uid }, propagationPolicy: 'Background' })
}

export const nameFor = (kind: string, what: unknown): string => `${kind}-${sha256OfJson(what).slice(0, 12)}`

/** Its pod may wait forever for a volume or a node. */
export async function troubleOfJob(place: Place, job: string): Promise<string> {
  const { items } = await place.client.list(PODS, { namespace: place.namespace, labelSelector: `job-name=${job}` })
  const [pod] = items
  const trouble = pod && troubleOfPod(pod, (await limitsOf(place)).claims)
  return trouble === undefined ? '' : `: ${trouble.text}`
}

/** The end of a failed container's log: only the container knows that its volume is full. */
export async function lastLineOf({ client, namespace }: Place, job: string): Promise<string> {
  const { items } = await client.list(PODS, { namespace, labelSelector: `job-name=${job}` })
  for (const pod of items) {
    const status = recordAt(pod, 'status')
    for (const container of [...listAt(status, 'initContainerStatuses'), ...listAt(status, 'containerStatuses')]) {
      const { exitCode, message } = recordAt(recordAt(container, 'state'), 'terminated')
      if (typeof exitCode === 'number' && exitCode !== 0 && typeof message === 'string')
        return `; ${String(container['name'])}: ${printableLine(message.trim()).slice(-MAX_LOG_CHARS)}`
    }
  }
  return ''
}

/** Empty if no pod succeeded. */
export async function logOf(
  { client, namespace }: Place,
  job: string,
  container: string,
  readLog: ReadLog,
): Promise<string> {
  const { items } = await client.list(PODS, { namespace, labelSelector: `job-name=${job}` })
  const done = items.find((pod) => recordAt(pod, 'status')['phase'] === 'Succeeded')
  return done === undefined ? '' : readLog({ namespace, name: done.metadata.name ?? '' }, container)
}

/** The last line that `accept` takes; undefined if there is none. */
export function lineIn<T>(log: string, accept: (found: unknown) => T | undefined): T | undefined {
  for (const line of log.trim().split('\n').toReversed())
    try {
      const found = accept(JSON.parse(line))
      if (found !== undefined) return found
    } catch {
      // A line of another kind.
    }
  return undefined
}

/** Starts a Job and returns its progress. A finished one stays until its result is recorded. */
export async function observeJob(place: Place, name: string, manifest: object): Promise<JobReading<undefined>> {
  const state = await jobState(place, name)
  if (state === undefined) await applyAll(place, [plainObject(manifest)])
  if (state === undefined || state.is === 'Running')
    return { is: 'Waits', why: `Job ${name}${state === undefined ? '' : await troubleOfJob(place, name)}` }
  if (state.is === 'Failed')
    return { is: 'Failed', why: `Job ${name} failed: ${state.why}${await lastLineOf(place, name)}` }
  return { is: 'Done', value: undefined }
}
