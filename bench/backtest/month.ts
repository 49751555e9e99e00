// A month of a large fleet as recorded lines, made as they are read: nothing of it is kept. The mix of transitions: of ten, seven change what no rule reads
// (annotations, resources), two the reason or message of a condition, and nearly one the status of a condition without making a rule true: its detector does not
// know for a while. Of four hundred, one is a fault that begins or ends: 7,500 in the month, 250 a day, each for some minutes.
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { timestamp } from '#lib/clock.ts'
import { seededRandom } from '#lib/random.ts'
import type { HistoryLine } from '#history/lines/line.ts'

type Line = Exclude<HistoryLine, { readonly line: 'head' }>

export const BEGINS = Date.UTC(2026, 9, 1)
export const MONTH_MS = 30 * 86_400_000
const FAULTY = 0.0025
const UNSURE = 0.09
const DETAILS = 0.2
const RACK = 40
const COMMON = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'] as const

const conditionOf = (rule: number): string => `Fault${String(rule).padStart(2, '0')}`

/** Each about its own condition; every fifth also about peers, every seventh with an age, as in a real fleet. */
export function rulesOf(count: number, holdDown: string): readonly NodeRemedier[] {
  return Array.from({ length: count }, (_, n) => {
    const type = conditionOf(n)
    const is = { fact: 'conditions', path: `/${type}/status`, operator: 'equal', value: 'True' }
    const aged = n % 7 === 0 ? { ...is, for: '1m' } : is
    const alone = { fact: 'peers', path: `/pool/${type}`, operator: 'ratioAtMost', value: 0.2 }
    const all = n % 5 === 0 ? [aged, alone] : [aged]
    const verify = { conditionCleared: type, stableFor: '1m' }
    return applyDefaults(nodeRemedier.schema, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'NodeRemedier',
      metadata: { name: `fault-${n}`, uid: `rule-${n}`, generation: 1 },
      spec: {
        when: { all },
        for: n % 10 === 0 ? holdDown : '30s',
        priority: n % 3,
        ladder: [
          { operations: [{ restartComponent: { component: 'kubelet' } }], timeout: '5m', verify },
          { operations: [{ cordon: {} }, { drain: {} }, { reboot: {} }], timeout: '30m', verify },
        ],
        limits: { perNodePerDay: 3, perHour: 60, perDay: 600, maxInFlight: '1%' },
      },
    }) as NodeRemedier
  })
}

const statusOf = (type: string, status: string, n: number): string =>
  `{"message":"# of # is in use","reason":"R${n % 9}","status":"${status}","type":"${type}"}`

function* fleet(count: number, rules: number): Generator<Line> {
  const types = [...COMMON, ...Array.from({ length: rules }, (_, n) => conditionOf(n))]
  const order = JSON.stringify(types)
  for (let n = 0; n < count; n++) {
    const name = `worker-${n}`
    const row = (subject: number, topic: string, value: string): Line => ({
      line: 'row',
      observed: BEGINS,
      reported: BEGINS,
      subject,
      topic,
      value,
    })
    yield { line: 'subject', id: 2 * n, kind: 'Node', namespace: '', name, uid: `node-${n}` }
    yield row(2 * n, 'exists', 'true')
    yield row(2 * n, 'metadata/labels/kubenode.io~1pool', `"pool-${n % 5}"`)
    yield row(2 * n, 'status/conditions', order)
    for (const type of types)
      yield row(2 * n, `status/conditions/${type}`, statusOf(type, type === 'Ready' ? 'True' : 'False', 0))
    yield { line: 'subject', id: 2 * n + 1, kind: 'Machine', namespace: '', name, uid: `machine-${n}` }
    yield row(2 * n + 1, 'exists', 'true')
    yield row(2 * n + 1, 'spec/pool', `"pool-${n % 5}"`)
    yield row(2 * n + 1, 'spec/zone', `"zone-${n % 3}"`)
    yield row(2 * n + 1, 'spec/rack', `"rack-${Math.floor(n / RACK)}"`)
    yield row(2 * n + 1, 'status/phase', '"Ready"')
    yield row(2 * n + 1, 'status/inServiceSince', `"${timestamp(BEGINS)}"`)
    yield row(2 * n + 1, 'status/nodeRef', JSON.stringify({ name, uid: `node-${n}` }))
    yield row(2 * n + 1, 'status/conditions', '["AgentReachable","Ready"]')
    for (const type of ['AgentReachable', 'Ready'])
      yield row(2 * n + 1, `status/conditions/${type}`, statusOf(type, 'True', 0))
  }
}

interface Episode {
  readonly node: number
  readonly type: string
  readonly ends: number
}

/** The first rows are the fleet itself. */
export function* month(count: number, transitions: number, rules: number): Generator<Line> {
  yield* fleet(count, rules)
  const random = seededRandom(65)
  const open: Episode[] = []
  for (let n = 0; n < transitions; n++) {
    const observed = BEGINS + 1 + Math.floor(((n + 1) / transitions) * (MONTH_MS - 2))
    const row = (node: number, topic: string, value: string, reported = observed): Line => ({
      line: 'row',
      observed,
      reported,
      subject: 2 * node,
      topic,
      value,
    })
    const over = open.findIndex((episode) => episode.ends <= observed)
    if (over >= 0) {
      const [{ node, type }] = open.splice(over, 1) as [Episode]
      yield row(node, `status/conditions/${type}`, statusOf(type, 'False', n))
      continue
    }
    const node = random.below(count)
    const luck = random.next()
    const type = conditionOf(random.below(rules))
    const isTaken = open.some((e) => e.node === node && e.type === type)
    if (luck < (FAULTY + UNSURE) / 2 && !isTaken) {
      open.push({ node, type, ends: observed + random.below(20 * 60_000) })
      yield row(node, `status/conditions/${type}`, statusOf(type, luck < FAULTY / 2 ? 'True' : 'Unknown', n))
    } else if (luck < (FAULTY + UNSURE) / 2 + DETAILS && !isTaken)
      yield row(node, `status/conditions/MemoryPressure`, statusOf('MemoryPressure', 'False', n), BEGINS)
    else
      yield row(node, n % 2 === 0 ? 'metadata/annotations/example.com~1seen' : 'status/allocatable', `"${n % 1_000}"`)
  }
}
