import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { seeds } from '#test/support/clocks/scheduler.ts'
import { describe, expect, test } from 'vitest'
import { checkEveryWrite, checkSeeds, referenceRun, simulate } from '../harness.ts'
import { controllers, morePhases, remedySimulation } from './simulation.ts'
import { inFull, isFull } from '#test/support/tools/full.ts'

/** A thousand where there is time. */
const SEEDS = inFull(1_000, 2)
const MORE_SEEDS = inFull(1_000, 1)
/** A rejected supersession that was not retried; two nodes that fell silent while permits for others were requested. */
const HARD = process.env['SIM_SEED'] === undefined ? [296, 446, 845] : []
const FULL_MS = 7_200_000
const MORE = ['a rule, and nodes that are well', ...morePhases.map((p) => p.name)]

function summaryOf(state: unknown): string {
  const { nodes, open, listed, held, rules } = state as {
    readonly nodes: readonly { readonly name: string; readonly isBad: boolean; readonly isCordoned: boolean }[]
    readonly open: readonly string[]
    readonly listed: number
    readonly held: number
    readonly rules: readonly { readonly conditions?: readonly string[] }[]
  }
  const names = (list: typeof nodes) => list.map((n) => n.name).join(' ') || 'none'
  const told = rules
    .flatMap((r) => r.conditions ?? [])
    .filter((c) => !['Ready True', 'RuleActive True'].includes(c) && !c.endsWith('False'))
  const bad = rules.flatMap((r) => r.conditions ?? []).filter((c) => c === 'RuleActive False')
  return `bad ${names(nodes.filter((n) => n.isBad))}, cordoned ${names(nodes.filter((n) => n.isCordoned))}, open ${open.join('; ') || 'none'}, ${listed} listed, ${held} held, ${[...told, ...bad].join(', ') || 'calm'}`
}

describe('repairs', () => {
  test('without faults each phase ends as it should', async () => {
    const simulation = remedySimulation()
    let jobs: readonly RemedyOperationJob[] = []
    const { states } = await referenceRun({
      ...simulation,
      state: (world) => {
        jobs = world.fake.all(remedyOperationJob) as readonly RemedyOperationJob[]
        return simulation.state?.(world)
      },
    })
    const summary = jobs.map((j) => `${j.spec.node.name} ${j.spec.rung} ${j.status?.outcome}`)
    expect(states.map((one, n) => `${simulation.phases[n]?.name}: ${summaryOf(one)}`)).toMatchInlineSnapshot(`
      [
        "a rule, and nodes that are well: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "one node fails: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "flaps within one gap: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "heals by itself: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "three fail, and the first rung does not help one: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "all fail at once: bad n0 n1 n2 n3 n4 n5 n6 n7 n8 n9, cordoned none, open none, 0 listed, 0 held, Inhibited True",
        "they heal one by one: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "the Defender is away: bad n0, cordoned none, open n0 0 AwaitingPermit PermitRequested, 0 listed, 0 held, calm",
        "flaps while the job waits: bad n0, cordoned none, open n0 0 AwaitingPermit PermitRequested, 0 listed, 0 held, calm",
        "the Defender is back: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "a broken rule does not replace the good one: bad none, cordoned none, open none, 0 listed, 0 held, Stalled True, RuleActive False",
        "corrected: bad none, cordoned none, open none, 0 listed, 0 held, calm",
      ]
    `)
    // A rung that does not help leads to the next one; what heals by itself is left alone.
    expect(summary).toEqual(
      expect.arrayContaining(['n0 0 Succeeded', 'n2 0 Superseded', 'n3 0 Escalated', 'n3 1 Succeeded']),
    )
  })

  test(
    `F3 F5 F19 whatever goes wrong, ${SEEDS} seeds end as if nothing had`,
    { timeout: isFull ? FULL_MS : 900_000 },
    async () => {
      await checkSeeds(remedySimulation(), seeds(SEEDS))
    },
  )

  test(
    'F1 F2: the controllers may die before and after any single write of a repair, and lose the reply of any',
    { timeout: 900_000 },
    async () => {
      const simulation = remedySimulation(undefined, undefined, ['a rule, and nodes that are well', 'one node fails'])
      expect(await checkEveryWrite(simulation, 'controllers')).toBeGreaterThan(15)
    },
  )

  test('F19 F20 two rules on one node, a silent zone, a rule deleted while its job waits: each phase ends as it should', async () => {
    const { states } = await referenceRun(remedySimulation(undefined, undefined, MORE))
    expect(states.map((one, n) => `${MORE[n]}: ${summaryOf(one)}`)).toMatchInlineSnapshot(`
      [
        "a rule, and nodes that are well: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "a second, higher rule; the Defender is away: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "two rules hit one node: bad n6, cordoned none, open n6 0 AwaitingPermit PermitRequested by the higher rule, 0 listed, 0 held, calm",
        "the Defender decides again: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "a zone falls silent with a broken node in it, and a node elsewhere breaks: bad n1 n8, cordoned none, open n8 0 AwaitingPermit CohortBlamed, 0 listed, 0 held, calm",
        "the zone is heard again: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "the node that fails falls silent before it is repaired: bad n9, cordoned none, open n9 0 AwaitingPermit SafetyReadingUnknown, 0 listed, 0 held, calm",
        "and is heard of again: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "a node that never failed does, while the Defender is away: bad n7, cordoned none, open n7 0 AwaitingPermit PermitRequested, 0 listed, 0 held, calm",
        "its repair is held: bad n7, cordoned none, open n7 0 AwaitingPermit HoldPause, 0 listed, 0 held, calm",
        "the Defender grants what is held: the slot goes back: bad n7, cordoned none, open n7 0 AwaitingPermit HoldPause, 0 listed, 0 held, calm",
        "the hold is over: bad none, cordoned none, open none, 0 listed, 0 held, calm",
        "the rule is deleted while its job waits: bad n7, cordoned none, open none, 0 listed, 0 held, calm",
      ]
    `)
  })

  test(`F19 F20 the same with ${MORE_SEEDS} seeds of faults`, { timeout: isFull ? FULL_MS : 900_000 }, async () => {
    await checkSeeds(remedySimulation(undefined, undefined, MORE), new Set([...HARD, ...seeds(MORE_SEEDS)]))
  })

  test('F15 two controllers that both think that they lead make no second job and start none without a permit', async () => {
    const simulation = remedySimulation(undefined, [])
    const invariants = Object.fromEntries(
      Object.entries(simulation.invariants ?? {}).filter(([name]) => name !== 'withinLimits'),
    )
    const split = { ...simulation, invariants, actors: () => [controllers(undefined, 'twin'), ...simulation.actors()] }
    for (const seed of seeds(inFull(50, 1))) {
      const { violations } = await simulate(split, seed)
      expect(violations.filter((v) => v.oracle === 'O3')).toEqual([])
    }
  })

  test(
    'F16 a wall clock that jumps by hours and a day breaks no invariant of level',
    { timeout: isFull ? FULL_MS : 600_000 },
    async () => {
      const simulation = remedySimulation(undefined, ['WallJump', 'Crash', 'Pause'])
      // Windows are counted by stamps; a day that never was holds none of what was before it.
      const invariants = Object.fromEntries(
        Object.entries(simulation.invariants ?? {}).filter(([name]) => name !== 'withinLimits'),
      )
      const reference = await referenceRun(remedySimulation())
      for (const seed of seeds(inFull(200, 2))) {
        const { violations } = await simulate({ ...simulation, invariants }, seed, { reference })
        expect([seed, violations.filter((v) => v.oracle === 'O3')]).toEqual([seed, []])
      }
    },
  )
})
