// The agent against the embedded server with everything that is installed on a real cluster: its kinds, the roles of agents and the policies that hold
// each agent to what is its own.
import { readFileSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { componentConfig, configObject, renderedConfig } from '#api/kinds/component-config.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { release } from '#test/doubles/node/release.ts'
import { configMapType } from '#controllers/machine/secrets/config-map.ts'
import { sealedObjects } from '#controllers/machine/secrets/sealed-objects.ts'
import { csrType } from '#agent/join/request.ts'
import { leaseType } from '#agent/node/types.ts'
import { joinersAreAgents } from '#identity/agent-request.ts'
import { createApiServer, type ApiServer } from '#apiserver/api-server.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { AgentBench, JOIN_TOKEN, MACHINE, beaconRelease, eventually } from './agent-bench.ts'

const secrets = coreKind('Secret')

class EmbeddedBench extends AgentBench {
  #api: ApiServer | undefined
  #defender: HttpKubeClient | undefined

  protected override async serve(): Promise<void> {
    this.#api = await createApiServer({ judgeSubject: joinersAreAgents })
    await this.#api.listen()
    const { url, ca, credentials } = this.#api
    const { certificate, key } = credentials.admin
    this.place = { url, ca }
    const asAdmin = {
      server: url,
      ca: { data: ca },
      clientCertificate: { cert: { data: certificate }, key: { data: key } },
    }
    const client = new HttpKubeClient(asAdmin)
    this.client = client
    this.#defender = new HttpKubeClient({ ...asAdmin, impersonate: { user: 'kubenode:defender' } })
    await installAll(client)
    const [id = '', secret = ''] = JOIN_TOKEN.split('.')
    const data = {
      'token-id': id,
      'token-secret': secret,
      'usage-bootstrap-authentication': 'true',
      'auth-extra-groups': 'system:bootstrappers:kubenode',
      expiration: new Date(Date.now() + 900_000).toISOString(),
    }
    await client.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
      type: 'bootstrap.kubernetes.io/token',
      stringData: data,
    })
  }

  /** As the machine controller does it; the signer is the server's. */
  protected override async approve(request: KubeObject): Promise<boolean> {
    const status = isObject(request['status']) ? request['status'] : {}
    if (status['conditions'] !== undefined) return true
    const now = new Date().toISOString()
    const condition = {
      type: 'Approved',
      status: 'True',
      reason: 'Test',
      message: 'a test',
      lastUpdateTime: now,
      lastTransitionTime: now,
    }
    const changed = { ...request, status: { ...status, conditions: [condition] } }
    const type: ResourceType = csrType
    await this.client.update(type, changed, { subresource: 'approval' })
    return true
  }

  protected override defender(): KubeClient {
    return this.#defender ?? this.client
  }

  protected override async close(): Promise<void> {
    this.#defender?.close()
    if (this.client instanceof HttpKubeClient) this.client.close()
    await this.#api?.close()
  }
}

const bench = new EmbeddedBench()
let agent: ReturnType<AgentBench['run']>

beforeAll(async () => {
  await bench.start()
  await bench.publish(beaconRelease(bench.publisher, '1.0.0'))
  await bench.publish(beaconRelease(bench.publisher, '1.1.0'))
  await bench.order({ version: '1.0.0' })
  bench.machineUid = (await bench.client.get(machineType, { name: MACHINE }))?.metadata.uid
  bench.writeJoin()
  bench.writeConfig({ lease: '1s' })
  agent = bench.run()
})

afterAll(() => bench.stop())

test('an agent with the rights of an agent joins, registers, installs, beats and repairs', async () => {
  try {
    await eventually(
      '1.0.0',
      () => bench.component(),
      (c) => c?.state === 'Healthy' && c.version === '1.0.0',
    )
  } catch (e) {
    throw new Error(bench.logOf(agent), { cause: e })
  }
  await eventually(
    'Ready',
    () => bench.condition('Ready'),
    (c) => c === 'True AgentReady',
  )
  for (const namespace of ['kubenode-system', 'kube-node-lease']) {
    const name = namespace === 'kubenode-system' ? `agent-${MACHINE}` : MACHINE
    const lease = () => bench.client.get(leaseType, { namespace, name })
    const first = await eventually(`the lease ${name}`, lease, (l) => l !== undefined)
    expect(isObject(first?.['spec']) ? first['spec']['holderIdentity'] : undefined).toBe(MACHINE)
    const second = await eventually(
      'it renewed',
      lease,
      (l) => l?.metadata.resourceVersion !== first?.metadata.resourceVersion,
    )
    expect(second?.metadata.managedFields?.map((m) => m.manager)).toEqual(
      second?.metadata.managedFields?.map(() => 'kubenode-agent'),
    )
  }
})

test('a switch under a granted permit, and a repair', async () => {
  await bench.permit('p1', 'SwitchComponent', 'Granted')
  await bench.order({ version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p1' } })
  await eventually(
    '1.1.0',
    () => bench.component(),
    (c) => c?.state === 'Healthy' && c.version === '1.1.0',
  )
  await bench.permit('p2', 'ReinstallComponent', 'Granted')
  await bench.job(
    'j1',
    [{ collectEvidence: { kinds: ['Components', 'Disks'] } }, { reinstallComponent: { component: 'beacon' } }],
    'p2',
  )
  await bench.listJobs(['j1'])
  const steps = await eventually(
    'the steps',
    () => bench.steps('j1'),
    (s) => s.length === 2 && s.every((x) => x.outcome !== undefined),
  )
  expect(steps.map((s) => s.outcome)).toEqual(['Succeeded', 'Succeeded'])
})

const MARKER = 'mark3r-S3cret'

/** Files below the folder that hold the text. */
function filesWith(folder: string, text: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((e) => e.isFile())
    .map((e) => join(e.parentPath, e.name))
    .filter((path) => readFileSync(path).includes(text))
}

test('S16 a secret value that was sealed for the machine reaches the file that it is for, and nothing else on node or server', async () => {
  const files = [
    { path: '/etc/vault.conf', mode: '0600', format: 'ini', template: 'p={{registry.password}}\n', onChange: 'None' },
  ]
  await bench.publish(release(bench.publisher, { component: 'vault', version: '1.0.0', spec: { files } }))
  const secretRefs = [{ path: 'registry.password' }]
  const sealed = [{ path: 'registry.password', sealedIn: 'vault-0123456789abcdef' }]
  const rendered = renderedConfig({ name: 'vault', secretRefs, sealed })
  if (rendered === undefined) throw new Error('nothing to configure')
  const config = await bench.client.create(componentConfig, configObject('vault', rendered) as never)
  const machine = await eventually(
    'the key',
    () => bench.machine(),
    (m) => m?.status?.agent?.publicKey !== undefined,
  )
  if (machine === undefined) throw new Error('there is no Machine')
  const values = new Map([['registry.password', MARKER]])
  for (const object of sealedObjects(config, machine, machine.status?.agent?.publicKey ?? '', values))
    await bench.client.create(configMapType, object)

  await bench.permit('p9', 'SwitchComponent', 'Granted')
  const vault = { name: 'vault', version: '1.0.0', config: rendered.object, attempt: 1 }
  const own = { name: 'beacon', version: '1.1.0', attempt: 2 }
  await bench.client.apply(
    machineType,
    {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name: MACHINE },
      spec: { components: [own, { ...vault, switch: { attempt: 1, permit: 'p9' } }] },
    },
    { fieldManager: 'kubenode-machine', force: true },
  )
  await eventually(
    'the component',
    () => bench.component('vault'),
    (c) => c?.state === 'Healthy',
  )
  const path = join(bench.nodeFolder, 'root/etc/vault.conf')
  expect(readFileSync(path, 'utf8')).toBe(`p=${MARKER}\n`)
  // The file itself, and the copy from which a modified one is restored; both readable only by their owner.
  const holding = [...new Set(filesWith(bench.folder, MARKER).map((f) => realpathSync(f)))]
  expect(holding.map((f) => f.replace(/^.*\/slots\/[^/]+\//, '')).toSorted()).toEqual([
    'files/0/vault.conf',
    'kept/files/0/vault.conf',
  ])
  expect(holding.map((f) => statSync(f).mode & 0o077)).toEqual([0, 0])
  const listed = await Promise.all(
    [machineType, componentConfig, configMapType].map((type) => bench.client.list(type as ResourceType)),
  )
  expect(JSON.stringify(listed)).toContain('"v1.')
  expect(JSON.stringify(listed)).not.toContain(MARKER)
})

test('an agent that ends on a signal leaves its component running, and nothing of its own', async () => {
  agent.kill('SIGTERM')
  const [code] = (await once(agent, 'exit')) as [number]
  expect(code).toBe(0)
})
