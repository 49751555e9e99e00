// For each gate that can block a repair: it is set up with a real policy, hold or file on a real server, kubenode why-not names it, the printed command is
// run as a user would, and the repair continues.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DefenderPolicyInput, defenderPolicy } from '#api/kinds/defender-policy.ts'
import { KINDS } from '#api/kinds.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { conditionIs } from '#api/node-leaves.ts'
import { run } from '#cli/program.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { requestPermit, reportResults } from '#permits/permits.ts'
import { condition } from '#test/support/fleets/defender-objects.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'
import { inFull, inFullAll } from '#test/support/tools/full.ts'
import { ADMIN } from '#test/support/fleets/holds.ts'

interface Blocker {
  readonly id: string
  readonly of: string
  readonly text: string
  readonly command?: string
}

const NODES = Array.from({ length: inFull(30, 10) }, (_, n) => `n-${n}`)

let bench: RepairBench
let folder = ''
let free = [...NODES]

async function kubenode(argv: readonly string[], needsServer = true): Promise<string> {
  let out = ''
  let err = ''
  const io = {
    out: (t: string) => void (out += t),
    err: (t: string) => void (err += t),
    cwd: '.',
    env: {},
    isTerminal: false,
  }
  const code = await run([...argv, ...(needsServer ? ['--kubeconfig', bench.server.kubeconfig] : [])], io)
  if (code !== 0) throw new Error(`kubenode ${argv.join(' ')}: ${err}`)
  return out
}

const whyNot = async (node: string): Promise<readonly Blocker[]> =>
  JSON.parse(await kubenode(['why-not', `node/${node}`, '-o', 'json'])) as readonly Blocker[]

const words = (line: string): readonly string[] =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, bare]) => single ?? double ?? bare ?? '')

/** What a shell would do with the line; only kubectl is played. */
async function carryOut(line: string): Promise<void> {
  const [program, verb = '', plural = '', name = '', , , , text = ''] = words(line)
  if (program === 'kubenode') return void (await kubenode(words(line).slice(1), !line.includes('--node-folder')))
  const type = KINDS.find((k) => `${k.plural}.kubenode.io` === plural)
  if (program !== 'kubectl' || type === undefined) throw new Error(`no program runs ${line}`)
  if (verb === 'delete') await bench.admin.delete(type, { name })
  else await bench.admin.patch(type, { name }, { type: 'merge', value: JSON.parse(text) as never })
}

const policy = (node: string, spec: DefenderPolicyInput['spec']) =>
  bench.create(defenderPolicy, `p-${node}`, { selector: { matchLabels: { case: node } }, ...spec })
const hold = (effect: string, target: object) => {
  const until = timestamp(systemClock.now() + 3_600_000)
  return bench.create(operationalHold, `hold-${effect.toLowerCase()}`, {
    target,
    effect,
    reason: 'a test',
    author: ADMIN,
    until,
  })
}
const fail = (node: string) => bench.setCondition(node, 'KernelDeadlock', 'True')
const heal = (node: string) => bench.setCondition(node, 'KernelDeadlock', 'False')

/** As the agent reports the file on its node; here only the node of that case has one. */
async function sayFrozen(node: string): Promise<void> {
  const file = join(folder, 'frozen')
  const told = ['Ready', 'AgentReachable', 'InfrastructureReady'].map((type) => condition(type, 'True'))
  const frozen = { ...condition('Frozen', 'True'), message: 'hands off (ada)' }
  const agent = { version: '1.0.0', folder }
  await bench.setMachine(node, { agent, conditions: existsSync(file) ? [...told, frozen] : told })
}

/** A disruption that was permitted and went wrong. */
async function failOnce(node: string): Promise<void> {
  const tools = { client: bench.as('kubenode:controllers'), fieldManager: 'kubenode-remedyjob' } as const
  const uid = (await bench.machine(node))?.metadata.uid ?? ''
  const name = `failed-${node}`
  await requestPermit(tools, name, {
    operations: ['Cordon'],
    targets: [{ kind: 'Machine', name: node, uid }],
    requester: { manager: 'kubenode-remedyjob' },
    reason: 'a test',
    recovery: false,
    leaseSeconds: 60,
  })
  const read = () => bench.admin.get(operationPermit, { name })
  const granted = await bench.until(read, (p) => p?.status?.phase === 'Granted')
  if (granted !== undefined) await reportResults(tools, granted, { [uid]: 'Failed' })
  await bench.until(read, (p) => p?.status?.phase === 'Released')
}

const takeNode = (): string => {
  const [node = '', ...rest] = free
  free = rest
  return node
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-why-not-'))
  bench = await RepairBench.start()
  for (const name of NODES) {
    await bench.addNode(name, { labels: { case: name } })
    await heal(name)
  }
  await bench.startDefender()
  await bench.startControllers([remedyModule, remedyJobModule])
  await bench.rule('deadlock', {
    when: { all: [conditionIs('KernelDeadlock', 'True')] },
    ladder: [{ operations: [{ cordon: {} }], verify: { stableFor: '1s' } }],
    cooldown: '0s',
    limits: { perNodePerDay: 50, perHour: 500, perDay: 500, maxInFlight: 100 },
  })
})

afterAll(async () => {
  await bench.close()
  rmSync(folder, { recursive: true, force: true })
})

const isCordoned = async (node: string): Promise<boolean> =>
  (await bench.node(node))?.spec?.taints?.some((t) => t.key === 'kubenode.io/cordon') === true

const always: DefenderPolicyInput['spec']['rules'] = [
  {
    name: 'never',
    when: { all: [{ fact: 'cluster', path: '/unavailableShare', operator: 'greaterThanInclusive', value: 0 }] },
    reason: 'ClusterBusy',
  },
]

const gates: readonly (readonly [id: string, make: (node: string) => Promise<unknown>])[] = [
  ['Protected', (node) => policy(node, { protect: [{ name: node }] })],
  ['Window', (node) => policy(node, { blackouts: [{ cron: '* * * * *', duration: '1h' }] })],
  ['Window', (node) => policy(node, { windows: [{ cron: '0 0 30 2 *', duration: '1h' }] })],
  ['HealthFloor', (node) => policy(node, { healthFloor: '100%' })],
  [
    'Budget',
    (node) =>
      policy(node, {
        budgets: [
          { max: 5, of: 'unavailable' },
          { max: 0, of: 'concurrent', per: 'zone' },
        ],
      }),
  ],
  [
    'Rate',
    (node) =>
      policy(node, {
        rates: [
          { window: '24h', max: 9 },
          { window: '1h', max: 0 },
        ],
      }),
  ],
  [
    'Breaker',
    async (node) => {
      await policy(node, { breaker: { failures: 1, of: 1, window: '1h', halfOpenAfter: '30m' } })
      await failOnce(node)
    },
  ],
  ['Approval', (node) => policy(node, { approvals: [{ risk: 'Low', from: ['group:system:masters'], count: 1 }] })],
  ['PolicyRule', (node) => policy(node, { rules: always })],
  ['Frozen', (node) => hold('Freeze', { kind: 'Machine', name: node })],
  ['Paused', () => hold('Pause', { kind: 'NodeRemedier', name: 'deadlock' })],
  [
    'FrozenByFile',
    async (node) => {
      mkdirSync(join(folder, 'state'), { recursive: true })
      writeFileSync(join(folder, 'frozen'), 'hands off (ada)\n')
      await sayFrozen(node)
    },
  ],
]

// The words and commands of every gate are in blockers.test.ts.
test.each(inFullAll(gates, 3))(
  '%s is named, and after the command that is printed with it the repair goes on',
  async (id, make) => {
    const node = takeNode()
    await make(node)
    await fail(node)
    const named = (all: readonly Blocker[]) => all.find((b) => b.id === id)
    const found = named(
      await bench.until(
        () => whyNot(node),
        (all) => named(all) !== undefined,
      ),
    )
    expect(found?.command).toBeTypeOf('string')
    expect(await isCordoned(node)).toBe(false)
    await carryOut(found?.command ?? '')
    await sayFrozen(node)
    // A repair refused for good is requested again half a minute later, or on a user's request.
    if (id === 'Protected') {
      // Timestamps are whole seconds: a user never reads the output and requests a retry within the same second.
      await systemClock.sleep(1_100)
      await kubenode(['repair', `node/${node}`, '--reason', 'it may be touched now'])
    }
    await bench.until(() => isCordoned(node), Boolean)
    expect(named(await whyNot(node))).toBeUndefined()
    await heal(node)
    await bench.until(
      () => isCordoned(node),
      (is) => !is,
    )
  },
  60_000,
)
