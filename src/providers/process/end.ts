// Ends everything that runs on a node, like a power cut, and reports whether anything is left.
import type { Clock } from '#lib/clock.ts'
import type { NodeLayout } from './layout.ts'
import { processes, processesOf, signalExactly } from './proc.ts'

/** New processes may start while old ones are killed: kill the agent first, and repeat until a round finds none. */
const ROUNDS = 40
const BETWEEN_ROUNDS_MS = 50

export async function endAll(node: NodeLayout, agent: number | undefined, clock: Clock): Promise<'Ended' | 'Left'> {
  for (let round = 0; round < ROUNDS; round++) {
    const own = processesOf(node.dir, await processes(), process.pid)
    if (own.length === 0) return 'Ended'
    const agentFirst = [...own].sort((a, b) => Number(b.pid === agent) - Number(a.pid === agent))
    for (const p of agentFirst) await signalExactly(p, 'SIGKILL')
    await clock.sleep(BETWEEN_ROUNDS_MS)
  }
  return 'Left'
}
