// The steps of a rollout as bars, one line for each component in progress, with the remaining time. Pure.
import type { MachineComponentSet, Slice } from '#api/kinds/machine-component-set.ts'
import { activeMachines } from '#api/protocol/part.ts'
import { formatDuration } from '#lib/duration.ts'
import { type Ladder, ladderOf } from './ladder.ts'

type Rung = Ladder['rungs'][number]

const BAR = 4
/** When the last step repeats, the ones around the open step are shown. */
const MOST_SHOWN = 6
const BEFORE_OPEN = 2

const DONE: ReadonlySet<string> = new Set(['Passed', 'Soaking', 'Inspecting'])

/** `beacon 1.1.0  1[====] 5[==--] 10[    ]  about 4m left`: done `=`, switching `-`, soaking `~`, failed `!`. */
export function ladderLines(set: MachineComponentSet, all: readonly MachineComponentSet[]): readonly string[] {
  return ladderOf(set, all).flatMap((ladder) => {
    // Finished slices stay in the status for a while.
    if (ladder.rungs.every((r) => r.state === 'Passed')) return []
    const own = (set.status?.slices ?? []).filter(
      (s) => s.component === ladder.component && s.version === ladder.version,
    )
    return `${ladder.component} ${ladder.version}  ${barsOf(ladder, own)}${leftOf(ladder)}`
  })
}

function barsOf({ rungs }: Ladder, slices: readonly Slice[]): string {
  const open = rungs.findIndex((r) => r.state !== 'Passed')
  const around = open === -1 ? rungs.length : open
  const start = Math.max(0, Math.min(around - BEFORE_OPEN, rungs.length - MOST_SHOWN))
  const bars = rungs.slice(start, start + MOST_SHOWN).map((rung) => {
    const size = rung.machines - (rungs[rung.step - 1]?.machines ?? 0)
    return `${rung.machines}[${barOf(rung, size, slices)}]`
  })
  const more = start + MOST_SHOWN < rungs.length
  return [...(start > 0 ? ['…'] : []), ...bars, ...(more ? ['…'] : [])].join(' ')
}

function barOf({ step, state }: Rung, size: number, slices: readonly Slice[]): string {
  if (state === 'Passed') return '='.repeat(BAR)
  if (state === 'Waiting') return ' '.repeat(BAR)
  if (state === 'Soaking') return '~'.repeat(BAR)
  if (state === 'Failed') return '!'.repeat(BAR)
  const partOf = (isMeant: (s: Slice) => boolean): number => {
    const machines = slices
      .filter((s) => s.step === step && isMeant(s))
      .reduce((n, s) => n + activeMachines(s).length, 0)
    return Math.min(BAR, Math.floor((machines / Math.max(1, size)) * BAR))
  }
  const done = partOf((s) => DONE.has(s.phase))
  const begun = Math.max(
    done,
    partOf(() => true),
  )
  return `${'='.repeat(done)}${'-'.repeat(begun - done)}`.padEnd(BAR)
}

const MINUTE_MS = 60_000

/** Empty if nothing was measured. */
function leftOf({ rungs, minutesLeft }: Ladder): string {
  const isStopped = rungs.some((r) => r.state === 'Failed')
  if (minutesLeft === undefined || minutesLeft === 0 || isStopped) return ''
  return minutesLeft === 1 ? '  about a minute left' : `  about ${formatDuration(minutesLeft * MINUTE_MS)} left`
}
