// A storm of faults: 50 rules over 10,000 nodes, of which 10 % have three live condition types (dense: all of them have). Ours (index and JSON
// pointers) against json-rules-engine asked naively: one engine with every rule, its own JSONPath, every node. The same rules, the same facts, the
// same verdicts, in turns. The naive side is asked about a share of the nodes and scaled: it would take most of a minute otherwise.
import { createRequire } from 'node:module'
import { Engine } from 'json-rules-engine'
import type { RuleProperties } from 'json-rules-engine'
import { systemClock } from '#lib/system-clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { jsonEqual } from '#lib/json.ts'
import { seededRandom } from '#lib/random.ts'
import type { Random } from '#lib/random.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { evaluate } from '#policy/evaluate.ts'
import { nodeFacts, nodeVocabulary } from '#policy/node-vocabulary.ts'
import { describeProblem } from '#policy/problem.ts'
import type { Facts } from '#policy/reading.ts'
import { createRuleset } from '#policy/ruleset.ts'
import type { Ruleset } from '#policy/ruleset.ts'
import { median, rounded } from './result.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'

const NODES = 10_000
const LIVE_SHARE = 0.1
const LIVE_TYPES = 3
const ROUNDS = 5
const NAIVE_SAMPLE = 600
const NOW = Date.parse('2026-06-01T12:00:00Z')

/** What node-problem-detector and its plugins report on real fleets, the kubelet's own among them. */
const CONDITION_TYPES =
  `Ready MemoryPressure DiskPressure PIDPressure NetworkUnavailable KernelDeadlock ReadonlyFilesystem CorruptDockerOverlay2
  FrequentKubeletRestart FrequentContainerdRestart FrequentUnregisterNetDevice HungTask OOMStorm DiskSlow DiskFailing NTPProblem
  ConntrackFull NicFlapping GpuXid GpuLost MceCorrected MceFatal FdExhausted RuntimeHung CniDown`.split(/\s+/)

/** Two rules a condition type: one on its duration, one on its reason and the place of the node. */
function definitions(): readonly (readonly [string, object])[] {
  return CONDITION_TYPES.flatMap((type, i) => {
    const live = {
      fact: 'conditions',
      path: `/${type}/status`,
      operator: 'equal',
      value: type === 'Ready' ? 'Unknown' : 'True',
    }
    const reason = { fact: 'conditions', path: `/${type}/reason`, operator: 'in', value: ['Broken', 'Lost'] }
    const pool = { fact: 'labels', path: '/pool', operator: 'equal', value: `pool-${i % 4}` }
    const arch = { fact: 'system', path: '/arch', operator: 'notEqual', value: 'arm64' }
    const cordoned = { fact: 'unschedulable', operator: 'equal', value: true }
    return [
      [`${type}-long`, { all: [{ ...live, for: '5m' }, { not: cordoned }] }],
      [`${type}-broken`, { all: [live, reason, { any: [pool, { all: [arch, cordoned] }] }] }],
    ] as const
  })
}

function rulesetOf(rules: readonly (readonly [string, object])[]): Ruleset {
  const vocabulary = nodeVocabulary({ conditionTypes: CONDITION_TYPES })
  return createRuleset(
    rules.map(([name, definition]) => {
      const result = compileRule(name, definition, vocabulary)
      if (!result.ok) throw new Error(result.problems.map(describeProblem).join('\n'))
      return result.rule
    }),
  )
}

/** The same rule as a user would write it for the plain engine: JSONPath, and `for` as a second leaf with a custom operator. */
function naively(term: unknown): unknown {
  if (Array.isArray(term)) return term.map(naively)
  if (typeof term !== 'object' || term === null || !('fact' in term))
    return typeof term === 'object' && term !== null
      ? Object.fromEntries(Object.entries(term).map(([key, inner]) => [key, naively(inner)]))
      : term
  const { for: held, ...leaf } = term as { readonly fact: string; readonly path?: string; readonly for?: string }
  const plain = leaf.path === undefined ? leaf : { ...leaf, path: jsonPath(leaf.path) }
  if (held === undefined || leaf.path === undefined) return plain
  const since = jsonPath(leaf.path.replace(/status$/, 'lastTransitionTime'))
  return { all: [plain, { fact: leaf.fact, path: since, operator: 'heldFor', value: parseDuration(held) }] }
}

const jsonPath = (pointer: string): string => `$${pointer.replaceAll('/', '.')}`

function naiveEngine(rules: readonly (readonly [string, object])[]): Engine {
  const engine = new Engine()
  engine.addOperator('heldFor', (since: string, ms: number) => NOW - Date.parse(since) >= ms)
  for (const [name, definition] of rules)
    engine.addRule({ name, conditions: naively(definition) as RuleProperties['conditions'], event: { type: name } })
  return engine
}

function fleet(count: number, liveShare: number, random: Random): readonly Facts[] {
  const live = Math.round(count * liveShare)
  return Array.from({ length: count }, (_, i) =>
    // Spread evenly, so that every stretch of nodes has its share of live ones.
    nodeFacts(nodeObject(i, Math.floor(((i + 1) * live) / count) > Math.floor((i * live) / count), random)),
  )
}

function nodeObject(i: number, isLive: boolean, random: Random) {
  const live = isLive ? liveTypes(random) : new Set<string>()
  return {
    metadata: {
      name: `node-${i}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { pool: `pool-${random.below(4)}`, 'kubernetes.io/hostname': `node-${i}`, rack: `r${i % 200}` },
    },
    spec: { unschedulable: random.below(20) === 0, taints: [] },
    status: {
      nodeInfo: {
        kubeletVersion: 'v1.32.4',
        kernelVersion: '5.10.134-16.3',
        architecture: i % 3 === 0 ? 'arm64' : 'amd64',
      },
      conditions: CONDITION_TYPES.map((type) => ({
        type,
        status: statusOf(type, live.has(type)),
        reason: live.has(type) ? random.pick(['Broken', 'Lost', 'Flapping']) : 'Fine',
        message: live.has(type) ? `${type} was seen in the kernel log` : `no ${type}`,
        lastTransitionTime: new Date(NOW - 1_000 * (1 + random.below(1_200))).toISOString(),
        lastHeartbeatTime: new Date(NOW - 1_000).toISOString(),
      })),
    },
  }
}

function liveTypes(random: Random): ReadonlySet<string> {
  const live = new Set<string>()
  while (live.size < LIVE_TYPES) live.add(random.pick(CONDITION_TYPES))
  return live
}

const statusOf = (type: string, isLive: boolean): string =>
  type === 'Ready' ? (isLive ? 'Unknown' : 'True') : isLive ? 'True' : 'False'

type Fired = readonly (readonly string[])[]

async function timed(ask: () => Promise<Fired>): Promise<{ readonly seconds: number; readonly fired: Fired }> {
  const startedAt = systemClock.monotonic()
  const fired = await ask()
  return { seconds: (systemClock.monotonic() - startedAt) / 1_000, fired }
}

async function askOurs(ruleset: Ruleset, nodes: readonly Facts[]): Promise<Fired> {
  const fired = []
  for (const facts of nodes) fired.push((await evaluate(ruleset, facts, NOW)).fired)
  return fired
}

async function askNaive(engine: Engine, nodes: readonly Facts[]): Promise<Fired> {
  const fired = []
  for (const facts of nodes) fired.push((await engine.run(facts)).results.map((r) => r.name))
  return fired
}

function checkSame(ours: Fired, naive: Fired): void {
  const sorted = (fired: Fired) => fired.map((names) => names.toSorted())
  if (!jsonEqual(sorted(ours), sorted(naive))) throw new Error('the two disagree about which rules fired')
}

export const smoke: Figures = { nodes: 60, naive_sample: 20, rounds: 1 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const count = numbers['nodes'] ?? NODES
  const sample = Math.min(numbers['naive_sample'] ?? NAIVE_SAMPLE, count)
  const rounds = numbers['rounds'] ?? ROUNDS
  const rules = definitions()
  const [ruleset, engine] = [rulesetOf(rules), naiveEngine(rules)]
  const random = seededRandom(7)
  const [storm, dense] = [fleet(count, LIVE_SHARE, random), fleet(count, 1, random)]

  const rows: {
    readonly storm: number
    readonly dense: number
    readonly naive: number
    readonly naiveDense: number
  }[] = []
  let firedInAll = 0
  for (let round = 0; round <= rounds; round++) {
    const from = (round * sample) % (count - sample + 1)
    const part = (fired: Fired) => fired.slice(from, from + sample)
    const a = await timed(() => askOurs(ruleset, storm))
    const b = await timed(() => askNaive(engine, storm.slice(from, from + sample)))
    const c = await timed(() => askOurs(ruleset, dense))
    const d = await timed(() => askNaive(engine, dense.slice(from, from + sample)))
    checkSame(part(a.fired), b.fired)
    checkSame(part(c.fired), d.fired)
    firedInAll = a.fired.flat().length
    const scale = count / sample
    // The first round warms both up.
    if (round > 0)
      rows.push({ storm: a.seconds, dense: c.seconds, naive: b.seconds * scale, naiveDense: d.seconds * scale })
  }
  return {
    figures: {
      storm_s: rounded(median(rows.map((r) => r.storm))),
      dense_s: rounded(median(rows.map((r) => r.dense))),
      nodes: count,
      rules: rules.length,
      fired: firedInAll,
      rounds: rows.length,
      naive_sampled_nodes: sample,
    },
    peer: {
      name: 'json-rules-engine, JSONPath, every rule',
      figures: {
        storm_s: rounded(median(rows.map((r) => r.naive))),
        dense_s: rounded(median(rows.map((r) => r.naiveDense))),
      },
    },
    ratio: {
      naive: rounded(median(rows.map((r) => r.naive / r.storm))),
      naive_dense: rounded(median(rows.map((r) => r.naiveDense / r.dense))),
    },
    versions: { 'json-rules-engine': peerVersion() },
  }
}

function peerVersion(): string {
  const require = createRequire(import.meta.url)
  return (require('json-rules-engine/package.json') as { readonly version: string }).version
}
