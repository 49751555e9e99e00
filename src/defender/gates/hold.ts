// What people hold: a freeze, a pause, an abort.
import type { GateVerdict } from '../gate.ts'
import { holdsOver } from '../holds.ts'
import type { Ground, Question } from '../question.ts'
import { wait } from '../say.ts'
import { conditionStatus } from '../unit.ts'

export function holdGate(
  { permit, unit }: Pick<Question, 'permit' | 'unit'>,
  { snapshot }: Pick<Ground, 'snapshot'>,
): GateVerdict | undefined {
  const { holds, cluster, wall } = snapshot
  // The file on the node binds us as well: steps of ours would disrupt it without asking its agent.
  if (conditionStatus(unit.source, 'Frozen') === 'True')
    return wait('Hold', {
      reason: 'HoldFreeze',
      seen: `${unit.name} is frozen by a file on it`,
      limit: 'until the file is removed',
    })
  const over = holdsOver(holds, ['Freeze', 'Pause', 'Abort'], { permit, unit }, { cluster, now: wall })
  const hold = over.find((h) => h.spec.effect === 'Freeze') ?? over[0]
  if (hold === undefined) return undefined
  const reason = ({ Freeze: 'HoldFreeze', Pause: 'HoldPause', Abort: 'HoldAbort' } as const)[
    hold.spec.effect as 'Freeze' | 'Pause' | 'Abort'
  ]
  const seen = `${hold.metadata.name}: ${hold.spec.reason} (${hold.spec.author})`
  return wait('Hold', { reason, seen, limit: `until ${hold.spec.until}` })
}
