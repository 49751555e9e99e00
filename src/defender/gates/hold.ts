// What people hold: a freeze, a pause, an abort.
import type { GateVerdict } from '../gate.ts'
import { holdsOver } from '../holds.ts'
import type { Ground, Question } from '../question.ts'
import { wait } from '../say.ts'

export function holdGate(
  { permit, unit }: Pick<Question, 'permit' | 'unit'>,
  { snapshot }: Pick<Ground, 'snapshot'>,
): GateVerdict | undefined {
  const { holds, cluster, wall } = snapshot
  const over = holdsOver(holds, ['Freeze', 'Pause', 'Abort'], { permit, unit }, { cluster, now: wall })
  const hold = over.find((h) => h.spec.effect === 'Freeze') ?? over[0]
  if (hold === undefined) return undefined
  const reason = ({ Freeze: 'HoldFreeze', Pause: 'HoldPause', Abort: 'HoldAbort' } as const)[
    hold.spec.effect as 'Freeze' | 'Pause' | 'Abort'
  ]
  const seen = `${hold.metadata.name}: ${hold.spec.reason} (${hold.spec.author})`
  return wait('Hold', { reason, seen, limit: `until ${hold.spec.until}` })
}
