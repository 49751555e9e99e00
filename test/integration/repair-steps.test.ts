// The steps of repairs that reach beyond the cluster's own objects, over HTTPS and with the rights of their roles: webhook, reboot by the provider, fence, drain.
import { type IncomingHttpHeaders, type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { LABELS, agentLeaseName } from '#api/names.ts'
import { type NodeConditionType, conditionIs } from '#api/node-leaves.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { hasTaint, podType } from '#nodes/objects.ts'
import { type MemoryHost, MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import type { Provider } from '#providers/port.ts'
import { leaseType } from '#runtime/lease.ts'
import { parsePlaces } from '#runtime/outbound/places.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'
const secretType = coreKind('Secret')
const budgetType = coreKind('PodDisruptionBudget')
const NODES = Array.from({ length: 10 }, (_, n) => `n-${n}`)

let bench: RepairBench
let hooks: Server
let hook = ''
const heard: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = []
const hosts = new Map<string, MemoryHost>()
const reports: string[][] = []

const hostOf = (name: string): MemoryHost => {
  const host = hosts.get(`memory://${name}`)
  if (host === undefined) throw new Error(`no host ${name}`)
  return host
}
const setState = (name: string, state: MemoryHost['state']) => hosts.set(`memory://${name}`, { ...hostOf(name), state })

/** Both witnesses are silent, as in the shipped rule, which waits longer. */
const isSilent = [
  conditionIs('Ready', 'Unknown'),
  { fact: 'machine', path: '/agentReachable', operator: 'equal', value: 'False' },
] as const
const ofNode = (name: string) => ({ fact: 'name', operator: 'equal', value: name }) as const
const verify = { stableFor: '1s' }
const limits = { cooldown: '0s' }

beforeAll(async () => {
  hooks = createServer((request, response) => {
    let body = ''
    request.on('data', (d: Buffer) => (body += d.toString()))
    request.on('end', () => {
      heard.push({ headers: request.headers, body })
      if (request.url === '/hooks/moved') response.writeHead(307, { location: `${hook}/elsewhere` }).end()
      else response.end('thank you')
    })
  })
  await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve))
  hook = `http://127.0.0.1:${(hooks.address() as AddressInfo).port}/hooks`
  bench = await RepairBench.start()
  await bench.admin.create(secretType, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'pager', namespace: 'kubenode-system', labels: { [LABELS.forWebhooks]: 'true' } },
    data: { token: Buffer.from('s3cret\n').toString('base64') },
  })
  const powered = new MemoryProvider({ clock: systemClock, hosts, name: 'powered' })
  const reportFault: Provider['reportFault'] = async (...said) => {
    reports.push(said.slice(0, 3).map(String))
    return 'Ordered'
  }
  const made = Object.entries(overridden(new MemoryProvider({ clock: systemClock, hosts }), { reportFault }))
  const provider = Object.fromEntries(made.filter(([method]) => method !== 'power')) as unknown as Provider
  for (const name of NODES) {
    const isPowered = name === 'n-8'
    const schema = isPowered ? powered.name : provider.name
    await bench.addNode(name, { provider: { name: schema }, providerID: `${schema}://${name}` })
    const uid = (await bench.machine(name))?.metadata.uid ?? ''
    await (isPowered ? powered : provider).create({
      clientToken: uid,
      machineUid: uid,
      machine: name,
      params: {},
      join: {} as never,
    })
  }
  await bench.startDefender()
  await bench.startControllers([remedyModule, remedyJobModule], {
    providers: { memory: provider, powered },
    outbound: parsePlaces([hook]),
  })
})

afterAll(async () => {
  await bench.close()
  hooks.closeAllConnections()
  hooks.close()
})

const stepOf = async (node: string, operation: string) =>
  (await bench.jobOf(node))?.status?.steps?.find((s) => s.operation === operation)

const doneOf = (name: string) =>
  bench.until(
    () => bench.jobOf(name),
    (j) => j?.status?.phase === 'Done',
  )

async function calls(node: string, type: NodeConditionType, url: string, secret = 'pager') {
  await bench.setCondition(node, type, 'False')
  await bench.rule(`tell-${node}`, {
    when: { all: [conditionIs(type, 'True'), ofNode(node)] },
    ladder: [{ operations: [{ webhook: { url, secretRef: { name: secret } } }], verify }],
    ...limits,
  })
  await bench.setCondition(node, type, 'True')
  const step = await bench.until(
    () => stepOf(node, 'webhook'),
    (s) => s?.outcome !== undefined,
  )
  await bench.setCondition(node, type, 'False')
  return step
}

test('a webhook gets the repair, with the token of its Secret, which is stored nowhere', async () => {
  const step = await calls('n-0', 'ReadonlyFilesystem', `${hook}/repairs`)
  expect(step).toMatchObject({ outcome: 'Succeeded', output: 'HTTP 200: thank you' })
  const said = heard.at(-1)
  const job = await bench.jobOf('n-0')
  expect(said?.headers).toMatchObject({
    authorization: 'Bearer s3cret',
    'idempotency-key': `${job?.metadata.uid}/${step?.index}`,
  })
  expect(JSON.parse(said?.body ?? '{}')).toMatchObject({ job: job?.metadata.name, machine: 'n-0', rule: 'tell-n-0' })
  expect((await doneOf('n-0'))?.status?.outcome).toBe('Succeeded')
  expect(JSON.stringify(await bench.jobs())).not.toContain('s3cret')
})

test('S13 a webhook of a rule reaches neither a metadata service, nor another port of this host, nor where an answer sends it', async () => {
  const before = heard.length
  const away = await calls('n-1', 'FrequentOOMKill', 'http://169.254.169.254/latest/meta-data')
  expect(away).toMatchObject({ outcome: 'Failed' })
  expect(away?.output).toMatch(/^not called: .*not among the places that the controllers may call/)
  const server = await calls('n-2', 'NTPProblem', `${bench.server.url}/api/v1/secrets`)
  expect(server?.output).toMatch(/^not called/)
  expect(heard).toHaveLength(before)
  const moved = await calls('n-3', 'DiskPressure', `${hook}/moved`)
  expect(moved).toMatchObject({ outcome: 'Failed', output: expect.stringMatching(/^HTTP 307/) as string })
  expect(heard.slice(before).length).toBe(1)
  await bench.admin.create(secretType, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'private', namespace: 'kubenode-system' },
    data: { token: Buffer.from('not for hooks').toString('base64') },
  })
  const unlabelled = await calls('n-6', 'PIDPressure', `${hook}/repairs`, 'private')
  expect(unlabelled).toMatchObject({
    outcome: 'Failed',
    output: expect.stringContaining('is not labeled kubenode.io/for-webhooks=true') as string,
  })
  expect(heard.slice(before).length).toBe(1)
})

test('the vendor is told of a fault once, before its host is repaired, and its answer is in the status of the repair', async () => {
  await bench.setCondition('n-9', 'KernelDeadlock', 'False')
  await bench.rule('told', {
    when: { all: [conditionIs('KernelDeadlock', 'True'), ofNode('n-9')] },
    ladder: [{ operations: [{ reportFault: { category: 'Hang' } }, { cordon: {} }, { uncordon: {} }], verify }],
    ...limits,
  })
  await bench.setCondition('n-9', 'KernelDeadlock', 'True')
  const step = await bench.until(
    () => stepOf('n-9', 'reportFault'),
    (s) => s?.outcome !== undefined,
  )
  expect(step).toMatchObject({ outcome: 'Succeeded', output: 'memory accepted the report (Hang)' })
  await bench.setCondition('n-9', 'KernelDeadlock', 'False')
  expect((await doneOf('n-9'))?.status?.outcome).toBe('Succeeded')
  expect(reports).toEqual([['memory://n-9', 'Hang', expect.stringContaining('KernelDeadlock=True') as string]])
})

test('a machine that alone is silent is rebooted by its provider, and its permit says that the silence is the fault', async () => {
  await bench.rule('silent', {
    when: { all: [...isSilent, ofNode('n-4')] },
    ladder: [{ operations: [{ reboot: {} }], verify }],
    ...limits,
  })
  await bench.setHeard('n-4', false)
  await bench.until(
    () => hostOf('n-4').boots,
    (boots) => boots === 2,
  )
  const running = await bench.jobOf('n-4')
  expect(await stepOf('n-4', 'collectEvidence')).toMatchObject({ outcome: 'Skipped' })
  expect(await stepOf('n-4', 'reboot')).toMatchObject({ executor: 'Provider' })
  const permit = await bench.admin.get(operationPermit, { name: running?.status?.permitRef ?? '' })
  expect(permit?.spec.reason).toBe('repair of n-4 by rule silent, rung 0')
  expect(permit?.status?.gates?.find((g) => g.gate === 'Target')?.seen).toMatch(
    /which is the fault to repair; its provider/,
  )
  await bench.setMachine('n-4', { bootID: 'n-4-boot-2' })
  await bench.setHeard('n-4', true)
  expect((await doneOf('n-4'))?.status).toMatchObject({ outcome: 'Succeeded' })
  expect(hostOf('n-4').boots).toBe(2)
})

test('a node is marked out of service only after its provider says that the machine is off, and no longer than it is', async () => {
  await bench.rule('fence', {
    when: { all: [...isSilent, ofNode('n-5')] },
    ladder: [{ operations: [{ fence: {} }], verify }],
    ...limits,
  })
  await bench.setHeard('n-5', false)
  await bench.until(
    () => stepOf('n-5', 'fence'),
    (step) => step?.output === 'the provider reports the machine as Running',
  )
  expect(hasTaint(await bench.node('n-5'), OUT_OF_SERVICE)).toBe(false)
  setState('n-5', 'Stopped')
  await bench.until(
    () => bench.node('n-5'),
    (n) => hasTaint(n, OUT_OF_SERVICE),
  )
  await bench.until(
    () => bench.jobOf('n-5'),
    (j) => j?.status?.phase === 'Verifying',
  )
  expect(await stepOf('n-5', 'fence')).toMatchObject({
    outcome: 'Succeeded',
    output: 'the machine is off',
  })
  setState('n-5', 'Running')
  await bench.setHeard('n-5', true)
  expect((await doneOf('n-5'))?.status?.outcome).toBe('Succeeded')
  await bench.until(
    () => bench.node('n-5'),
    (n) => !hasTaint(n, OUT_OF_SERVICE),
  )
})

test('a provider with power switches the machine off, and on again once the node is out of service and its pods were given up', async () => {
  const web = { name: 'stuck', namespace: 'default' }
  const spec = { nodeName: 'n-8', terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] }
  await bench.admin.create(podType, { apiVersion: 'v1', kind: 'Pod', metadata: web, spec })
  const hostOf8 = () => hosts.get('powered://n-8')
  expect(hostOf8()).toMatchObject({ state: 'Running', boots: 1 })
  await bench.rule('fence-power', {
    when: { all: [...isSilent, ofNode('n-8')] },
    ladder: [{ operations: [{ fence: {} }], verify }],
    ...limits,
  })
  await bench.setHeard('n-8', false)
  await bench.until(
    () => stepOf('n-8', 'fence'),
    (step) => step?.output?.includes('1 pod left on its node') === true,
  )
  expect(hostOf8()).toMatchObject({ state: 'Stopped' })
  expect(hasTaint(await bench.node('n-8'), OUT_OF_SERVICE)).toBe(true)
  await bench.admin.delete(podType, web)
  await bench.until(
    () => bench.jobOf('n-8'),
    (j) => j?.status?.phase === 'Verifying',
  )
  expect(await stepOf('n-8', 'fence')).toMatchObject({
    outcome: 'Succeeded',
    output: 'the machine was switched off, taken out of service, and switched on',
  })
  expect(hostOf8()).toMatchObject({ state: 'Running', boots: 2 })
  await bench.setHeard('n-8', true)
  expect((await doneOf('n-8'))?.status?.outcome).toBe('Succeeded')
})

test('a node is drained by evictions: a pod whose budget is used up stays, and is named, until the budget allows it', async () => {
  const labels = { app: 'web' }
  const spec = { nodeName: 'n-7', terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] }
  const web = { name: 'web', namespace: 'default' }
  await bench.admin.create(podType, { apiVersion: 'v1', kind: 'Pod', metadata: { ...web, labels }, spec })
  const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
  await bench.admin.patch(podType, web, { type: 'merge', value: { status: ready } }, { subresource: 'status' })
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'web', namespace: 'default' },
  }
  await bench.admin.create(budgetType, { ...budget, spec: { selector: { matchLabels: labels }, minAvailable: 1 } })
  await bench.rule('empty', {
    when: { all: [conditionIs('CorruptDockerOverlay2', 'True'), ofNode('n-7')] },
    ladder: [{ operations: [{ drain: {} }], verify }],
    ...limits,
  })
  await bench.setCondition('n-7', 'CorruptDockerOverlay2', 'True')
  const stays = await bench.until(
    () => stepOf('n-7', 'drain'),
    (step) => step?.output?.includes('default/web') === true,
  )
  expect(stays?.outcome).toBeUndefined()
  expect(await bench.admin.get(podType, web)).toBeDefined()
  await bench.admin.delete(budgetType, web)
  await bench.until(
    () => bench.admin.get(podType, web),
    (pod) => pod === undefined,
  )
  await bench.setCondition('n-7', 'CorruptDockerOverlay2', 'False')
  expect((await doneOf('n-7'))?.status?.outcome).toBe('Succeeded')
  expect(await stepOf('n-7', 'drain')).toMatchObject({ executor: 'Controller', outcome: 'Succeeded' })
})

test('a component that was healthy all along proves nothing: its agent must be heard of after the repair', async () => {
  const name = { name: agentLeaseName('n-6'), namespace: 'kubenode-system' }
  const since = timestamp(systemClock.now())
  const beacon = { name: 'beacon', version: '1.0.0', desired: '1.0.0', state: 'Healthy', since }
  await bench.setMachine('n-6', { components: [beacon] })
  await bench.setCondition('n-6', 'KernelDeadlock', 'True')
  await bench.rule('probed', {
    when: { all: [conditionIs('KernelDeadlock', 'True'), ofNode('n-6')] },
    ladder: [{ operations: [{ cordon: {} }], verify: { ...verify, probe: { component: 'beacon' } } }],
    ...limits,
  })
  await bench.until(
    () => bench.jobOf('n-6'),
    (j) => j?.status?.phase === 'Verifying',
  )
  await bench.setCondition('n-6', 'KernelDeadlock', 'False')
  await bench.until(
    () => bench.jobOf('n-6'),
    (j) => j?.status?.waitingFor?.seen === 'component beacon has not been probed since the repair',
  )
  await bench.admin.create(leaseType, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: name, spec: {} })
  for (let beat = 1; ; beat++) {
    const spec = { renewTime: microTimestamp(systemClock.now()) }
    await bench.admin.patch(leaseType, name, { type: 'merge', value: { spec } })
    // An object that the job checks.
    await bench.setCondition('n-6', 'NTPProblem', beat % 2 === 0 ? 'True' : 'False')
    const { phase } = (await bench.jobOf('n-6'))?.status ?? {}
    if (phase === 'Done') break
    await systemClock.sleep(500)
  }
  expect((await doneOf('n-6'))?.status?.outcome).toBe('Succeeded')
})

test('nothing of this was refused to the controllers or the Defender', () => expect(bench.forbidden()).toEqual([]))
