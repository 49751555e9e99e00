// Refuses to start next to another host with the same identity. A copy of a disk with the same machine id looks like the host itself, but
// if the Lease is renewed while this host does not renew it, the other one is alive.
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { agentLeaseKey } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { agentErrors } from '../agent-errors.ts'
import { writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { type NodeDir, lastBootFile } from '../node-dir.ts'
import { leaseRenewal } from '../node/lease-renewal.ts'
import { systemUpMs } from '../up-time.ts'

export interface OtherHostDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Logger
  readonly client: Pick<KubeClient, 'patch'>
  readonly machine: string
  readonly bootId: string
  /** Between two renewals. */
  readonly everyMs: number
  readonly signal: AbortSignal
  /** Since the start of the system; default: what the kernel reports. */
  readonly upMs?: () => number | undefined
}

/** Renewals of an agent that is alive come at least this close together. */
const PERIODS = 3

/**
 * Asked once in each boot. A Lease last renewed before the boot was this host's own. One renewed since may be the other's, or the clock was set: then
 * it counts only if it is renewed again. An API server that does not answer proves nothing, and components must start without it.
 */
export async function refuseBesideOther(deps: OtherHostDeps): Promise<void> {
  const { files, dir, clock, log, client, machine, bootId, everyMs, signal, upMs = systemUpMs } = deps
  const known = (await files.read(lastBootFile(dir)))?.toString('utf8')
  if (known === bootId) return
  const record = () =>
    writeDurably(files, lastBootFile(dir), bootId).catch((error: unknown) =>
      log.warn('cannot record the boot', { error }),
    )
  // It just joined, or an agent without this check ran here. A copy has the record of the original.
  if (known === undefined) return record()
  const read = () => leaseRenewal(client, agentLeaseKey(machine))
  const before = await read()
  if (before.kind === 'Unknown') return
  if (before.kind === 'Renewed' && clock.now() - before.at < (upMs() ?? Number.POSITIVE_INFINITY)) {
    await clock.sleep(PERIODS * everyMs, signal)
    const after = await read()
    if (after.kind === 'Unknown') return
    if (after.kind === 'Renewed' && after.at !== before.at)
      throw new KubeNodeError(agentErrors.KN8005_alive({ machine }))
  }
  await record()
}
