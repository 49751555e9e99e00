// The gate for holds by people: freeze, pause, abort.
import { holdOf, isNodeFrozen } from '#permits/holds/in-force.ts'
import type { GateVerdict } from '../gate.ts'
import { holdsOn } from '../holds.ts'
import type { GateContext, Question } from '../question.ts'
import { wait } from '../verdict-of.ts'

const STOPS = ['Freeze', 'Pause', 'Abort'] as const

export function holdGate(
  { permit, unit }: Pick<Question, 'permit' | 'unit'>,
  { snapshot }: Pick<GateContext, 'snapshot'>,
): GateVerdict | undefined {
  const { holds, cluster, wall } = snapshot
  // The file on the node binds the Defender as well: central steps would disrupt the node without asking its agent.
  if (isNodeFrozen(unit.source))
    return wait('Hold', {
      reason: 'HoldFreeze',
      seen: `${unit.name} is frozen by a file on it`,
      limit: 'until the file is removed',
    })
  const over = holdsOn(holds, STOPS, { permit, unit }, { cluster, now: wall })
  const hold = holdOf(over, ...STOPS)
  if (hold === undefined) return undefined
  const reason = ({ Freeze: 'HoldFreeze', Pause: 'HoldPause', Abort: 'HoldAbort' } as const)[
    hold.spec.effect as 'Freeze' | 'Pause' | 'Abort'
  ]
  const seen = `${hold.metadata.name}: ${hold.spec.reason} (${hold.spec.author})`
  return wait('Hold', { reason, seen, hold: hold.metadata.name ?? '', limit: `until ${hold.spec.until}` })
}
