// The agent: what it costs at rest and in a storm, how soon it starts, switches and finds. `rest=0` or `detection=0` leaves out one half.
import { conditionFigures, detectionCpu } from './agent/detection.ts'
import { restFigures } from './agent/rest.ts'
import type { BenchOptions, BenchResult } from './result.ts'

export async function run(options: BenchOptions): Promise<BenchResult> {
  const wants = (part: string): boolean => options.numbers[part] !== 0
  const figures = {
    ...(wants('rest') ? await restFigures(options) : {}),
    ...(wants('detection') ? { ...detectionCpu(), ...(await conditionFigures()) } : {}),
  }
  return { figures, peer: null, ratio: {} }
}
