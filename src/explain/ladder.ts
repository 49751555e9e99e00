// The ladder of a rollout in machines, the progress of each component, and its remaining time by measured durations. Pure.
import type { MachineComponentSet, Slice } from '#api/kinds/machine-component-set.ts'
import { stepCount, stepSize } from '#controllers/componentset/slices/ladder.ts'
import { shareOf } from '#controllers/componentset/slices/share.ts'
import { durationsOf } from './durations.ts'
import { durationMs } from '#lib/duration.ts'

type RungState = 'Waiting' | 'Open' | 'Soaking' | 'Passed' | 'Failed'

interface Rung {
  readonly step: number
  readonly machines: number
  readonly state: RungState
}

export interface Ladder {
  readonly component: string
  readonly version: string
  readonly rungs: readonly Rung[]
  readonly minutesLeft?: number
}

/** More steps than a ladder may list: the last one repeats. */
const MOST_RUNGS = 40

const OPEN: ReadonlySet<string> = new Set(['Planned', 'AwaitingPermit', 'Switching', 'Inspecting'])

/** Components in progress; empty when the set is complete. */
export function ladderOf(set: MachineComponentSet, all: readonly MachineComponentSet[]): readonly Ladder[] {
  const slices = set.status?.slices ?? []
  return set.spec.components.flatMap(({ name, version }) => {
    const own = slices.filter((s) => s.component === name && s.version === version)
    return own.length === 0 ? [] : [componentLadder(set, { name, version }, own, all)]
  })
}

function componentLadder(
  { spec, status, metadata }: MachineComponentSet,
  { name, version }: { readonly name: string; readonly version: string },
  slices: readonly Slice[],
  all: readonly MachineComponentSet[],
): Ladder {
  const { steps, soak, maxUnavailable } = spec.rollout
  const total = status?.counts?.total ?? 0
  const count = Math.min(MOST_RUNGS, Math.max(stepCount(steps, total), 1 + Math.max(...slices.map((s) => s.step))))
  let reached = 0
  const rungs = [...Array(count).keys()].map((step): Rung => {
    reached = Math.min(total, reached + stepSize(steps, step, total))
    return { step, machines: reached, state: stateOf(slices, step) }
  })
  const { ms, isAssumed } = durationsOf(all, 0.5)(metadata.name ?? '', name)
  const left = rungs.filter((r) => r.state === 'Waiting' || r.state === 'Open' || r.state === 'Soaking')
  const atOnce = Math.max(1, shareOf(maxUnavailable, total))
  const soakMs = durationMs(soak) ?? 0
  const msOf = (rung: Rung): number => {
    const size = rung.machines - (rungs[rung.step - 1]?.machines ?? 0)
    return (rung.state === 'Soaking' ? 0 : Math.ceil(size / atOnce) * ms) + soakMs
  }
  return {
    component: name,
    version,
    rungs,
    ...(!isAssumed && { minutesLeft: Math.ceil(left.reduce((sum, r) => sum + msOf(r), 0) / 60_000) }),
  }
}

/** Steps before the first listed slice have passed: finished slices leave the status after a while. */
function stateOf(slices: readonly Slice[], step: number): RungState {
  const own = slices.filter((s) => s.step === step)
  if (own.length === 0) return slices.some((s) => s.step > step) ? 'Passed' : 'Waiting'
  if (own.some((s) => s.phase === 'Failed')) return 'Failed'
  if (own.some((s) => OPEN.has(s.phase))) return 'Open'
  if (own.some((s) => s.phase === 'Soaking')) return 'Soaking'
  return 'Passed'
}
