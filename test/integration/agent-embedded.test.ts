// The agent against the embedded server with everything that is installed on a real cluster: its kinds, the roles of agents and the policies that hold
// each agent to what is its own.
import { join } from 'node:path'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import { csrType } from '#agent/join/request.ts'
import { leaseType } from '#agent/node/types.ts'
import { createApiServer, type ApiServer } from '#apiserver/api-server.ts'
import { install } from '#local/install.ts'
import { AgentBench, JOIN_TOKEN, MACHINE, beaconRelease, eventually } from './agent-bench.ts'

const secrets: ResourceType = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true }

class EmbeddedBench extends AgentBench {
  #api: ApiServer | undefined
  #defender: HttpKubeClient | undefined

  protected override async serve(): Promise<void> {
    this.#api = await createApiServer()
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
    await install(client, join(import.meta.dirname, '../../deploy'), systemClock)
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
    await this.client.update(csrType, changed, { subresource: 'approval' })
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
    const holder = await eventually(
      `the lease ${name}`,
      () => bench.client.get(leaseType, { namespace, name }),
      (l) => l !== undefined,
    )
    expect(isObject(holder?.['spec']) ? holder['spec']['holderIdentity'] : undefined).toBe(MACHINE)
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

test('an agent that was told to end leaves its component running, and nothing of its own', async () => {
  agent.kill('SIGTERM')
  const [code] = (await once(agent, 'exit')) as [number]
  expect(code).toBe(0)
})
