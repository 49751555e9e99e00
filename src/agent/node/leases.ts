// The heartbeat: a Lease renewed every few seconds. A healthy idle node sends nothing else.
import { microTimestamp, type Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { isAlreadyExists, isNotFound } from '#kube/errors.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { leaseType } from './types.ts'

export interface LeaseDeps {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly everyMs: number
}

export interface LeaseName {
  readonly namespace: string
  readonly name: string
  readonly holder: string
  /** UID of the holder's Machine. */
  readonly machineUid?: () => string | undefined
  /** Called before creating the Lease: does its Machine exist? Otherwise the Lease would never be deleted. */
  readonly isWanted?: () => Promise<boolean>
}

/** After this many missed renewals, other clients may report the holder as silent. */
const MISSED = 4

/** If a renewal comes later than this many periods after the previous one, at least one was missed. */
const LATE = 1.5

/** Whether a controller may have marked the holder silent since its last renewal. The mark on the Node stays until the agent writes the Node. */
export const wasMissed = (silentMs: number, everyMs: number): boolean => silentMs > everyMs * LATE

export interface KeptLease extends LeaseName {
  /** False while another program keeps it. */
  readonly isOurs?: () => boolean
  /** Called for each late renewal. */
  readonly onBack?: () => void
}

/** Renews all Leases in turn, over one connection that is never idle long enough to close. Runs until the signal aborts; never rejects. */
export async function keepLeases(deps: LeaseDeps, leases: readonly KeptLease[], signal: AbortSignal): Promise<void> {
  const { clock, random, everyMs } = deps
  const kept = leases.map((lease): Kept => ({
    lease,
    isFailing: false,
    lastRenewedAt: clock.monotonic(),
    shortFor: WHOLE_EACH,
  }))
  while (!signal.aborted) {
    for (const one of kept) await renewKept(deps, one, signal)
    await clock.sleep(random.jitter(everyMs), signal).catch(() => undefined)
  }
}

/** Between two full writes of a Lease, only the time is written: a third of the bytes that an idle node sends. */
export const WHOLE_EACH = 30

interface Kept {
  readonly lease: KeptLease
  isFailing: boolean
  lastRenewedAt: number
  /** Short writes since the last full one. */
  shortFor: number
}

async function renewKept(deps: LeaseDeps, kept: Kept, signal: AbortSignal): Promise<void> {
  const { clock, log, everyMs } = deps
  const { lease } = kept
  if (signal.aborted || lease.isOurs?.() === false) return
  try {
    const isShort = !kept.isFailing && kept.shortFor < WHOLE_EACH
    await renewLease(deps, lease, signal, isShort)
    kept.shortFor = isShort ? kept.shortFor + 1 : 0
    const silentMs = clock.monotonic() - kept.lastRenewedAt
    kept.lastRenewedAt = clock.monotonic()
    if (wasMissed(silentMs, everyMs)) lease.onBack?.()
    if (kept.isFailing) log.info('lease renewed again', { lease: lease.name })
    kept.isFailing = false
  } catch (error) {
    // Logged once: a day without the API server would otherwise fill the disk with log lines.
    if (!kept.isFailing && !signal.aborted) log.warn('cannot renew the lease', { lease: lease.name, error })
    kept.isFailing = true
  }
}

/** Creates the Lease if there is none. */
export async function renewLease(
  { client, clock, everyMs }: Pick<LeaseDeps, 'client' | 'clock' | 'everyMs'>,
  lease: LeaseName,
  signal?: AbortSignal,
  /** Writes only the time: the rest was written recently. */
  isShort = false,
): Promise<void> {
  const { namespace, name, holder } = lease
  const uid = lease.machineUid?.()
  const marked = uid !== undefined && { annotations: { [ANNOTATIONS.machineUid]: uid } }
  const renewTime = microTimestamp(clock.now())
  const options = {
    // The server takes the field manager from the user agent header: saves a fourteenth of the bytes that an idle node sends.
    ...(isShort ? {} : { fieldManager: FIELD_MANAGERS.agent }),
    timeoutMs: everyMs,
    ...defined({ signal }),
  }
  const spec = { holderIdentity: holder, leaseDurationSeconds: Math.ceil((everyMs * MISSED) / 1_000), renewTime }
  try {
    await client.patch(
      leaseType,
      { namespace, name },
      {
        type: 'merge',
        value: isShort ? { spec: { renewTime } } : { ...(marked && { metadata: marked }), spec },
      },
      options,
    )
  } catch (e) {
    if (!isNotFound(e) || (await lease.isWanted?.()) === false) throw e
    const object = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace, name, ...marked },
      spec,
    }
    await client
      .create(leaseType, object, { ...options, fieldManager: FIELD_MANAGERS.agent })
      .catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error
      })
  }
}
