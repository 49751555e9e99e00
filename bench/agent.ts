// The agent: what it costs at rest and in a storm, how soon it starts, switches and finds. `rest=0`, `detection=0`, `detectors=0` or
// `npd=0` leaves out a part.
import { conditionFigures, detectionCpu } from './agent/detection.ts'
import { detectorFigures } from './agent/detectors.ts'
import { compareWithNpd } from './agent/npd.ts'
import { restFigures } from './agent/rest.ts'
import { npdProgram } from '#test/support/fleets/npd-program.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'

export const smoke: Figures = {
  npd: 0,
  idle_s: 1,
  calm_s: 1,
  starts: 1,
  switches: 1,
  toggles: 4,
  rounds: 1,
  storm_s: 1,
  detectors_s: 1,
}

export async function run(options: BenchOptions): Promise<BenchResult> {
  const wants = (part: string): boolean => options.numbers[part] !== 0
  const program = wants('npd') ? npdProgram(process.env) : undefined
  const figures = {
    // First, while nothing else of this benchmark runs.
    ...(wants('detectors') ? await detectorFigures(options) : {}),
    ...(wants('rest') ? await restFigures(options) : {}),
    ...(wants('detection') ? { ...detectionCpu(options), ...(await conditionFigures(options)) } : {}),
  }
  if (program === undefined) return { figures, peer: null, ratio: {} }
  const { ours, peer, ratio, version } = await compareWithNpd(program)
  return {
    figures: { ...figures, ...ours },
    peer: { name: 'node-problem-detector', figures: peer },
    // Processor time of our agent over theirs: the target is at most 1.
    ratio: { npd: ratio },
    versions: { npd: version },
  }
}
