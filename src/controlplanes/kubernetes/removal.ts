// Removes a control plane: API servers first, so that no client can write, then everything except a kept snapshot, with its volume and the keys that encrypt
// its Secrets.
import { SNAPSHOT_CLAIM } from '#api/constructs/control-plane/etcd-jobs.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { Clock } from '#lib/clock.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { ENCRYPTION_SECRET, readEncryptionKeys } from './encryption-keys.ts'
import { CLAIMS, removeExactly, removeObjects } from './plane-objects.ts'
import { emptied, planeNamespace, type Kept, type PlaneRecords } from './plane-record.ts'
import { NO_CREDENTIALS, settingsOf } from './plane-settings.ts'
import type { PlaneWork } from './plane-work.ts'
import type { ServedVersion } from './version-file.ts'

const KEPT_MS = 7 * 86_400_000
const MOST_NAMED = 5
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
  else {
    const latest = Math.max(clock.now(), await hubTime(tools))
    const over = { keptUntil: latest + KEPT_MS, oldestKey: await oldestKey(tools, kept) }
    await records.write(kept, emptied(kept.record, snapshot.name, over), signal)
  }
  work.forget(kept.record.id)
  await tidy(tools, signal)
}

async function oldestKey({ client }: RemovalTools, { record }: Kept): Promise<number | undefined> {
  const keys = await readEncryptionKeys(client, planeNamespace(record.id))
  return keys?.generations[0]?.number
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

/** Removes volumes of control planes deleted a week ago by both this clock and the hub's: a single wrong clock must not delete a cluster's last snapshot. */
async function tidy(tools: RemovalTools, signal?: AbortSignal): Promise<void> {
  const now = tools.clock.now()
  const over = (await tools.records.all(signal)).filter(
    (kept) => (kept.record.keptUntil ?? now) < now && !isEnding(kept),
  )
  if (over.length === 0) return
  const hub = await hubTime(tools)
  for (const kept of over) if ((kept.record.keptUntil ?? Infinity) < hub) await endNamespace(tools, kept)
}

/** The hub API server's time; the beginning of time if it does not report it. */
async function hubTime({ client }: RemovalTools): Promise<number> {
  const { headers } = await client.raw({ method: 'GET', path: '/version' })
  const at = Date.parse(headers['date'] ?? '')
  return Number.isNaN(at) ? -Infinity : at
}

const endNamespace = ({ client }: RemovalTools, { namespace }: Kept): Promise<void> =>
  removeExactly(client, namespaces, namespace)
