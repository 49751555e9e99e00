import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { seeds } from '#test/support/scheduler.ts'
import { describe, expect, test } from 'vitest'
import { checkEveryWrite, checkSeeds, referenceRun } from '../harness.ts'
import { remedySimulation } from './simulation.ts'

const SEEDS = 20

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

  test(`whatever goes wrong, ${SEEDS} seeds end as if nothing had`, { timeout: 300_000 }, async () => {
    await checkSeeds(remedySimulation(), seeds(SEEDS))
  })

  test(
    'F1 F2: the controllers may die before and after any single write of a repair, and lose the reply of any',
    { timeout: 300_000 },
    async () => {
      const simulation = remedySimulation(undefined, undefined, ['a rule, and nodes that are well', 'one node fails'])
      expect(await checkEveryWrite(simulation, 'controllers')).toBeGreaterThan(40)
    },
  )
})
