// Reads `bootc status` of a host: the deployments that it runs, has staged, and can go back to. Pure. An answer in any other form is refused.
import { isObject } from '#lib/json.ts'

export const BOOTC = '/usr/bin/bootc'
export const OSTREE_PROGRAM = '/usr/bin/ostree'
/** Made by `ostree admin lock-finalization` and by a newer bootc, removed with the lock. */
export const LOCK_FILE = '/run/ostree/staged-deployment-locked'
export const REBOOT_REQUEST = '/run/reboot-required'

/** A deployment: one image on the disk, beside others. */
export interface Deployment {
  /** As OSTree names it: the commit and how often it was deployed. */
  readonly id: string
  /** Of the image that it was made from. */
  readonly digest: string
}

export interface BootcStatus {
  readonly booted: Deployment
  /** Becomes the default when the machine shuts down. */
  readonly staged: Deployment | undefined
  readonly rollback: Deployment | undefined
  /** The rollback deployment is the default, not what runs. */
  readonly isRollbackNext: boolean
}

export type BootcReading = BootcStatus | { readonly unknown: string }

/** A handful of deployments; more than this is no answer of bootc. */
export const MAX_STATUS_BYTES = 256 * 2 ** 10
/** As tools of images shorten it, so that two of them fit into a message. */
export const shortDigest = (digest: string): string => digest.slice(0, 'sha256:'.length + 12)

const DIGEST = /^sha256:[0-9a-f]{64}$/
const CHECKSUM = /^[0-9a-f]{64}$/
const MAX_SERIAL = 1_000_000

const unknown = (why: string): { readonly unknown: string } => ({ unknown: why })
const isAbsent = (v: unknown): v is undefined | null => v === undefined || v === null

export function parseBootcStatus(text: string | undefined): BootcReading {
  if (text === undefined) return unknown('bootc status does not answer')
  const host = parsed(text)
  if (host === undefined || host['apiVersion'] !== 'org.containers.bootc/v1' || host['kind'] !== 'BootcHost')
    return unknown('the answer of bootc status is not a BootcHost of org.containers.bootc/v1')
  const { status } = host
  if (!isObject(status) || status['type'] !== 'bootcHost')
    return unknown('according to bootc, this host was not booted from an image')
  if (!isAbsent(status['usrOverlay']))
    return unknown('its /usr was made writable (bootc usr-overlay): restart it first')
  const { rollbackQueued } = status
  if (typeof rollbackQueued !== 'boolean') return unknown('bootc status lacks what boots next')
  const all = (['booted', 'staged', 'rollback'] as const).map((slot) => deploymentOf(slot, status[slot]))
  const bad = all.find((d) => typeof d === 'string')
  if (typeof bad === 'string') return unknown(bad)
  const [booted, staged, rollback] = all as readonly (Deployment | undefined)[]
  if (booted === undefined) return unknown('bootc status lacks what runs')
  if (rollbackQueued && rollback === undefined) return unknown('bootc status lacks what boots next')
  return { booted, staged, rollback, isRollbackNext: rollbackQueued }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Why it is not known, as text. */
function deploymentOf(slot: string, entry: unknown): Deployment | string | undefined {
  if (isAbsent(entry)) return undefined
  if (!isObject(entry)) return `bootc status is not readable: ${slot}`
  if (entry['incompatible'] !== false)
    return `the ${slot} deployment has local changes (rpm-ostree), which bootc cannot carry over`
  const { ostree, image, composefs } = entry
  if (!isAbsent(composefs) || !isObject(ostree))
    return `the ${slot} deployment is not one of OSTree: other storage (composefs, unified kernel images) is not known`
  const { checksum, deploySerial: serial } = ostree
  const digest = isObject(image) ? image['imageDigest'] : undefined
  if (typeof checksum !== 'string' || !CHECKSUM.test(checksum) || !isSerial(serial))
    return `bootc status is not readable: ${slot}.ostree`
  if (typeof digest !== 'string' || !DIGEST.test(digest)) return `the ${slot} deployment was not made from an image`
  return { id: `${checksum}.${serial}`, digest }
}

const isSerial = (v: unknown): v is number => Number.isSafeInteger(v) && Number(v) >= 0 && Number(v) < MAX_SERIAL
