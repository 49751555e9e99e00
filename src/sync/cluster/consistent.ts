// Which machines do not run their declared components. Compares with the cluster's sets, not with the orders that a machine has received so far. Pure.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { ComponentOrder, Machine } from '#api/kinds/machine.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { matchesSelector } from '#kube/selector.ts'
import { type SelectingSet, decidingSets, selecting } from '#nodes/placement/deciding-set.ts'

/** A set that is being deleted, or whose selector cannot be read, declares nothing. */
export const declaringSets = (sets: readonly MachineComponentSet[]): readonly SelectingSet[] =>
  sets.filter(({ metadata }) => metadata.deletionTimestamp === undefined).flatMap(selecting)

/** The agent reports every declared component as healthy at its declared version, and none that its set has dropped. */
export function isConsistent(machine: Machine, sets: readonly SelectingSet[]): boolean {
  const { spec, status, metadata } = machine
  const reported = new Map((status?.components ?? []).map((c) => [c.name, c]))
  const entries = spec.components ?? []
  // No set may change an observed machine.
  const own =
    spec.channel === 'Observe' ? [] : sets.filter(({ selector }) => matchesSelector(selector, metadata.labels))
  const declared = declaredFor(own, entries)
  return (
    entries.every((e) => isDeclared(e, own)) &&
    [...declared].every(([name, version]) => {
      const found = reported.get(name)
      return found?.version === version && found.state === 'Healthy'
    })
  )
}

/** Declared versions by component. A canary decides for its own machines. */
function declaredFor(own: readonly SelectingSet[], entries: readonly ComponentOrder[]): ReadonlyMap<string, string> {
  const declared = new Map(entries.map((e) => [e.name, e.version]))
  const ofCanaries = new Set(entries.filter((e) => e.canaryRef !== undefined).map((e) => e.name))
  for (const [name, { spec }] of decidingSets(own, entries)) {
    const version = spec.components.find((c) => c.name === name)?.version
    if (version !== undefined && !ofCanaries.has(name)) declared.set(name, version)
  }
  return declared
}

/** False when the entry's set still exists but no longer declares the component: it should have left, but has not. */
function isDeclared({ name, setRef, canaryRef }: ComponentOrder, own: readonly SelectingSet[]): boolean {
  if (canaryRef !== undefined || !own.some(({ set }) => nameOf(set) === setRef)) return true
  return own.some(({ set }) => set.spec.components.some((c) => c.name === name))
}
