// How long the latest switches of each component took, for estimates in plans. Pure.
import { MAX_DURATIONS, type MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { SetAction } from '../actions.ts'
import type { Status } from '../seen.ts'

/** Drops components that the set no longer declares. */
export function keptDurations(
  { spec, status }: MachineComponentSet,
  actions: readonly SetAction[],
  now: number,
): Pick<Status, 'durations'> {
  const all = new Map((status?.durations ?? []).map((d) => [d.component, d.seconds]))
  for (const action of actions) {
    if (action.kind !== 'Report' || action.target.version === undefined) continue
    const since = Date.parse(action.permit.status?.decidedAt ?? '')
    const took = Math.round((now - since) / 1_000)
    // Ignore it if the clock was set back.
    if (!(took >= 0)) continue
    const done = action.results.filter((r) => r.result === 'Succeeded').map(() => took)
    const { name: component } = action.target
    if (done.length > 0) all.set(component, [...(all.get(component) ?? []), ...done].slice(-MAX_DURATIONS))
  }
  const declared = new Set(spec.components.map((c) => c.name))
  const kept = [...all].filter(([component]) => declared.has(component))
  if (kept.length === 0) return {}
  const durations = kept.map(([component, seconds]) => ({ component, seconds }))
  return { durations: durations.toSorted((a, b) => (a.component < b.component ? -1 : 1)) }
}
