// Snapshots and restores of the etcd of one control plane, as Jobs. Each call reads where they are and takes the next step, so that a host that was killed continues.
import { controlPlaneObjects } from '#api/constructs/control-plane/control-plane.ts'
import { dataClaim } from '#api/constructs/control-plane/etcd.ts'
import {
  emptyDataClaim,
  OPENED,
  restoreJob,
  SNAPSHOT_CLAIM,
  snapshotClaim,
  snapshotJob,
} from '#api/constructs/control-plane/etcd-jobs.ts'
import type { ControlPlaneSettings } from '#api/constructs/control-plane/settings.ts'
import { isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import { quantityValue } from '#lib/quantity.ts'
import { madeOf } from '../credentials/prints.ts'
import type { KubeObject } from '#schema/object.ts'
import { etcdMinor } from '../upgrade/preflight.ts'
import { memberPods, readyMembers } from './etcd-members.ts'
import { listAt, numberAt, recordAt } from './fields-of.ts'
import { troubleOfPod } from './part-trouble.ts'
import { applyAll, CLAIMS, JOBS, limitsOf, PODS, type Place } from './plane-objects.ts'

/** Of the restore that a volume was made for. */
const RESTORE = 'kubenode.io/restore'
/** A status has room for a few lines. */
const MOST_WORDS_CHARS = 200
/** etcd sets revisions ahead from this version. */
const BUMPS_FROM = 306

type JobState =
  | { readonly is: 'Running' }
  | { readonly is: 'Done'; readonly job: KubeObject }
  | { readonly is: 'Failed'; readonly why: string }

async function jobState({ client, namespace }: Place, name: string): Promise<JobState | undefined> {
  const job = await client.get(JOBS, { namespace, name })
  if (job === undefined || job.metadata.deletionTimestamp !== undefined) return undefined
  const conditions = listAt(recordAt(job, 'status'), 'conditions').filter((c) => c['status'] === 'True')
  if (conditions.some((c) => c['type'] === 'Complete')) return { is: 'Done', job }
  const failed = conditions.find((c) => c['type'] === 'Failed')
  return failed === undefined ? { is: 'Running' } : { is: 'Failed', why: String(failed['message'] ?? failed['reason']) }
}

const removeJob = async ({ client, namespace }: Place, name: string): Promise<void> => {
  await client.delete(JOBS, { namespace, name }, { propagationPolicy: 'Background' })
}

const nameFor = (kind: string, what: unknown): string => `${kind}-${madeOf(what).slice(0, 12)}`

/** Of the log of a container that ended. */
export type ReadLog = (pod: { readonly namespace: string; readonly name: string }, container: string) => Promise<string>

export interface Opened {
  readonly objects: number
  readonly bytes: number
  readonly revision: number
}

export type Looked<T> =
  | { readonly is: 'Done'; readonly value: T }
  | { readonly is: 'Waits'; readonly why: string }
  /** The Job is removed: the next look begins a new one. */
  | { readonly is: 'Failed'; readonly why: string }

/** Takes the snapshot, puts it back into an empty folder, and reads it. */
export async function lookAtSnapshot(
  place: Place,
  settings: ControlPlaneSettings,
  { name, slot }: { readonly name: string; readonly slot: number },
  readLog: ReadLog,
): Promise<Looked<Opened>> {
  const job = nameFor('snapshot', [name, slot])
  const state = await jobState(place, job)
  if (state === undefined) {
    const [member] = readyMembers(await memberPods(place, settings))
    if (member === undefined) return { is: 'Waits', why: 'no member of etcd is ready to give a snapshot' }
    // Applied once: a person may have made it larger since.
    if ((await snapshotVolume(place)) === undefined) await applyAll(place, [plain(snapshotClaim(settings))])
    await applyAll(place, [plain(snapshotJob(settings, job, { slot, member }))])
    return { is: 'Waits', why: `Job ${job} takes the snapshot` }
  }
  if (state.is === 'Running')
    return { is: 'Waits', why: `Job ${job} takes the snapshot${await troubleOfJob(place, job)}` }
  if (state.is === 'Failed') {
    const why = `Job ${job} failed: ${state.why}${await lastWordsOf(place, job)}`
    await removeJob(place, job)
    return { is: 'Failed', why }
  }
  const opened = openedIn(await logOf(place, job, readLog))
  await removeJob(place, job)
  return opened === undefined
    ? { is: 'Failed', why: `Job ${job} did not report what is in the snapshot` }
    : { is: 'Done', value: opened }
}

const snapshotVolume = ({ client, namespace }: Place): Promise<KubeObject | undefined> =>
  client.get(CLAIMS, { namespace, name: SNAPSHOT_CLAIM })

/** Of the volume with the snapshots; what the claim asks for as long as it does not tell what it got. */
export async function snapshotRoom(place: Place): Promise<number> {
  const claim = await snapshotVolume(place)
  const asked = recordAt(recordAt(recordAt(claim, 'spec'), 'resources'), 'requests')['storage']
  return quantityValue(recordAt(recordAt(claim, 'status'), 'capacity')['storage'] ?? asked) ?? 0
}

/** Of a snapshot that is given up: nothing writes its file any more once this answers with nothing. */
export async function endSnapshot(
  place: Place,
  taking: { readonly name: string; readonly slot: number } | undefined,
): Promise<string | undefined> {
  if (taking === undefined) return undefined
  const job = nameFor('snapshot', [taking.name, taking.slot])
  await removeJob(place, job)
  const { items } = await place.client.list(PODS, { namespace: place.namespace, labelSelector: `job-name=${job}` })
  const isRunning = items.some((pod) => !['Succeeded', 'Failed'].includes(String(recordAt(pod, 'status')['phase'])))
  return isRunning ? `Job ${job} of ${taking.name} ends first` : undefined
}

/** Its pod may wait for a volume or a node for ever. */
async function troubleOfJob(place: Place, job: string): Promise<string> {
  const { items } = await place.client.list(PODS, { namespace: place.namespace, labelSelector: `job-name=${job}` })
  const [pod] = items
  const trouble = pod && troubleOfPod(pod, (await limitsOf(place)).claims)
  return trouble === undefined ? '' : `: ${trouble.text}`
}

/** The end of the log of a container that failed: the only one who knows that its volume is full. */
async function lastWordsOf({ client, namespace }: Place, job: string): Promise<string> {
  const { items } = await client.list(PODS, { namespace, labelSelector: `job-name=${job}` })
  for (const pod of items) {
    const status = recordAt(pod, 'status')
    for (const container of [...listAt(status, 'initContainerStatuses'), ...listAt(status, 'containerStatuses')]) {
      const { exitCode, message } = recordAt(recordAt(container, 'state'), 'terminated')
      if (typeof exitCode === 'number' && exitCode !== 0 && typeof message === 'string')
        return `; ${String(container['name'])}: ${printableLine(message.trim()).slice(-MOST_WORDS_CHARS)}`
    }
  }
  return ''
}

async function logOf({ client, namespace }: Place, job: string, readLog: ReadLog): Promise<string> {
  const { items } = await client.list(PODS, { namespace, labelSelector: `job-name=${job}` })
  const done = items.find((pod) => recordAt(pod, 'status')['phase'] === 'Succeeded')
  return done === undefined ? '' : readLog({ namespace, name: done.metadata.name ?? '' }, OPENED)
}

/** {"hash":…,"revision":…,"totalKey":…,"totalSize":…} */
function openedIn(log: string): Opened | undefined {
  for (const line of log.trim().split('\n').toReversed())
    try {
      const found: unknown = JSON.parse(line)
      if (!isObject(found) || typeof found['totalKey'] !== 'number') continue
      return {
        objects: found['totalKey'],
        bytes: numberAt(found, 'totalSize'),
        revision: numberAt(found, 'revision'),
      }
    } catch {
      // A line of another kind.
    }
  return undefined
}

/** With nothing of the control plane running: each member gets an empty volume and the snapshot in it. */
export async function lookAtRestore(
  place: Place,
  settings: ControlPlaneSettings,
  { slot, token }: { readonly slot: number; readonly token: string },
): Promise<Looked<undefined>> {
  const jobs: string[] = []
  for (let member = 0; member < settings.etcd.members; member++) {
    const job = nameFor('restore', [token, member])
    jobs.push(job)
    const state = await jobState(place, job)
    if (state?.is === 'Done') continue
    if (state?.is === 'Running')
      return { is: 'Waits', why: `Job ${job} restores member ${member}${await troubleOfJob(place, job)}` }
    if (state?.is === 'Failed') {
      // What it left in the volume is in the way of the next one.
      await removeClaim(place, dataClaim(member))
      await removeJob(place, job)
      return { is: 'Failed', why: `Job ${job} failed: ${state.why}` }
    }
    const waits = await emptyVolume(place, settings, member, token)
    if (waits !== undefined) return { is: 'Waits', why: waits }
    const bumpsRevision = (etcdMinor(settings.parts.etcd.version) ?? 0) >= BUMPS_FROM
    await applyAll(place, [plain(restoreJob(settings, job, { slot, member, bumpsRevision }))])
    return { is: 'Waits', why: `Job ${job} restores member ${member}` }
  }
  for (const job of jobs) await removeJob(place, job)
  return { is: 'Done', value: undefined }
}

const removeClaim = async ({ client, namespace }: Place, name: string): Promise<void> => {
  await client.delete(CLAIMS, { namespace, name })
}

async function emptyVolume(
  place: Place,
  settings: ControlPlaneSettings,
  member: number,
  token: string,
): Promise<string | undefined> {
  const name = dataClaim(member)
  const claim = await place.client.get(CLAIMS, { namespace: place.namespace, name })
  if (claim === undefined) {
    const fresh = plain(emptyDataClaim(settings, member))
    await applyAll(place, [{ ...fresh, metadata: { ...fresh.metadata, annotations: { [RESTORE]: token } } }])
    return undefined
  }
  if (claim.metadata.deletionTimestamp === undefined && claim.metadata.annotations?.[RESTORE] === token)
    return undefined
  if (claim.metadata.deletionTimestamp === undefined) await removeClaim(place, name)
  return `the volume claim ${name} is being replaced`
}

/** As an API server reads it. */
const plain = (manifest: object): KubeObject => JSON.parse(JSON.stringify(manifest)) as KubeObject

/** Without the namespace, which the record keeps. */
export const objectsIn = (settings: ControlPlaneSettings): readonly KubeObject[] =>
  controlPlaneObjects(settings).filter((o) => o.kind !== 'Namespace')
