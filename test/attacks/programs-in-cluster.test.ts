// A tenant's administrator owns the cluster into which the hub deploys controllers, approver and Defender: he scales them away, changes their image, refuses
// them by a webhook, and forges what the hub reads about them. The hub puts them back, keeps its own secrets, and other Clusters do not notice.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HOSTED_PROGRAMS, programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { deploymentType } from '#install/observe.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { fieldAt } from '#lib/fields.ts'
import { microTimestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { leaseType, taken } from '#runtime/lease.ts'
import { hostedWorld, type HostedWorld } from '#test/support/worlds/hosted-world.ts'

const TIMEOUT_MS = 150_000
const WEBHOOKS = coreKind('ValidatingWebhookConfiguration')
/** The longest that the policy of Leases lets. */
const FORGED_MS = 60_000

let world: HostedWorld
let tenant: HttpKubeClient

const keyOf = (program: string) => ({ namespace: SYSTEM_NAMESPACE, name: programLeaseName(program) })
const deployed = (program: string) => tenant.get<KubeObject>(deploymentType, keyOf(program))
const imageOf = (deployment: KubeObject | undefined): unknown => {
  const containers = fieldAt(deployment, 'spec', 'template', 'spec', 'containers')
  return Array.isArray(containers) ? fieldAt(containers[0], 'image') : undefined
}
const placeOf = async (name: string) => (await world.get(name))?.status?.programs

beforeAll(async () => {
  world = await hostedWorld()
  await world.declare('evil', { programs: 'Cluster' })
  await world.untilPhase('evil', 'Ready')
  const identity = { user: 'mallory', groups: ['system:masters'], lifeMs: 3_600_000 }
  const text = (await world.host.kubeconfig('kubenode-system.evil', identity)) ?? ''
  tenant = new HttpKubeClient(parseSafeKubeconfig(text, 'test').config)
  await world.until('they are deployed', async () => {
    const all = await Promise.all(HOSTED_PROGRAMS.map(deployed))
    return all.every((d) => d !== undefined)
  })
}, TIMEOUT_MS)

afterAll(async () => {
  tenant.close()
  await world.close()
})

test('nothing in his cluster is of the hub: no address of its API server, no kubeconfig, no settings of its own', async () => {
  const found = await Promise.all(
    [coreKind('Secret'), coreKind('ConfigMap'), deploymentType].map((type) => tenant.list<KubeObject>(type, {})),
  )
  const texts = found.flatMap(({ items }) =>
    items.flatMap((object) => [
      JSON.stringify(object),
      ...Object.values((object['data'] as Readonly<Record<string, string>> | undefined) ?? {}).map((data) =>
        Buffer.from(data, 'base64').toString('utf8'),
      ),
    ]),
  )
  expect(texts.length).toBeGreaterThan(0)
  expect(texts.filter((text) => text.includes(world.hub.url) || text.includes('kind: Config'))).toEqual([])
})

test(
  'he scales one to nothing, gives one another image and deletes one: the hub puts all of them back',
  { timeout: TIMEOUT_MS },
  async () => {
    const [controllers, approver, defender] = HOSTED_PROGRAMS
    const before = imageOf(await deployed(approver))
    expect(before).toContain('@sha256:')
    const uid = (await deployed(defender))?.metadata.uid
    await tenant.patch(deploymentType, keyOf(controllers), { type: 'merge', value: { spec: { replicas: 0 } } }, {})
    const containers = fieldAt(await deployed(approver), 'spec', 'template', 'spec', 'containers') as readonly object[]
    const changed = containers.map((c) => ({ ...c, image: 'evil.example.org/x:1' }))
    const value = { spec: { template: { spec: { containers: changed } } } }
    await tenant.patch(deploymentType, keyOf(approver), { type: 'merge', value }, {})
    await tenant.delete(deploymentType, keyOf(defender), {})
    await world.until('they are as declared', async () => {
      const [one, two, three] = await Promise.all(HOSTED_PROGRAMS.map(deployed))
      return (
        fieldAt(one, 'spec', 'replicas') === 1 &&
        imageOf(two) === before &&
        three !== undefined &&
        three.metadata.uid !== uid
      )
    })
    expect((await placeOf('evil'))?.place).toBe('Hub')
  },
)

test(
  'a webhook that refuses everything keeps them on the hub, and a new Cluster beside his becomes Ready',
  { timeout: TIMEOUT_MS },
  async () => {
    await tenant.create(WEBHOOKS, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'mallory' },
      webhooks: [
        {
          name: 'mallory.example.org',
          clientConfig: { url: 'https://127.0.0.1:1/' },
          failurePolicy: 'Fail',
          timeoutSeconds: 30,
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          rules: [{ apiGroups: ['apps'], apiVersions: ['*'], operations: ['*'], resources: ['deployments'] }],
        },
      ],
    })
    await world.declare('good', { programs: 'None' })
    await world.untilPhase('good', 'Ready')
    expect((await placeOf('evil'))?.place).toBe('Hub')
    await tenant.delete(WEBHOOKS, { name: 'mallory' }, {})
  },
)

test(
  'forged Leases alone take nothing from the hub: pods must be ready, too; with both forged he takes the programs of his own cluster alone',
  { timeout: TIMEOUT_MS },
  async () => {
    for (const program of HOSTED_PROGRAMS) {
      const lease = (await tenant.get(leaseType, keyOf(program))) ?? {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: keyOf(program),
      }
      const { spec } = taken(lease, 'mallory', FORGED_MS, systemClock.now())
      await tenant.apply(
        leaseType,
        {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: keyOf(program),
          spec: { ...spec, renewTime: microTimestamp(systemClock.now()) },
        },
        { fieldManager: 'mallory', force: true },
      )
    }
    await world.until('the hub has read them', async () => {
      const ready = (await world.get('evil'))?.status?.conditions?.find((c) => c.type === 'ProgramsReady')
      return ready?.status === 'True' && ready.message.includes('they run on the hub')
    })
    expect((await placeOf('evil'))?.place).toBe('Hub')
    for (const program of HOSTED_PROGRAMS)
      await world.until(`${program} is forged`, async () => {
        const deployment = await deployed(program)
        if (deployment === undefined) return false
        const status = {
          observedGeneration: deployment.metadata.generation ?? 0,
          replicas: 1,
          updatedReplicas: 1,
          readyReplicas: 1,
          availableReplicas: 1,
        }
        await tenant.patch(
          deploymentType,
          keyOf(program),
          { type: 'merge', value: { status } },
          { subresource: 'status' },
        )
        return true
      })
    await world.until('his cluster has them', async () => (await placeOf('evil'))?.place === 'Cluster')
    expect((await world.get('good'))?.status?.phase).toBe('Ready')
    expect(await placeOf('good')).toBeUndefined()
  },
)
