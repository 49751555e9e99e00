// The state that once was called well: three nodes whose repair is refused because so many have the fault, incomplete detection, and a frozen machine. The
// console's Home and `kubenode why` list it, and a request that would change nothing is refused.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { conditionIs } from '#api/node-leaves.ts'
import { run } from '#cli/program.ts'
import type { HomeTopic } from '#console/protocol.ts'
import { startConsole } from '#console/server/console.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { leaseType } from '#runtime/lease.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'
import { NO_PAGE } from '#test/support/console/console-world.ts'
import { Browser } from '#test/support/console/plain-browser.ts'

const NODES = Array.from({ length: 9 }, (_, n) => `n-${n}`)
const SICK = NODES.slice(0, 3)
const DEAF = NODES.slice(3, 8)

let bench: RepairBench
let browser: Browser
let stopConsole = () => Promise.resolve()

beforeAll(async () => {
  bench = await RepairBench.start()
  for (const name of NODES) {
    await bench.addNode(name)
    await bench.setCondition(name, 'KernelDeadlock', 'False')
  }
  await bench.startDefender()
  await bench.startControllers([remedyModule, remedyJobModule])
  const running = await startConsole({
    clients: new Map([['prod', bench.admin]]),
    repository: undefined,
    page: NO_PAGE,
    version: '0.0.0',
    host: '127.0.0.1',
    port: 0,
    names: [],
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
  })
  stopConsole = () => running.stop()
  browser = new Browser(running.port)
  await browser.open(running.newLink())
})

afterAll(async () => {
  await stopConsole()
  await bench.close()
})

async function kubenode(...argv: readonly string[]) {
  let out = ''
  let err = ''
  const io = { out: (t: string) => void (out += t), err: (t: string) => void (err += t) }
  const env = { KUBECONFIG: bench.server.kubeconfig }
  const code = await run(argv, { ...io, cwd: '/', env, isTerminal: false })
  return { code, out, err }
}

interface Found {
  readonly findings: readonly { readonly text: string; readonly weight: string; readonly count: number }[]
}
async function whyFleet() {
  const { code, out } = await kubenode('why', '-o', 'json')
  const { findings } = JSON.parse(out) as Found
  return { code, texts: findings.map(({ weight, text }) => `${weight}: ${text}`) }
}
const home = async () => (await browser.topic<HomeTopic>('home')).rows.map(({ text }) => text)

const MASS =
  '3 nodes (n-0, n-1, n-2) not repaired by rule deadlock (mass fault): the rule is true for 3 of 9 nodes at once: a cause outside the nodes is likely'
const DETECTION = 'DetectionIncomplete on 5 nodes (n-3, n-4, n-5 and 2 more): Reported'
const isFrozen = (text: string) => text.startsWith('machine/n-8 is frozen by ')

/** This bench runs the parts of the programs without their leases. */
async function renewLeases() {
  const renewTime = new Date().toISOString().replace('Z', '000Z')
  for (const program of ['controllers', 'defender'])
    await bench.admin.create(leaseType, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: SYSTEM_NAMESPACE, name: programLeaseName(program) },
      spec: { holderIdentity: 'bench', leaseDurationSeconds: 60, acquireTime: renewTime, renewTime },
    })
}

test('where nothing is wrong, why says so and ends with 0', async () => {
  await renewLeases()
  const { code, out, err } = await kubenode('why')
  expect([code, out, err]).toEqual([0, 'Nothing needs attention.\nclusters: kubenode\n', ''])
})

test('nodes that nobody repairs, detection that is incomplete and a freeze are listed, each cause once', async () => {
  for (const name of SICK) await bench.setCondition(name, 'KernelDeadlock', 'True')
  for (const name of DEAF) await bench.setCondition(name, 'DetectionIncomplete', 'True')
  // The rule comes last: with two sick nodes of nine it would repair them.
  await bench.rule('deadlock', {
    when: { all: [conditionIs('KernelDeadlock', 'True')] },
    ladder: [{ operations: [{ cordon: {} }], verify: { stableFor: '1s' } }],
  })
  expect((await kubenode('freeze', 'machine/n-8', '--reason', 'a look at its disk')).code).toBe(0)

  const { code, texts } = await bench.until(whyFleet, (seen) => seen.texts.includes(`Act: ${MASS}`))
  expect(code).toBe(1)
  expect(texts).toContain(`Act: ${DETECTION}`)
  expect(texts.filter((text) => isFrozen(text.replace('Wait: ', '')))).toHaveLength(1)
  expect(texts.filter((text) => text.includes('KernelDeadlock on'))).toEqual([])

  const rows = await bench.until(home, (seen) => seen.includes(MASS) && seen.includes(DETECTION))
  expect(rows.filter((text) => text.startsWith('machine n-8 is frozen by '))).toHaveLength(1)
  expect((await browser.topic<HomeTopic>('home')).head.sentence).toMatch(/things need attention/)

  const { out } = await kubenode('why')
  expect(out).toContain(MASS)
  expect(out).toContain('what to do first: ')
})

test('a table says below it what of its kinds needs attention, on terminals and beside the data', async () => {
  const shown = async (isTerminal: boolean, ...argv: readonly string[]) => {
    let [out, err] = ['', '']
    const io = { out: (t: string) => void (out += t), err: (t: string) => void (err += t) }
    await run(argv, { ...io, cwd: '/', env: { KUBECONFIG: bench.server.kubeconfig, NO_COLOR: '1' }, isTerminal })
    return { out, err }
  }
  const piped = await shown(false, 'get', 'nodes')
  expect(piped.err).toBe('')
  const nodes = await shown(true, 'get', 'nodes')
  expect(nodes.err).toMatch(/^2 things need attention, the first: .*; to list all: kubenode why\n$/)
  // Between the two the nodes grow older.
  const ageless = (text: string) => text.replace(/\s+(\d+[smhd])+(?=\s)/g, ' AGE').replace(/ +/g, ' ')
  expect(ageless(nodes.out)).toBe(ageless(piped.out))
  for (const argv of [['nodes', '-o', 'name'], ['node/n-0'], ['sets'], ['machines', '-o', 'json']])
    expect((await shown(true, 'get', ...argv)).err).not.toContain('attention')
})

test.each(['node/n-0', 'machine/n-0', 'remedier/deadlock'])(
  'a repair of %s that a mass fault holds back is refused with that reason, and leaves no request',
  async (what) => {
    const { code, err } = await kubenode('repair', what, '--reason', 'checked by hand')
    expect([code, err]).toEqual([
      2,
      expect.stringContaining(`KN1732: cannot repair ${what}: MassFault of rule deadlock`),
    ])
    expect((await bench.admin.list(operationalHold)).items.filter(({ spec }) => spec.effect === 'Retry')).toEqual([])
    expect((await kubenode('repair', what, '--reason', 'x', '--even-if-absent')).code).toBe(2)
    expect((await kubenode('why-not', 'node/n-0')).out).toContain('no request overrides it')
  },
)

test('with fewer sick nodes the repairs begin by themselves, and a request is accepted again', async () => {
  await bench.setCondition('n-2', 'KernelDeadlock', 'False')
  await bench.until(
    () => bench.jobs(),
    (jobs) => new Set(jobs.map(({ spec }) => spec.node.name)).size === 2,
  )
  expect((await kubenode('repair', 'node/n-0', '--reason', 'checked by hand')).code).toBe(0)
})

test('the story of one object as JSON has what the text has', async () => {
  const text = await kubenode('why', 'machine/n-8')
  const { code, out, err } = await kubenode('why', 'machine/n-8', '-o', 'json')
  const { stories, firstStep } = JSON.parse(out) as { stories: readonly { text: string }[]; firstStep: string }
  expect([code, err, stories.length]).toEqual([text.code, text.err, 1])
  expect(text.out).toContain(firstStep)
  expect(text.out).toContain(stories[0]?.text.slice(0, 20))
})
