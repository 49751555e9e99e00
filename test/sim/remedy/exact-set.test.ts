// A thousand failing nodes among ten thousand that look much like them: the plan opens repairs for exactly those.
import { expect, test } from 'vitest'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { plan } from '#controllers/remedy/plan.ts'
import { VerdictBook } from '#controllers/remedy/verdicts/verdict-book.ts'
import { timestamp } from '#lib/clock.ts'
import { type Random, seededRandom } from '#lib/random.ts'
import { RuleBook } from '#nodes/faults/active-rule.ts'
import { type NodeView, nodeView } from '#nodes/faults/node-view.ts'
import { VIRTUAL_EPOCH_MS } from '#test/support/clocks/virtual-clock.ts'
import { seeds } from '#test/support/clocks/scheduler.ts'
import { inFull } from '#test/support/tools/full.ts'

const NODES = 10_000
const FAILURES = 1_000
const NOW = VIRTUAL_EPOCH_MS
const ago = (seconds: number) => timestamp(NOW - seconds * 1_000)

const remedier = {
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'NodeRemedier',
  metadata: { name: 'hung', uid: 'u', generation: 1 },
  spec: {
    ...nodeRemedier.example.spec,
    nodeSelector: { matchLabels: { pool: 'gpu' } },
    when: {
      all: [
        { fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True', for: '30s' },
        { fact: 'conditions', path: '/KernelDeadlock/reason', operator: 'in', value: ['TaskHung', 'DockerHung'] },
        { not: { fact: 'taints', operator: 'contains', value: 'maintenance' } },
      ],
    },
    for: '0s',
    cooldown: '10m',
    relapseWindow: '24h',
    share: 100,
    priority: 0,
    mode: 'Enforce',
    limits: { perNodePerDay: 3, perHour: 10_000, perDay: 10_000, maxInFlight: 10_000 },
    ladder: [{ operations: [{ cordon: {} }], timeout: '30m', retries: 1, verify: { stableFor: '5m' } }],
  },
} as unknown as NodeRemedier

interface Look {
  readonly pool: string
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly since: number
  readonly taint: string
  readonly ready: string
}
const BROKEN: Look = {
  pool: 'gpu',
  type: 'KernelDeadlock',
  status: 'True',
  reason: 'TaskHung',
  since: 60,
  taint: 'gpu',
  ready: 'True',
}
/** Each differs from a broken node in one thing. */
const LOOKALIKES: readonly Partial<Look>[] = [
  { pool: 'cpu' },
  { type: 'KernelDeadlocks' },
  { status: 'False' },
  { status: 'Unknown' },
  { reason: 'TaskHungOnce' },
  { since: 10 },
  { since: -60 },
  { taint: 'maintenance' },
  { ready: 'Unknown' },
]

function viewOf(n: number, { pool, type, status, reason, since, taint, ready }: Look): NodeView {
  const conditions = [
    { type: 'Ready', status: ready, lastTransitionTime: ago(9_999) },
    { type, status, reason, lastTransitionTime: ago(since) },
  ]
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `n${n}`, uid: `u${n}`, labels: { pool } },
    spec: { taints: [{ key: taint, effect: 'NoSchedule' }] },
    status: { conditions },
  }
  return nodeView(node as never, undefined)
}

function broken(random: Random): ReadonlySet<number> {
  const chosen = new Set<number>()
  while (chosen.size < FAILURES) chosen.add(random.below(NODES))
  return chosen
}

const SEEDS = inFull(10, 2)

test.each(seeds(SEEDS))(
  'F19 of ten thousand lookalikes exactly the thousand that failed are repaired, seed %i',
  async (seed) => {
    const random = seededRandom(seed)
    const bad = broken(random)
    const views = new Map<string, NodeView>()
    for (let n = 0; n < NODES; n++)
      views.set(`n${n}`, viewOf(n, bad.has(n) ? BROKEN : { ...BROKEN, ...random.pick(LOOKALIKES) }))
    const reading = new RuleBook().read(remedier, [])
    const verdicts = new VerdictBook({ sleep: async () => undefined })
    const active = reading.active === undefined ? [] : [reading.active]
    await verdicts.update(views, { active, remediers: [remedier], repairsOf: () => ({}) }, NOW)
    const { actions } = plan(
      {
        rules: [reading],
        revisions: [],
        nodes: verdicts.bad(),
        counts: verdicts.counts(),
        jobs: [],
        holds: [],
        maintained: new Map(),
        isTimed: false,
      },
      NOW,
    )
    const repaired = actions.flatMap((a) => (a.kind === 'CreateJob' ? a.job.node.name : []))
    expect(repaired.toSorted()).toEqual([...bad].map((n) => `n${n}`).toSorted())
  },
)
