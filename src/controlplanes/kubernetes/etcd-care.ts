// Snapshots and restores of one control plane's etcd, as Jobs. Each call reads their state and takes the next step, so a killed host continues.
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
import { quantityValue } from '#lib/quantity.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { plainObject } from '#api/schema/object-meta.ts'
import { orderOf } from '../upgrade/versions.ts'
import {
  type JobReading,
  jobState,
  lastLineOf,
  lineIn,
  logOf,
  nameFor,
  type ReadLog,
  removeJob,
  troubleOfJob,
} from './care-jobs.ts'
import { memberPods, readyMembers } from './etcd-members.ts'
import { numberAt, recordAt } from './fields-of.ts'
import { applyAll, CLAIMS, PODS, type Place, removeExactly } from './plane-objects.ts'

/** The restore that a volume was created for. */
const RESTORE = 'kubenode.io/restore'
/** The first etcd whose restore raises revisions. */
const BUMPS_FROM = '3.5.10'

export interface Opened {
  readonly objects: number
  readonly bytes: number
  readonly revision: number
}

/** Takes the snapshot, restores it into an empty folder, and reads it. */
export async function observeSnapshot(
  place: Place,
  settings: ControlPlaneSettings,
  { name, slot }: { readonly name: string; readonly slot: number },
  readLog: ReadLog,
): Promise<JobReading<Opened>> {
  const job = nameFor('snapshot', [name, slot])
  const state = await jobState(place, job)
  if (state === undefined) {
    const [member] = readyMembers(await memberPods(place, settings))
    if (member === undefined) return { is: 'Waits', why: 'no member of etcd is ready to give a snapshot' }
    // Applied once: a user may have enlarged it since.
    if ((await snapshotVolume(place)) === undefined) await applyAll(place, [plainObject(snapshotClaim(settings))])
    await applyAll(place, [plainObject(snapshotJob(settings, job, { slot, member }))])
    return { is: 'Waits', why: `Job ${job} takes the snapshot` }
  }
  if (state.is === 'Running')
    return { is: 'Waits', why: `Job ${job} takes the snapshot${await troubleOfJob(place, job)}` }
  if (state.is === 'Failed') {
    const why = `Job ${job} failed: ${state.why}${await lastLineOf(place, job)}`
    await removeJob(place, job)
    return { is: 'Failed', why }
  }
  const opened = openedIn(await logOf(place, job, OPENED, readLog))
  await removeJob(place, job)
  return opened === undefined
    ? { is: 'Failed', why: `Job ${job} did not report what is in the snapshot` }
    : { is: 'Done', value: opened }
}

const snapshotVolume = ({ client, namespace }: Place): Promise<KubeObject | undefined> =>
  client.get(CLAIMS, { namespace, name: SNAPSHOT_CLAIM })

/** The size of the snapshot volume, or the claim's request until the actual size is known. */
export async function snapshotRoom(place: Place): Promise<number> {
  const claim = await snapshotVolume(place)
  const asked = recordAt(recordAt(recordAt(claim, 'spec'), 'resources'), 'requests')['storage']
  return quantityValue(recordAt(recordAt(claim, 'status'), 'capacity')['storage'] ?? asked) ?? 0
}

/** Ends an abandoned snapshot: once this returns undefined, nothing writes its file. */
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

/** {"hash":…,"revision":…,"totalKey":…,"totalSize":…}. The store of a control plane that served has keys; a store without any is something else. */
const openedIn = (log: string): Opened | undefined =>
  lineIn(log, (found) =>
    numberAt(found, 'totalKey') > 0
      ? {
          objects: numberAt(found, 'totalKey'),
          bytes: numberAt(found, 'totalSize'),
          revision: numberAt(found, 'revision'),
        }
      : undefined,
  )

/** With the whole control plane stopped: each member gets an empty volume and the snapshot in it. */
export async function observeRestore(
  place: Place,
  settings: ControlPlaneSettings,
  { slot, token, restores }: { readonly slot: number; readonly token: string; readonly restores: number },
): Promise<JobReading<undefined>> {
  const jobs: string[] = []
  for (let member = 0; member < settings.etcd.members; member++) {
    const job = nameFor('restore', [token, member])
    jobs.push(job)
    const state = await jobState(place, job)
    if (state?.is === 'Done') continue
    if (state?.is === 'Running')
      return { is: 'Waits', why: `Job ${job} restores member ${member}${await troubleOfJob(place, job)}` }
    if (state?.is === 'Failed') {
      // Leftovers in the volume would block the next restore.
      await removeClaim(place, dataClaim(member))
      await removeJob(place, job)
      return { is: 'Failed', why: `Job ${job} failed: ${state.why}` }
    }
    const waits = await emptyVolume(place, settings, member, token)
    if (waits !== undefined) return { is: 'Waits', why: waits }
    const bumpsRevision = orderOf(settings.parts.etcd.version, BUMPS_FROM) >= 0
    await applyAll(place, [
      plainObject(restoreJob(settings, job, { slot, member, ...(bumpsRevision && { restores }) })),
    ])
    return { is: 'Waits', why: `Job ${job} restores member ${member}` }
  }
  for (const job of jobs) await removeJob(place, job)
  return { is: 'Done', value: undefined }
}

const removeClaim = async ({ client, namespace }: Place, name: string): Promise<void> => {
  const claim = await client.get(CLAIMS, { namespace, name })
  if (claim !== undefined) await removeExactly(client, CLAIMS, claim)
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
    const fresh = plainObject(emptyDataClaim(settings, member))
    await applyAll(place, [{ ...fresh, metadata: { ...fresh.metadata, annotations: { [RESTORE]: token } } }])
    return undefined
  }
  if (claim.metadata.deletionTimestamp === undefined && claim.metadata.annotations?.[RESTORE] === token)
    return undefined
  if (claim.metadata.deletionTimestamp === undefined) await removeClaim(place, name)
  return `the volume claim ${name} is being replaced`
}

/** Without the namespace, which holds the record. */
export const objectsIn = (settings: ControlPlaneSettings): readonly KubeObject[] =>
  controlPlaneObjects(settings).filter((o) => o.kind !== 'Namespace')
