// Decides when a machine reboots for a component: once its files are in place for a version with `disruption: Reboot`, and at most once more on the way
// back. A reboot needs a permit that was read in this pass and lists Reboot; only a kernel that broke the network is rebooted away without (`rebootBack`).
// A first install on a node that takes no pods yet has no permit, so it does not reboot: the version takes effect with the next boot. Anything that must
// not run before that belongs in the host image. Only a kernel boots there without a permit, while the node takes no pods.
import type { Reason } from '#api/catalogue.ts'
import { RETURNS_WITHIN_MS } from '#api/protocol/rebooting.ts'
import { formatDuration } from '#lib/duration.ts'
import type { PermitReading } from './permit-reading.ts'
import type { OpenSwitch, PendingReboot, Slot } from './record.ts'

export interface Boot {
  readonly id: string
  readonly upMs: number
  /** When this boot began, by the wall clock. */
  readonly bootedAt: number
  /** This agent has already requested a reboot, for any reason, and is exiting. */
  readonly isRequested: boolean
  /** Why this machine cannot reboot; absent when it can. */
  readonly refusal?: string
}

export interface RebootPort {
  readonly boot: () => Promise<Boot>
  /** Requests the reboot and shuts the agent down cleanly. */
  readonly request: (by: Readonly<Record<string, string>>) => Promise<void>
  /** The component no longer waits for the reboot. */
  readonly withdraw: (component: string) => Promise<void>
}

/** From the files being in place until the machine goes down: covers a late permit renewal or an API server upgrade. The boot time itself does not count. */
export const REBOOT_WITHIN_MS = 600_000
export const NOT_FOR_REBOOT = 'not for operation Reboot'
export const CANNOT_REBOOT = 'this version needs a reboot, which this node cannot do'

/** A drift repair installs the version that is already in use, so a reboot would change nothing. */
export const isRebootFor = (to: Slot, from: Slot | undefined, permit: string | undefined): boolean =>
  permit !== undefined && to.digest !== from?.digest

export const isRebooted = (reboot: PendingReboot | undefined, boot: Boot | undefined): boolean =>
  reboot !== undefined && boot !== undefined && reboot.from !== boot.id

export interface RebootSeen {
  readonly open: OpenSwitch
  readonly boot: Boot
  readonly permit: PermitReading | undefined
  readonly isNodeFrozen: boolean
  /** Whether the node takes no pods yet, read in this pass. */
  readonly isNodePending: boolean | undefined
}

export type RebootStep =
  | { readonly kind: 'Wait'; readonly why: string; readonly isUnknown?: true }
  | { readonly kind: 'ReadPermit'; readonly permit: string }
  | { readonly kind: 'ReadNode' }
  /** Without a permit: a node that takes no pods yet. */
  | { readonly kind: 'Reboot'; readonly permit: string | undefined }
  /** The machine rebooted, and the new version is in place. */
  | { readonly kind: 'Continue' }
  | { readonly kind: 'GoBack'; readonly because: Reason; readonly reason: string }

/** Undefined: no reboot is pending, and the switch continues. */
export function rebootTo(seen: RebootSeen): RebootStep | undefined {
  const { open, boot } = seen
  const { reboot } = open
  if (reboot === undefined || reboot.boot === boot.id) return undefined
  if (reboot.from !== boot.id) {
    const away = absence(reboot, boot)
    if (away !== undefined) return { kind: 'GoBack', ...away }
    if (reboot.boot === undefined || reboot.isSecondBoot !== true) return { kind: 'Continue' }
    return { kind: 'GoBack', because: 'CrashLooping', reason: 'the machine rebooted twice in the settle window' }
  }
  const late = lateness(reboot, boot)
  return late === undefined ? next(seen) : { kind: 'GoBack', because: 'InstallFailed', reason: late }
}

/**
 * The old version is in place and stopped. Without a granted permit it starts in the current boot, and the result explains why the reboot is pending.
 * A kernel has nothing to start, and one that broke the network can read no permit: it waits for an answer, and reboots without one. That disrupts no
 * more than the switch did, whose permit was read: it drained the node, and until the switch has a result the node takes no pods.
 */
export function rebootBack(seen: RebootSeen): Exclude<RebootStep, { kind: 'Continue' }> | undefined {
  const { open, boot } = seen
  const { back } = open
  if (back === undefined || back.from !== boot.id) return undefined
  const isKernel = open.entry !== undefined
  const late = lateness(back, boot)
  const step = next(seen)
  if (isKernel && lateness(back, boot, 2 * REBOOT_WITHIN_MS) === undefined) {
    const isUnknown = step.kind === 'ReadNode' || (step.kind === 'Wait' && step.isUnknown === true)
    if (isUnknown && late !== undefined) return { kind: 'Reboot', permit: open.permit }
    if (isUnknown || step.kind !== 'Wait' || boot.isRequested) return step
  }
  const why = late ?? (step.kind === 'Wait' && !boot.isRequested ? step.why : undefined)
  return why === undefined ? step : { kind: 'GoBack', because: 'RolledBackByAgent', reason: why }
}

type NextStep = Exclude<RebootStep, { kind: 'Continue' | 'GoBack' }>

/** Requests the reboot once per boot. If the agent restarts before the reboot, it reads the permit again and requests it again. */
function next({ open: { permit }, boot, permit: read, isNodeFrozen, isNodePending }: RebootSeen): NextStep {
  const wait = (why: string): NextStep => ({ kind: 'Wait', why: `waiting to reboot: ${why}` })
  if (boot.isRequested) return { kind: 'Wait', why: 'rebooting' }
  if (isNodeFrozen) return wait('the node is frozen by a file on the node')
  if (boot.refusal !== undefined) return wait(boot.refusal)
  if (permit === undefined && isNodePending === undefined) return { kind: 'ReadNode' }
  if (permit === undefined)
    return isNodePending === true ? { kind: 'Reboot', permit } : wait('the node takes pods, and no permit allows it')
  if (read?.permit !== permit) return { kind: 'ReadPermit', permit }
  if (read.kind === 'Unknown')
    return { kind: 'Wait', why: `waiting to reboot: permit ${permit}: ${read.why}`, isUnknown: true }
  if (read.kind === 'NotGranted') return wait(`permit ${permit}: ${read.why}`)
  return read.forReboot === true ? { kind: 'Reboot', permit } : wait(`permit ${permit}: ${NOT_FOR_REBOOT}`)
}

/**
 * The machine hung until its power was cut, so the version does not get another try: on its way down or up, or once the version ran. The uptime of the
 * new boot does not show this, so the wall clock decides. A clock that was set back hides the delay; one that was set forward costs a good version a
 * reboot back. A loss of power that lasts as long looks the same.
 */
function absence(
  { requestedAt, boot, settlesBy }: NonNullable<OpenSwitch['reboot']>,
  { bootedAt }: Boot,
): { readonly because: Reason; readonly reason: string } | undefined {
  const from = boot === undefined ? requestedAt : settlesBy
  const awayMs = bootedAt - (from ?? bootedAt)
  if (awayMs <= RETURNS_WITHIN_MS) return undefined
  const [away, limit] = [formatDuration(awayMs), formatDuration(RETURNS_WITHIN_MS)]
  return boot === undefined
    ? { because: 'InstallFailed', reason: `the machine took ${away} to return from its reboot (limit ${limit})` }
    : {
        because: 'CrashLooping',
        reason: `the machine stopped in the settle window and booted ${away} after its end (limit ${limit})`,
      }
}

const lateness = ({ upMs }: PendingReboot, boot: Boot, withinMs = REBOOT_WITHIN_MS): string | undefined =>
  boot.upMs - upMs > withinMs ? `the machine did not reboot within ${formatDuration(withinMs)}` : undefined
