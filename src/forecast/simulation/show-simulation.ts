// Simulates a commit on a cluster under scenarios, prints the answers, and exits with 1 when an expectation does not hold.
import { join, resolve } from 'node:path'
import { nodeRemedier, type NodeRemedier } from '#api/kinds/node-remedier.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { defined } from '#lib/defined.ts'
import { parseDuration } from '#lib/duration.ts'
import { shownJson, shownLine } from '#lib/printable.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import { withProgress } from '#lib/terminal/progress.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { findCage } from '#sync/render/cage.ts'
import { expectedObjects } from '../objects.ts'
import { builtIn } from './built-ins.ts'
import { untimed } from './durations.ts'
import { junitOf, terminalText } from './forms.ts'
import { type NamedScenario, scenarioFiles } from './scenario-files.ts'
import { type SimulationResult, simulate } from './simulate.ts'
import { type TriedAsked, triedOn } from './tried.ts'
import type { WhatIf } from './what-ifs.ts'

export interface SimulateAsked extends TriedAsked {
  readonly whatIf?: readonly WhatIf[] | undefined
  readonly seeds: number
  /** How much time is simulated at most. */
  readonly for: string
  readonly output: 'text' | 'json' | 'junit'
}

export async function showSimulation(names: readonly string[], asked: SimulateAsked, io: Io): Promise<void> {
  const mostMs = parseDuration(asked.for)
  const { whatIf = [] } = asked
  const written = names.length === 0 && whatIf.length > 0 ? [] : await writtenScenarios(names, asked, io)
  const { now, before, after, commit, assumed } = await triedOn(asked, io)
  const expected = expectedObjects(now, before, after)
  const { objects, changedSets } = expected
  const scenarios = [...written, ...whatIf.map((name) => ({ name, scenario: builtIn(name, objects, changedSets) }))]
  const rules = after
    .filter((o) => o.kind === 'NodeRemedier')
    .map((o) => applyDefaults(nodeRemedier.schema, o) as NodeRemedier)
  const results: SimulationResult[] = []
  for (const { name, scenario } of scenarios) {
    const simulating = simulate({
      name,
      objects,
      changedSets,
      rules,
      scenario,
      seeds: asked.seeds,
      begin: Date.parse(now.takenAt),
      mostMs: scenario.until === undefined ? mostMs : parseDuration(scenario.until),
      pause: () => new Promise((done) => setImmediate(done)),
    })
    results.push(await withProgress(io, `simulating ${name}`, simulating))
  }
  const components = new Set(results.flatMap((r) => r.switched))
  const shown = { cluster: now.cluster, commit, results, untimed: untimed(objects.sets, components) }
  show({ ...shown, ...defined({ assumed }) }, asked, io)
}

async function writtenScenarios(
  names: readonly string[],
  { repo, path, weakCage, weakCageNote }: SimulateAsked,
  io: Io,
): Promise<readonly NamedScenario[]> {
  const cage = async () => {
    const found = await findCage(weakCage)
    if (found.isWeak) io.err(weakCageNote)
    return found
  }
  const { workTree } = openLocalRepository(resolve(io.cwd, repo ?? '.'), { above: true }).folder
  return scenarioFiles(join(workTree ?? io.cwd, path), names, { cwd: io.cwd, cage })
}

function show(shown: Parameters<typeof terminalText>[0], { output }: SimulateAsked, io: Io): void {
  if (output === 'json') io.out(shownJson(shown))
  else io.out(output === 'junit' ? junitOf(shown) : terminalText(shown, io.width?.()))
  const failed = shown.results.flatMap(({ name, unmet, untested, expected }) =>
    [...(expected.length === 0 ? [] : untested), ...unmet.map((u) => u.expectation)].map((why) => `${name}: ${why}`),
  )
  if (failed.length === 0) return
  showProblem(io, shownLine(`not as expected: ${failed.join('; ')}`))
  throw new Exit(EXIT_DIFFERENT)
}
