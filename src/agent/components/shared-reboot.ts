// Decides which components of a machine share one reboot, and that they stay or go back together: a driver of a kernel that failed is of no use. They are
// switched before it, each notes the others before it is requested, and none is committed before all have settled. Pure.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { ComponentOrder } from '#api/kinds/machine.ts'
import { jsonEqual } from '#lib/json.ts'
import { type Boot, isRebootFor } from './reboot.ts'
import type { ComponentRecord, OpenSwitch, SharedWith } from './record.ts'

/** Another component of the machine. */
export interface Mate {
  readonly component: string
  readonly record: ComponentRecord
  /** Ordered to switch to a version that reboots the machine, and its files are not in place yet. */
  readonly isDue: boolean
  readonly isKernel: boolean
  readonly isSettled: boolean
}

export interface MateSeen {
  readonly component: string
  readonly record: ComponentRecord
  readonly order: ComponentOrder | 'None' | 'Unread'
  readonly probes: { readonly verdict: string; readonly isSettled: boolean }
}

/** A component that is ordered and does not get there, as with a hook that hangs, delays the others no longer. Well below the limit of their own reboot. */
export const MATES_WITHIN_MS = 300_000

/** `spec`: of the version that it switches to. */
export const mateOf = (
  { component, record, order, probes }: MateSeen,
  spec: MachineComponentSpec | undefined,
): Mate => ({
  component,
  record,
  isDue: spec?.disruption === 'Reboot' && isComing(record, order),
  isKernel: spec?.type === 'OS',
  isSettled: probes.verdict === 'Passing' && probes.isSettled,
})

function isComing({ state, open, staged, current, target }: ComponentRecord, order: MateSeen['order']): boolean {
  if (open !== undefined) return open.phase === 'Switching' && open.reboot === undefined
  if (state !== 'Staged' || staged === undefined || order === 'None') return false
  // After a restart of the agent, its order is read again.
  if (order === 'Unread') return current !== undefined && staged.digest !== current.digest
  return order.switch?.attempt === target.attempt && isRebootFor(staged, current, order.switch.permit)
}

/** It has rebooted for another component, or goes back: another reboot would count against that one. Undefined: a reboot may be prepared. */
export const settlingMate = (mates: readonly Mate[], boot: Boot): string | undefined =>
  mates.find(({ record: { open } }) => open?.reboot !== undefined && !isPending(open, boot))?.component

export const settlingText = (component: string): string =>
  `waiting for ${component}, for which the machine has rebooted`

export interface Own {
  readonly component: string
  readonly open: OpenSwitch
  readonly boot: Boot
  readonly mates: readonly Mate[]
}

export type Gathering =
  | { readonly kind: 'Share'; readonly with: readonly SharedWith[] }
  | { readonly kind: 'Wait'; readonly why: string }

/** Before the reboot is requested. Undefined: nothing keeps it. */
export function gathering({ component, open, boot, mates }: Own): Gathering | undefined {
  const { reboot } = open
  if (reboot === undefined) return undefined
  const ready = mates.filter(({ record }) => isPending(record.open, boot))
  const now = ready.map((m) => ({ component: m.component, digest: m.record.open?.to.digest ?? '' }))
  if (!jsonEqual(now, reboot.with ?? [])) return { kind: 'Share', with: now }
  const settling = settlingMate(mates, boot)
  if (settling !== undefined) return { kind: 'Wait', why: settlingText(settling) }
  if (boot.upMs - reboot.upMs > MATES_WITHIN_MS) return undefined
  const late =
    mates.find((m) => m.isDue) ??
    ready.find(({ record }) => record.open?.reboot?.with?.some((w) => w.component === component) !== true)
  return late && { kind: 'Wait', why: `waiting for ${late.component}: one reboot for both` }
}

const isPending = (open: OpenSwitch | undefined, boot: Boot): boolean =>
  open?.phase === 'Switching' && open.reboot?.from === boot.id

/** The same on the way back. */
export function gatheringBack({ open, boot, mates }: Own): Extract<Gathering, { kind: 'Wait' }> | undefined {
  const { back, reboot } = open
  if (back === undefined || boot.upMs - back.upMs > MATES_WITHIN_MS) return undefined
  const late = sharing(reboot, mates).find(
    ({ mate, fate }) => fate === 'Open' || fate === 'Settled' || (fate === 'Failed' && isOnItsWay(mate.record.open)),
  )
  return late && { kind: 'Wait', why: `waiting for ${late.mate.component}: one reboot back for both` }
}

const isOnItsWay = (open: OpenSwitch | undefined): boolean => open !== undefined && open.back === undefined

type Fate = 'Open' | 'Settled' | 'Committed' | 'Failed'

export type Verdict =
  | { readonly kind: 'Failed'; readonly component: string }
  /** Its own result has to wait. */
  | { readonly kind: 'Wait'; readonly component: string }

/** After the reboot. Kernels are committed first: the others can still go back when the boot loader refuses. */
export function sharedVerdict(open: OpenSwitch, mates: readonly Mate[]): Verdict | undefined {
  const isKernel = open.entry !== undefined
  const all = sharing(open.reboot, mates)
  const failed = all.find(({ fate }) => fate === 'Failed')
  if (failed !== undefined) return { kind: 'Failed', component: failed.mate.component }
  const late = all.find(({ mate, fate }) => fate === 'Open' || (fate === 'Settled' && mate.isKernel && !isKernel))
  return late && { kind: 'Wait', component: late.mate.component }
}

/** A component that left the machine since decides nothing. */
const sharing = (
  reboot: OpenSwitch['reboot'],
  mates: readonly Mate[],
): readonly { readonly mate: Mate; readonly fate: Fate }[] =>
  (reboot?.with ?? []).flatMap((shared) => {
    const mate = mates.find((m) => m.component === shared.component)
    return mate === undefined ? [] : [{ mate, fate: fateOf(mate, shared) }]
  })

function fateOf({ record, isSettled }: Mate, { digest }: SharedWith): Fate {
  const { open, current, previous } = record
  if (open?.to.digest === digest) {
    if (open.phase === 'GoingBack') return 'Failed'
    return isSettled && open.phase === 'Probing' ? 'Settled' : 'Open'
  }
  return [current, previous, open?.from].some((slot) => slot?.digest === digest) ? 'Committed' : 'Failed'
}
