// Decides when a machine reboots for a component: to a version with `disruption: Reboot` once its files are in place, and at most once back. Only under a permit
// that was read in this pass and names Reboot. A first install on a node that takes no pods yet has no permit, and so it reboots nothing: the version is in place
// from the next boot on, and what must not run before that belongs into the image of the host.
import type { Reason } from '#api/catalogue.ts'
import { formatDuration } from '#lib/duration.ts'
import type { PermitReading } from './permit-reading.ts'
import type { OpenSwitch, PendingReboot, Slot } from './record.ts'

/** The boot that the agent runs in. */
export interface Boot {
  readonly id: string
  /** How long the machine has run. */
  readonly upMs: number
  /** This agent has requested a reboot, for whatever reason, and ends. */
  readonly isRequested: boolean
  /** Why this machine cannot reboot; absent: it can. */
  readonly refusal?: string
}

export interface RebootPort {
  readonly boot: () => Promise<Boot>
  /** Requests the reboot and has the agent end in order. */
  readonly request: (by: Readonly<Record<string, string>>) => Promise<void>
  /** The component waits for it no longer. */
  readonly withdraw: (component: string) => Promise<void>
}

/** From the files in place until the machine goes down: a permit that is renewed late, an API server that is updated. How long it takes to boot does not count. */
export const REBOOT_WITHIN_MS = 600_000
export const NOT_FOR_REBOOT = 'not for operation Reboot'
export const CANNOT_REBOOT = 'this version needs a reboot, which this node cannot do'

/** Drift, and a version that is in use, are the same version: nothing changes that a reboot would bring into force. */
export const isRebootFor = (to: Slot, from: Slot | undefined, permit: string | undefined): boolean =>
  permit !== undefined && to.digest !== from?.digest

export const isRebooted = (reboot: PendingReboot | undefined, boot: Boot | undefined): boolean =>
  reboot !== undefined && boot !== undefined && reboot.from !== boot.id

export interface RebootSeen {
  readonly open: OpenSwitch
  readonly boot: Boot
  readonly permit: PermitReading | undefined
  readonly isNodeFrozen: boolean
}

export type RebootStep =
  | { readonly kind: 'Wait'; readonly why: string }
  | { readonly kind: 'ReadPermit'; readonly permit: string }
  | { readonly kind: 'Reboot'; readonly permit: string }
  /** The machine came up with the new version in place. */
  | { readonly kind: 'Continue' }
  | { readonly kind: 'GoBack'; readonly because: Reason; readonly reason: string }

/** Undefined: no reboot is awaited, and the switch continues. */
export function rebootTo(seen: RebootSeen): RebootStep | undefined {
  const { open, boot } = seen
  const { reboot } = open
  if (reboot === undefined || reboot.boot === boot.id) return undefined
  if (reboot.from !== boot.id) {
    if (reboot.boot === undefined || reboot.isSecondBoot !== true) return { kind: 'Continue' }
    return { kind: 'GoBack', because: 'CrashLooping', reason: 'the machine rebooted twice in the settle window' }
  }
  const late = lateness(reboot, boot)
  return late === undefined ? next(seen) : { kind: 'GoBack', because: 'InstallFailed', reason: late }
}

/** The old version is in place and stopped. Without a granted permit it is started in this boot: why, then, the reboot is pending. */
export function rebootBack(seen: RebootSeen): Exclude<RebootStep, { kind: 'Continue' }> | undefined {
  const { open, boot } = seen
  if (open.back === undefined || open.back.from !== boot.id) return undefined
  const step = next(seen)
  const why = lateness(open.back, boot) ?? (step.kind === 'Wait' && !boot.isRequested ? step.why : undefined)
  return why === undefined ? step : { kind: 'GoBack', because: 'RolledBackByAgent', reason: why }
}

type NextStep = Exclude<RebootStep, { kind: 'Continue' | 'GoBack' }>

/** Requested once in a boot; an agent that restarts in it requests it again, under a permit that it reads again. */
function next({ open: { permit }, boot, permit: read, isNodeFrozen }: RebootSeen): NextStep {
  const wait = (why: string): NextStep => ({ kind: 'Wait', why: `waiting to reboot: ${why}` })
  if (boot.isRequested) return { kind: 'Wait', why: 'rebooting' }
  if (isNodeFrozen) return wait('the node is frozen by a file on the node')
  if (boot.refusal !== undefined) return wait(boot.refusal)
  if (permit === undefined) return wait('no permit allows it')
  if (read?.permit !== permit) return { kind: 'ReadPermit', permit }
  if (read.kind !== 'Granted') return wait(`permit ${permit}: ${read.why}`)
  return read.forReboot === true ? { kind: 'Reboot', permit } : wait(`permit ${permit}: ${NOT_FOR_REBOOT}`)
}

const lateness = ({ upMs }: PendingReboot, boot: Boot): string | undefined =>
  boot.upMs - upMs > REBOOT_WITHIN_MS
    ? `the machine did not reboot within ${formatDuration(REBOOT_WITHIN_MS)}`
    : undefined
