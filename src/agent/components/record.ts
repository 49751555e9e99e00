// The journal of one component: its order, the version in use, the staged version, and the open switch. Written before and after each step.
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { type HealthyVersion, isHealthyVersion } from '#api/protocol/healthy-before.ts'
import { type Attempt, type Version, isSameAttempt, isSameVersion } from '#api/protocol/component-order.ts'
import { PHASES } from '#api/phases.ts'
import type { ComponentOrder, ComponentStatus } from '#api/kinds/machine.ts'
import { isSwitching, type ComponentState } from '#api/protocol/switch.ts'

/** The latest value from the set. */
export type OnRemoval = NonNullable<ComponentOrder['onRemoval']>
/** How the component leaves the node; decided once. */
export type RemovalPlan = NonNullable<ComponentStatus['removal']>

/** The order as the journal stores it: without the component name, and without a configuration if there is none. */
export const targetOf = ({ version, config, attempt }: Attempt): Attempt => ({
  version,
  attempt,
  ...defined({ config }),
})

/** A version with its configuration, unpacked and rendered. */
export interface Slot extends Version {
  readonly id: string
  /** SHA-256 of statement and configuration: equal on all nodes that have the same. */
  readonly digest: string
  /** SHA-256 of the statement alone. Absent in slots filled by an older agent. */
  readonly statement?: string
}

/** The process exited once in its settle window without evidence against the version, and was restarted. The next exit counts. */
export interface SecondStart {
  /** How the first process exited. */
  readonly how: string
  /** False until the restart: the agent may exit in between. */
  readonly isStarted: boolean
}

/** One reboot of the machine, either to a version that declares it or on the way back. */
export interface PendingReboot {
  /** The boot in which the files were put in place. A different boot id means that the machine rebooted. */
  readonly from: string
  /** Wall clock, for users. */
  readonly since: number
  /** Uptime at that point. The wait is bounded by uptime, because host clocks get adjusted. */
  readonly upMs: number
}

/** Another component that takes effect with the same reboot, and the version that it switches to. */
export interface SharedWith {
  readonly component: string
  readonly digest: string
}

/** The reboot to the new version, and the boots after it. */
interface OpenReboot extends PendingReboot {
  /** Noted before the reboot is requested: they are committed together, or go back together. Absent: none, or an earlier agent did it. */
  readonly with?: readonly SharedWith[]
  /** When the agent last requested it, by the wall clock. Absent: not yet, or an earlier agent did. */
  readonly requestedAt?: number
  /** The boot in which the new version was started. */
  readonly boot?: string
  /** When the settle window of that start ends at the latest, by the wall clock. Absent: an earlier agent started it. */
  readonly settlesBy?: number
  /** The machine rebooted again within the settle window, possibly because of a power failure. The next time counts against the version. */
  readonly isSecondBoot?: boolean
}

/**
 * A switch between two versions. `from` is the version to revert to. An agent from before `reboot` existed ignores `reboot` and `back`: it starts the
 * version in place without a reboot, probes it, and commits or reverts.
 */
export interface OpenSwitch {
  readonly to: Slot
  readonly from?: Slot
  readonly permit?: string
  readonly phase: 'Switching' | 'Probing' | 'GoingBack'
  readonly secondStart?: SecondStart
  /** For a kernel that is to be booted: what the boot loader boots by default until it is confirmed. */
  readonly entry?: string
  /** Files and links belong to the new version, nothing of the component runs, and the machine must reboot. */
  readonly reboot?: OpenReboot
  /** The same for the old version, after the machine rebooted for the new one. */
  readonly back?: PendingReboot
}

/** This version failed here in this attempt; not retried within it. */
export interface Pin extends Attempt {
  readonly digest: string
}

export interface ComponentRecord {
  readonly format: 1
  readonly component: string
  readonly state: ComponentState
  /** Wall clock, for users. */
  readonly since: number
  readonly message?: string
  /** A reason from the catalog, and the last lines of its log; both belong to the message. */
  readonly reason?: string
  readonly output?: string
  readonly target: Attempt
  readonly current?: Slot
  readonly previous?: Slot
  readonly staged?: Slot
  readonly open?: OpenSwitch
  readonly pins: readonly Pin[]
  /** The declared removal. The entry leaves the Machine before the removal starts. */
  readonly onRemoval?: OnRemoval
  /** Decided once, and finished whatever the Machine orders meanwhile. */
  readonly removal?: RemovalPlan
  /** Versions that passed their settle window here, newest last. */
  readonly healthy?: readonly HealthyVersion[]
}

/** One per failed attempt; older entries belong to finished attempts. */
export const MAX_PINS = 8

export function parseRecord(value: unknown): ComponentRecord | undefined {
  if (!isObject(value) || value['format'] !== 1 || typeof value['component'] !== 'string') return undefined
  if (typeof value['state'] !== 'string' || !Object.hasOwn(PHASES.Component, value['state'])) return undefined
  const isGood =
    isTarget(value['target']) &&
    typeof value['since'] === 'number' &&
    [value['current'], value['previous'], value['staged']].every((s) => s === undefined || isSlot(s)) &&
    // Both are written and cleared together.
    isSwitching(value['state'] as ComponentState) === (value['open'] !== undefined) &&
    (value['open'] === undefined || isOpen(value['open'])) &&
    (value['onRemoval'] === undefined || isHow(value['onRemoval'])) &&
    (value['removal'] === undefined || (isObject(value['removal']) && isHow(value['removal']['how']))) &&
    Array.isArray(value['pins']) &&
    value['pins'].every((p) => isObject(p) && typeof p['digest'] === 'string' && isTarget(p)) &&
    (value['healthy'] === undefined || (Array.isArray(value['healthy']) && value['healthy'].every(isHealthyVersion)))
  return isGood ? (value as unknown as ComponentRecord) : undefined
}

const isHow = (v: unknown): boolean => v === 'Restore' || v === 'Keep' || v === 'Uninstall'

const isTarget = (v: unknown): boolean =>
  isObject(v) && typeof v['version'] === 'string' && Number.isSafeInteger(v['attempt'])
/** Slot ids become parts of paths. */
export const SLOT_ID = /^[0-9a-f]{16}-\d{1,6}$/

const isSlot = (v: unknown): boolean =>
  isObject(v) && typeof v['id'] === 'string' && SLOT_ID.test(v['id']) && typeof v['digest'] === 'string'
const isOpen = (v: unknown): boolean =>
  isObject(v) &&
  isSlot(v['to']) &&
  (v['from'] === undefined || isSlot(v['from'])) &&
  (v['phase'] === 'Switching' || v['phase'] === 'Probing' || v['phase'] === 'GoingBack') &&
  (v['secondStart'] === undefined || isSecondStart(v['secondStart'])) &&
  (v['entry'] === undefined || typeof v['entry'] === 'string') &&
  (v['reboot'] === undefined || isReboot(v['reboot'])) &&
  (v['back'] === undefined || isReboot(v['back']))

const isReboot = (v: unknown): boolean =>
  isObject(v) &&
  typeof v['from'] === 'string' &&
  typeof v['since'] === 'number' &&
  typeof v['upMs'] === 'number' &&
  (v['with'] === undefined || (Array.isArray(v['with']) && v['with'].every(isSharedWith))) &&
  (v['requestedAt'] === undefined || typeof v['requestedAt'] === 'number') &&
  (v['boot'] === undefined || typeof v['boot'] === 'string') &&
  (v['settlesBy'] === undefined || typeof v['settlesBy'] === 'number') &&
  (v['isSecondBoot'] === undefined || typeof v['isSecondBoot'] === 'boolean')

const isSharedWith = (v: unknown): boolean =>
  isObject(v) && typeof v['component'] === 'string' && typeof v['digest'] === 'string'

const isSecondStart = (v: unknown): boolean =>
  isObject(v) && typeof v['how'] === 'string' && typeof v['isStarted'] === 'boolean'

export const isSlotOf = (slot: Slot | undefined, target: Version): boolean =>
  slot !== undefined && isSameVersion(slot, target)

export const isPinned = (record: ComponentRecord, target: Attempt): boolean =>
  record.pins.some((p) => isSameAttempt(p, target))

/** Number of the next copy of the same version and configuration. */
export const generationAfter = (slot: Slot | undefined): number => Number(slot?.id.split('-')[1] ?? 0) + 1

/** No KubeNode version is installed or being switched to: whatever runs under this name belongs to the host. */
export const isLeftToHost = (record: Pick<ComponentRecord, 'current' | 'open'> | undefined): boolean =>
  record === undefined || (record.current === undefined && record.open === undefined)

/** No other version is being prepared for this component. */
export const isAtRest = ({ state }: ComponentRecord): boolean =>
  state === 'Healthy' || state === 'Degraded' || state === 'RolledBack' || state === 'Failed'
