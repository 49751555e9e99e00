// The console's data of a Machine. Parts shared by many machines are separate from individual ones, so that they are stored once. Pure.
import { BROKEN } from '#api/protocol/component-order.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { type Health, machineHealth } from '#defender/unit.ts'
import { type MachineCondition, machineCondition } from '#explain/attention/observed.ts'
import { findCondition } from '#kube/conditions.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { MACHINE_COLUMNS, type MachineColumn } from '../machine-columns.ts'
import { defined } from '#lib/defined.ts'

/** Cached instead of the Machine. */
export interface MachineRow extends KubeObject {
  readonly place: MachinePlace
  readonly state: MachineState
  /** Name of its Node; empty if it equals the Machine's, or there is none yet. */
  readonly node: string
  /** Since when Ready has its status, in seconds since 1970; 0 if unknown. */
  readonly since: number
  /** Failing components with their messages; empty for almost all machines. */
  readonly failures: readonly MachineFailure[]
}

/** Its place and purpose, which rarely change. */
export interface MachinePlace {
  readonly zone: string
  readonly rack: string
  readonly pool: string
  readonly class: string
  /** For the selectors of policies and sets. */
  readonly labels: Readonly<Record<string, string>>
}

/** Its state: most machines of a cluster share a few. */
export interface MachineState extends MachineCondition {
  readonly kernel: string
  readonly versions: string
  readonly health: string
  readonly isReady: boolean
  /** The Defender's view of it, without its Node. */
  readonly service: Health
}

export interface MachineFailure {
  readonly component: string
  /** It went back to its earlier version, which serves. */
  readonly isRolledBack: boolean
  /** The version that failed or was rolled back, if its agent reports it. */
  readonly desired?: string
  readonly set: string
  readonly text: string
  readonly since: string
}

export const NO_FAILURES: readonly MachineFailure[] = []

function failuresOf({ spec, status }: Machine): readonly MachineFailure[] {
  const failed = (status?.components ?? []).filter((c) => BROKEN.has(c.state))
  if (failed.length === 0) return NO_FAILURES
  return failed.map(({ name, state, desired, reason = '', message = '', since }) => ({
    component: name,
    isRolledBack: state === 'RolledBack',
    ...defined({ desired }),
    set: spec.components?.find((c) => c.name === name)?.setRef ?? '',
    text: [state, reason, message].filter((part) => part !== '').join(': '),
    since,
  }))
}

/** Worst first: a machine's state is that of its worst component. */
const WORST = ['Failed', 'Degraded', 'RolledBack', 'Probing', 'Switching', 'Fetching', 'Staged', 'Healthy']

function worstState(states: readonly string[]): string {
  const rank = (state: string): number => {
    const at = WORST.indexOf(state)
    // An unknown state from a newer version deserves attention.
    return at === -1 ? 0 : at
  }
  return states.reduce((worst, s) => (worst === '' || rank(s) < rank(worst) ? s : worst), '')
}

/** The limit of a 32-bit column; only a wrong clock exceeds it. */
const LAST_SECOND = 2 ** 32 - 1

const seconds = (stamp: string | undefined): number => {
  const ms = Date.parse(stamp ?? '')
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(0, Math.floor(ms / 1_000)), LAST_SECOND)
}

/** Different for every machine and used by no selector. */
const OWN_LABEL = 'kubernetes.io/hostname'

function placeOf({ metadata, spec }: Machine): MachinePlace {
  const { [OWN_LABEL]: _own, ...labels } = { ...spec.labels, ...metadata.labels }
  const { zone = '', rack = '', pool = '', class: hardware = '' } = spec
  return { zone, rack, pool, class: hardware, labels }
}

function stateOf(machine: Machine): MachineState {
  const { components = [], conditions } = machine.status ?? {}
  const versions = components.map((c) => `${c.name}=${c.version ?? 'none'}`)
  return {
    ...machineCondition(machine),
    versions: versions.toSorted().join(','),
    kernel: machine.status?.platform?.kernel ?? '',
    health: worstState(components.map((c) => c.state)),
    isReady: findCondition(conditions, 'Ready')?.status === 'True',
    service: machineHealth(machine, undefined).health,
  }
}

export function machineRow(machine: Machine): MachineRow {
  const { name, uid, resourceVersion } = machine.metadata
  const node = machine.status?.nodeRef?.name ?? ''
  return {
    apiVersion: machine.apiVersion,
    kind: machine.kind,
    metadata: defined({ name, uid, resourceVersion }),
    place: placeOf(machine),
    state: stateOf(machine),
    node: node === name ? '' : node,
    since: seconds(findCondition(machine.status?.conditions, 'Ready')?.lastTransitionTime),
    failures: failuresOf(machine),
  }
}

/** The columns that come from the machine alone, as text. */
type ShownTexts = Readonly<Record<Exclude<MachineColumn, 'since' | 'repair' | 'blame' | 'condition'>, string>>

/** Most machines share their place, so its text is made once. */
const labelTexts = new WeakMap<MachinePlace, string>()

/** A comma or an equals sign cannot be part of a label. */
function labelText(place: MachinePlace): string {
  const known = labelTexts.get(place)
  if (known !== undefined) return known
  const text = Object.entries(place.labels)
    .map(([key, value]) => `${key}=${value}`)
    .toSorted()
    .join(',')
  labelTexts.set(place, text)
  return text
}

export const shownOf = ({ node, place, state }: MachineRow): ShownTexts => ({
  node,
  kernel: state.kernel,
  labels: labelText(place),
  phase: state.phase,
  zone: place.zone,
  rack: place.rack,
  pool: place.pool,
  class: place.class,
  versions: state.versions,
  health: state.health,
  silent: state.silent,
  reason: state.reason,
})

/** Whether pages show both the same: most agent reports change nothing visible. */
export function isShownAlike(a: MachineRow, b: MachineRow): boolean {
  const [before, now] = [shownOf(a), shownOf(b)]
  return (
    a.since === b.since &&
    MACHINE_COLUMNS.every((column) => before[column as keyof ShownTexts] === now[column as keyof ShownTexts])
  )
}
