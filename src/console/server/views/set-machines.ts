// The machines of one set as the console caches them: which versions they run side by side, and which of them the next step takes. Pure.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { activeMachines } from '#api/protocol/part.ts'
import type { Ladder } from '#explain/ladder.ts'
import { matchesSelector, selectorOf, type Selector } from '#kube/selector.ts'
import { type Domain, inOrderOfNames, pickOrdered, placeText } from '#nodes/placement/spread.ts'
import type { NextMachine, NextStep, VersionCount } from '../../set-topics.ts'
import type { MachinePlace, MachineRow, MachineState } from '../machine-row.ts'
import { given } from './parts.ts'

/** More names do not help: the step takes them one slice at a time. */
const MOST_NEXT = 12

/** A set whose selector cannot be read has no machines. */
function readSelector({ spec }: MachineComponentSet): Selector | undefined {
  try {
    return selectorOf(spec.selector)
  } catch {
    return undefined
  }
}

/** The machines that the selector matches. Thousands share a few places, so each place is matched once. */
export function membersOf(set: MachineComponentSet, machines: readonly MachineRow[]): readonly MachineRow[] {
  const selector = readSelector(set)
  if (selector === undefined) return []
  const matched = new Map<MachinePlace, boolean>()
  return machines.filter(({ place }) => {
    const known = matched.get(place)
    if (known !== undefined) return known
    const isMatch = matchesSelector(selector, place.labels)
    matched.set(place, isMatch)
    return isMatch
  })
}

/** Reads a component's version from machines, thousands of which share a few states. `none` is how a row writes a component without one. */
function versionReader(component: string): (machine: MachineRow) => string | undefined {
  const read = new Map<MachineState, string | undefined>()
  return ({ state }) => {
    if (read.has(state)) return read.get(state)
    const found = state.versions.split(',').find((v) => v.startsWith(`${component}=`))
    const version = found?.slice(component.length + 1)
    const known = version === 'none' ? undefined : version
    read.set(state, known)
    return known
  }
}

/** A failure of an earlier version says nothing against this one. */
const hasFailed = ({ failures }: MachineRow, component: string, version: string | undefined): boolean =>
  version !== undefined && failures.some((f) => f.component === component && f.desired === version)

const isFailing = ({ failures }: MachineRow, component: string): boolean =>
  failures.some((f) => f.component === component && !f.isRolledBack)

/** A machine that rolled back from a version runs the one before it. */
const wentBack = (members: readonly MachineRow[], component: string, version: string): number =>
  members.filter((m) => m.failures.some((f) => f.component === component && f.isRolledBack && f.desired === version))
    .length

/** The declared version first, then by the number of machines. */
export function versionCounts(set: MachineComponentSet, members: readonly MachineRow[]): readonly VersionCount[] {
  return set.spec.components.flatMap(({ name, version: declared }) => {
    const versions = Map.groupBy(members, versionReader(name))
    return [...versions]
      .map(([version, own]): VersionCount => ({
        component: name,
        ...given('version', version),
        isDeclared: version === declared,
        machines: own.length,
        ready: own.filter(({ state }) => state.isReady).length,
        failing: own.filter((m) => isFailing(m, name)).length,
        wentBack: version !== undefined && version === declared ? wentBack(members, name, version) : 0,
        silent: own.filter(({ state }) => state.silent === 'Yes').length,
      }))
      .toSorted((a, b) => Number(b.isDeclared) - Number(a.isDeclared) || b.machines - a.machines)
  })
}

/**
 * For each component on its way, the first sound machines of its next step, in the order in which the controller picks them. Machines that the component
 * itself broke may come before them and are left out: which of them do is known only to the controller, which decides when the step opens, with what is
 * unavailable at that time.
 */
export function nextSteps(
  set: MachineComponentSet,
  ladders: readonly Ladder[],
  members: readonly MachineRow[],
): readonly NextStep[] {
  if (set.status?.phase !== 'Progressing') return []
  return ladders.flatMap((ladder) => {
    const at = ladder.rungs.findIndex(({ state }) => state === 'Waiting')
    const rung = ladder.rungs[at]
    if (rung === undefined || ladder.rungs.some(({ state }) => state === 'Failed')) return []
    const size = rung.machines - (ladder.rungs[at - 1]?.machines ?? 0)
    const candidates = candidatesOf(set, ladder, members)
    if (candidates.length === 0) return []
    const { component, version } = ladder
    const machines = nextMachines(set, ladder, { members, candidates, count: Math.min(size, MOST_NEXT) })
    return [{ component, version, step: rung.step, size: Math.min(size, candidates.length), machines }]
  })
}

interface Candidate {
  readonly name: string
  readonly at: MachinePlace
  readonly place: string
}

/** Machines that could take the version: not on it, not failed with it or now, and neither skipped nor in a slice. */
function candidatesOf(
  { status }: MachineComponentSet,
  { component, version }: Ladder,
  members: readonly MachineRow[],
): readonly Candidate[] {
  const out = new Set([
    ...(status?.slices ?? []).filter((s) => s.component === component).flatMap((s) => activeMachines(s)),
    ...(status?.skipped ?? []).map(({ machine }) => machine),
  ])
  const versionOn = versionReader(component)
  return members
    .filter((m) => versionOn(m) !== version && !hasFailed(m, component, version) && !isFailing(m, component))
    .filter((m) => !out.has(m.metadata.name ?? ''))
    .map((m) => ({ name: m.metadata.name ?? '', at: m.place, place: placeText(m.place) }))
}

interface Choice {
  readonly members: readonly MachineRow[]
  readonly candidates: readonly Candidate[]
  readonly count: number
}

function nextMachines(
  { spec }: MachineComponentSet,
  { component, version }: Ladder,
  { members, candidates, count }: Choice,
): readonly NextMachine[] {
  const versionOn = versionReader(component)
  const tried = new Map<string, number>()
  for (const m of members) {
    if (versionOn(m) !== version && !hasFailed(m, component, version)) continue
    const { class: hardware } = m.place
    tried.set(hardware, (tried.get(hardware) ?? 0) + 1)
  }
  const domains = spec.rollout.spread
  const seen = new Set(tried.keys())
  return pickOrdered(inOrderOfNames(candidates), { count, domains, tried }).map(({ name, at }) => {
    const isNew = at.class !== '' && !seen.has(at.class)
    seen.add(at.class)
    return { machine: name, why: isNew ? `first of class ${at.class}` : placeWords(at, domains) }
  })
}

/** `zone-b` says by itself that it is a zone. */
const placeWords = (at: MachinePlace, domains: readonly Domain[]): string =>
  domains
    .flatMap((d) => (d === 'class' || at[d] === '' ? [] : [at[d].startsWith(d) ? at[d] : `${d} ${at[d]}`]))
    .join(', ')
