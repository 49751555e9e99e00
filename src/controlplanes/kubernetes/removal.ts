// Removes a control plane: API servers first, so that no client writes any more, then everything else but the snapshot that is kept for a while, with its volume
// and the keys that its Secrets are encrypted with.
import { SNAPSHOT_CLAIM } from '#api/constructs/control-plane/etcd-jobs.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { Clock } from '#lib/clock.ts'
import type { ResourceType } from '#schema/resource.ts'
import { ENCRYPTION_KEY } from '../credentials/recipe.ts'
import { credentialSecretName } from '../credentials/secrets.ts'
import { CLAIMS, removeObjects } from './plane-objects.ts'
import { emptied, planeNamespace, type Kept, type PlaneRecords } from './plane-record.ts'
import { NO_CREDENTIALS, settingsOf } from './plane-settings.ts'
import type { PlaneWork } from './plane-work.ts'
import type { ServedVersion } from './version-file.ts'

const KEPT_MS = 7 * 86_400_000
const MOST_NAMED = 5
const ENCRYPTION_SECRET = credentialSecretName(ENCRYPTION_KEY)
const namespaces = coreKind('Namespace')

interface RemovalTools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly versions: () => readonly ServedVersion[]
  readonly records: PlaneRecords
  readonly work: PlaneWork
}

export const isEnding = ({ namespace }: Kept): boolean => namespace.metadata.deletionTimestamp !== undefined

export async function removePlane(
  tools: RemovalTools,
  kept: Kept,
  keep: string | undefined,
  signal?: AbortSignal,
): Promise<void> {
  const { clock, records, versions, work } = tools
  const place = work.place(kept, signal)
  const settings = settingsOf(kept.record, versions(), NO_CREDENTIALS)
  if (settings !== undefined) await work.until('its pods end', signal, () => work.isDown(place, settings))
  // Without the keys the Secrets in it could not be opened.
  const isKept = ({ kind }: ResourceType, name: string): boolean =>
    keep !== undefined &&
    (kind === CLAIMS.kind ? name === SNAPSHOT_CLAIM : kind === 'Secret' && name === ENCRYPTION_SECRET)
  let left: readonly string[] = []
  await work.until(
    () => `to be removed: ${left.slice(0, MOST_NAMED).join(', ')}`,
    signal,
    async () => {
      left = await removeObjects(place, isKept)
      return left.length === 0
    },
  )
  const snapshot = kept.record.snapshots.find((s) => s.name === keep)
  if (snapshot === undefined) await removeNamespace(tools, kept, signal)
  else await records.write(kept, emptied(kept.record, snapshot.name, clock.now() + KEPT_MS), signal)
  work.forget(kept.record.id)
  await tidy(tools, signal)
}

async function removeNamespace(tools: RemovalTools, kept: Kept, signal?: AbortSignal): Promise<void> {
  const name = planeNamespace(kept.record.id)
  const { uid } = kept.namespace.metadata
  await endNamespace(tools, kept)
  let seen = ''
  await tools.work.until(
    () => `namespace ${name} to end: ${seen}`,
    signal,
    async () => {
      const left = await tools.client.get(namespaces, { name })
      seen = JSON.stringify(left?.['status'] ?? null)
      return left === undefined || left.metadata.uid !== uid
    },
  )
}

/** Volumes of control planes that were deleted a week ago. */
async function tidy(tools: RemovalTools, signal?: AbortSignal): Promise<void> {
  const now = tools.clock.now()
  for (const kept of await tools.records.all(signal))
    if ((kept.record.keptUntil ?? now) < now && !isEnding(kept)) await endNamespace(tools, kept)
}

async function endNamespace({ client }: RemovalTools, { record, namespace }: Kept): Promise<void> {
  const { uid } = namespace.metadata
  const options = uid === undefined ? {} : { preconditions: { uid } }
  await client.delete(namespaces, { name: planeNamespace(record.id) }, options)
}
