// A history that the simulator made with the real controllers and the real recorder, replayed: the same rules ask for exactly the jobs that happened.
import { describe, expect, test } from 'vitest'
import { Backtest } from '#forecast/backtest/backtest.ts'
import type { BacktestResult } from '#forecast/backtest/result.ts'
import type { HistoryLine } from '#history/lines/line.ts'
import { redactedLines } from '#history/lines/redacted.ts'
import { simulate } from '../harness.ts'
import { morePhases, remedySimulation } from '../remedy/simulation.ts'
import { recording } from './recorder.ts'

const AS_RECORDED = { rules: undefined, policies: undefined }

async function replayed(lines: Iterable<HistoryLine>, seeds = 0): Promise<BacktestResult> {
  const backtest = new Backtest({ cluster: 'sim', base: AS_RECORDED, change: AS_RECORDED, seeds })
  let to = 0
  for (const line of lines) {
    if (line.line === 'head') to = line.to
    else await backtest.take(line)
  }
  return backtest.end(to)
}

async function recorded(named?: readonly string[]): Promise<readonly HistoryLine[]> {
  const simulation = named === undefined ? remedySimulation() : remedySimulation(undefined, undefined, named)
  const { actor, lines } = recording()
  const run = await simulate({ ...simulation, actors: () => [...simulation.actors(), actor] }, 0)
  expect(run.violations).toEqual([])
  return lines()
}

describe('a replay of what the simulator recorded', () => {
  test.each([
    ['one rule', undefined],
    ['several rules', ['a rule, and nodes that are well', ...morePhases.map((p) => p.name)]],
  ])('%s: asks for exactly the jobs that happened', async (_, named) => {
    const lines = await recorded(named)
    const result = await replayed(lines)
    expect(result.calibration).toMatchObject({ missing: [], invented: [], share: 1 })
    // Redacted, the jobs have other names: they are found by node, rule, rung and time. Two faults of a node within a minute may be taken for one.
    const redacted = redactedLines(() => lines, { key: new Uint8Array(32) })
    expect((await replayed(redacted)).calibration.share).toBeGreaterThan(0.9)
    const { recorded: happened, exact } = result.calibration
    expect(happened).toBeGreaterThan(5)
    // By name, which has the node, the rule, the second in which the fault began, the rung and the attempt.
    expect(exact).toBe(happened)
    expect(result.total).toEqual({ added: 0, removed: 0, earlier: 0, later: 0 })
    expect(result.change).toEqual(result.base)
  })
})
