// install, upgrade and uninstall on an embedded server: what one run writes, what a second one changes, what a killed one leaves, and that nothing is left
// in the end.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { FINALIZERS } from '#api/names.ts'
import { definitionType, deploymentType } from '#install/observe.ts'
import { labelled } from '#install/release.ts'
import { TURN_LEASE } from '#install/turn.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { type KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { leaseType } from '#runtime/lease.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { Died, dyingClient } from '#test/doubles/kube/dying-client.ts'
import {
  comparable,
  connectionTo,
  everything,
  imageOf,
  releaseOf,
  renewed,
  startInstallWorld,
  type InstallWorld,
} from '#test/support/worlds/install-world.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'
import { onlyInFull } from '#test/support/tools/full.ts'

let world: InstallWorld

const deployments = deploymentType
const nodes = coreKind('Node')
const pods = coreKind('Pod')

/** Dies at each of these writes in turn, each time in a new run. */
async function dieAt(points: readonly number[], run: (client: KubeClient) => Promise<unknown>): Promise<void> {
  for (const [i, at] of points.entries()) {
    const { client } = dyingClient(world.admin, at, i % 2 === 0 ? 'after' : 'before')
    await expect(run(client)).rejects.toThrow(Died)
  }
}

const node = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  spec: { taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }] },
})

/** A machine in the middle of a switch, and its Node with our marks; a pod of a user runs there. */
async function rollout(): Promise<void> {
  const { admin } = world
  const example = machine.example as unknown as KubeObject
  await admin.create(machine, { ...example, metadata: { name: 'n-1', finalizers: [FINALIZERS.machine] } } as never)
  await admin.create(operationPermit, {
    ...(operationPermit.example as unknown as KubeObject),
    metadata: { name: 'slice-1' },
  } as never)
  const { spec } = (await admin.get(nodes, { name: 'n-1' })) as unknown as {
    readonly spec: { readonly taints: readonly object[] }
  }
  await admin.patch(
    nodes,
    { name: 'n-1' },
    {
      type: 'merge',
      value: {
        metadata: { annotations: { 'kubenode.io/cordon-owners': '{"slice/1":{"reason":"switch"}}' } },
        spec: {
          taints: [...spec.taints, { key: 'kubenode.io/cordon', effect: 'NoSchedule' }] as never,
        },
      },
    },
  )
  const condition = { type: 'DiskSpaceLow', status: 'False', reason: 'Enough', message: 'enough' }
  const status = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n-1' }, status: { conditions: [condition] } }
  await admin.apply(nodes, status, { fieldManager: 'kubenode-agent', subresource: 'status' })
}

async function userPod(): Promise<void> {
  const spec = { nodeName: 'n-1', containers: [{ name: 'c', image: 'shop' }], automountServiceAccountToken: false }
  await world.admin.create(nodes, node('n-1'))
  const ready = { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }] }
  const made = await world.admin.get(nodes, { name: 'n-1' })
  await world.admin.update(nodes, { ...made, status: ready } as KubeObject, { subresource: 'status' })
  await world.admin.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'shop', namespace: 'default' },
    spec,
  })
}

const as = (user: string): KubeClient => new HttpKubeClient({ ...connectionTo(world.server), impersonate: { user } })

describe('each on a server of its own', () => {
  beforeEach(async () => void (world = await startInstallWorld()))
  afterEach(() => world.stop())

  test('installing twice changes nothing the second time, also after two kills; uninstalling in mid-rollout leaves the cluster as it was', async () => {
    await userPod()
    const before = await everything(world.admin)
    const pod = await world.admin.get(pods, { namespace: 'default', name: 'shop' })
    await dieAt([60, 140], (client) => world.install(releaseOf('0.1.0'), {}, client))
    await world.install(releaseOf('0.1.0'))
    const installed = await everything(world.admin, renewed)
    expect(installed.has('Deployment kubenode-system/kubenode-defender')).toBe(true)
    const { client, writes } = dyingClient(world.admin, Infinity, 'before')
    await world.install(releaseOf('0.1.0'), {}, client)
    expect(await everything(world.admin, renewed)).toEqual(installed)
    expect(writes()).toBeGreaterThan(100)

    await rollout()
    await dieAt([9, 75], (dying) => world.uninstall({ deleteDefinitions: true, now: true }, dying))
    await world.uninstall({ deleteDefinitions: true, now: true })
    expect(await everything(world.admin)).toEqual(before)
    expect(await world.admin.get(pods, { namespace: 'default', name: 'shop' })).toEqual(pod)
  })

  test('objects stay with their definitions, without finalizers; installing again adopts them, and nothing is frozen', async (context) => {
    // The first test uninstalls in mid-rollout; here a second time, and with nothing in progress.
    onlyInFull(context)
    await userPod()
    await world.install(releaseOf('0.1.0'))
    const installed = await everything(world.admin, renewed)
    await rollout()
    await world.uninstall({ now: true })
    const left = [...(await everything(world.admin, renewed)).keys()].filter((k) => k.startsWith('Machine /'))
    expect(left).toEqual(['Machine /n-1'])
    expect((await world.admin.get(machine, { name: 'n-1' }))?.metadata.finalizers ?? []).toEqual([])
    await world.install(releaseOf('0.1.0'))
    await world.admin.delete(machine, { name: 'n-1' })
    await world.admin.delete(operationPermit, { name: 'slice-1' })
    expect(comparable(await everything(world.admin, renewed))).toEqual(comparable(installed))
  })

  test('of two runs at once the second to end says so, and the next one leaves nothing of the other', async () => {
    const old: KubeObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'old', namespace: 'kubenode-system' },
    }
    const [first, second] = [releaseOf('1.1.0', [old]), releaseOf('1.2.0')]
    await world.install(second)
    const wanted = comparable(await everything(world.admin, renewed))
    // The other run begins and ends while this one is about to write its last workload.
    let isOvertaken = false
    const slow = new Proxy(world.admin, {
      get:
        (client, method: keyof KubeClient) =>
        async (...args: unknown[]) => {
          const object = args[1] as KubeObject | undefined
          if (method === 'apply' && object?.metadata.name === 'kubenode-artifacts' && !isOvertaken) {
            isOvertaken = true
            // This one was stopped for so long that its turn ran out.
            const spec = { holderIdentity: '' }
            await world.admin.patch(leaseType, TURN_LEASE, { type: 'merge', value: { spec } }, { fieldManager: 'test' })
            await world.install(second, { isUpgrade: true })
            await world.admin.apply(coreKind('ConfigMap'), labelled(old, '1.1.0'), { fieldManager: 'kubenode-install' })
          }
          return (client[method] as (...a: unknown[]) => Promise<unknown>).apply(client, args)
        },
    })
    await expect(world.install(first, { isUpgrade: true }, slow)).rejects.toMatchObject({ code: 'KN1449' })
    await world.install(second, { isUpgrade: true })
    expect(comparable(await everything(world.admin, renewed))).toEqual(wanted)
  })

  test('an installation begun while an uninstall runs waits until that one has ended', async () => {
    const release = releaseOf('0.1.0')
    await world.install(release)
    const wanted = comparable(await everything(world.admin, renewed))
    let second: Promise<boolean> | undefined
    const slow = new Proxy(world.admin, {
      get:
        (client, method: keyof KubeClient) =>
        async (...args: unknown[]) => {
          if (method === 'scale' && second === undefined) {
            second = world.install(release)
            await eventually(
              async () => world.said,
              (said) => said.some((line) => line.startsWith('waiting for another run to end: uninstall')),
            )
          }
          return (client[method] as (...a: unknown[]) => Promise<unknown>).apply(client, args)
        },
    })
    await world.uninstall({ deleteDefinitions: true }, slow)
    expect(await second).toBe(true)
    expect(comparable(await everything(world.admin, renewed))).toEqual(wanted)
  })

  test('of two uninstalls with definitions at once the second finds nothing left', async () => {
    await world.install(releaseOf('0.1.0'))
    let second: Promise<void> | undefined
    const slow = new Proxy(world.admin, {
      get:
        (client, method: keyof KubeClient) =>
        async (...args: unknown[]) => {
          if (method === 'scale' && second === undefined) {
            second = world.uninstall({ deleteDefinitions: true })
            await eventually(
              async () => world.said,
              (said) => said.some((line) => line.startsWith('waiting for another run to end: uninstall')),
            )
          }
          return (client[method] as (...a: unknown[]) => Promise<unknown>).apply(client, args)
        },
    })
    await world.uninstall({ deleteDefinitions: true }, slow)
    await second
  })

  test('an uninstall that waited for another run shows anew what is lost', async () => {
    await world.install(releaseOf('0.1.0'))
    const shown: (readonly string[])[] = []
    let second: Promise<void> | undefined
    const slow = new Proxy(world.admin, {
      get:
        (client, method: keyof KubeClient) =>
        async (...args: unknown[]) => {
          const object = args[1] as KubeObject | undefined
          if (object?.kind === 'Deployment' && second === undefined) {
            second = world.uninstall({ deleteDefinitions: true, confirm: async (lines) => void shown.push(lines) })
            await eventually(
              async () => world.said,
              (said) => said.some((line) => line.startsWith('waiting for another run to end: install')),
            )
            await rollout()
          }
          return (client[method] as (...a: unknown[]) => Promise<unknown>).apply(client, args)
        },
    })
    await world.admin.create(nodes, node('n-1'))
    await world.install(releaseOf('0.1.0'), {}, slow)
    await second
    expect(shown.map(([first]) => first)).toEqual([
      'no machines, rules or other objects of the kinds of KubeNode',
      'deleted for good: 1 Machine, 1 OperationPermit',
    ])
  })

  test('an upgrade replaces the Defender first, removes what the new version lacks, and goes back with the newer definitions', async () => {
    const old: KubeObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'old', namespace: 'kubenode-system' },
    }
    await world.install(releaseOf('1.1.0', [old]))
    await expect(world.install(releaseOf('1.2.0'))).rejects.toThrow(/^KN1428: version 1\.1\.0 is installed/)
    await expect(world.install(releaseOf('1.3.0'), { isUpgrade: true })).rejects.toThrow(
      /^KN1417: checks failed: versions/,
    )
    await dieAt([110], (client) => world.install(releaseOf('1.2.0'), { isUpgrade: true }, client))
    await world.install(releaseOf('1.2.0'), { isUpgrade: true })
    const roles = [...new Set(world.double.changes.filter((c) => c.endsWith(imageOf('1.2.0'))))].map(
      (c) => c.split(' ')[0],
    )
    expect(roles).toEqual(['defender', 'controllers', 'approver', 'artifacts', 'sync'])
    const configMaps = coreKind('ConfigMap')
    expect(await world.admin.get(configMaps, { namespace: 'kubenode-system', name: 'old' })).toBeUndefined()
    await world.install(releaseOf('1.1.0', [old]), { isUpgrade: true })
    const labelOf = async (type: ResourceType, key: { name: string; namespace?: string }) =>
      (await world.admin.get(type, key))?.metadata.labels?.['app.kubernetes.io/version']
    expect(await labelOf(definitionType, { name: 'machines.kubenode.io' })).toBe('1.2.0')
    expect(await labelOf(configMaps, { namespace: 'kubenode-system', name: 'old' })).toBe('1.1.0')
  })
})

describe('one after the other on one server', () => {
  beforeAll(async () => void (world = await startInstallWorld()))
  afterAll(() => world?.stop())

  test('what a cluster lacks is found before anything is written', async () => {
    const isRole = (kind: string): boolean => kind.startsWith('ClusterRole')
    const before = await everything(world.admin, isRole)
    const { admin } = world
    await expect(world.install(releaseOf('0.1.0'), {}, as('guest'))).rejects.toThrow(/^KN1429: cannot read/)
    const bindings: ResourceType = {
      group: 'rbac.authorization.k8s.io',
      version: 'v1',
      kind: 'ClusterRoleBinding',
      plural: 'clusterrolebindings',
      namespaced: false,
    }
    const roles: ResourceType = { ...bindings, kind: 'ClusterRole', plural: 'clusterroles' }
    const half = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'half' } }
    const reads = { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] }
    await admin.create(roles, { ...half, rules: [reads, { apiGroups: [''], resources: ['*'], verbs: ['*'] }] })
    await admin.create(bindings, {
      ...half,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'half' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'halfway' }],
    })
    const found: string[] = []
    const show = (all: readonly { readonly text: string }[]) => void found.push(...all.map((f) => f.text))
    await expect(world.install(releaseOf('0.1.0'), { show }, as('halfway'))).rejects.toThrow(
      /^KN1417: checks failed: rights/,
    )
    expect(found.join('\n')).toMatch(/KN2403: you may not bind clusterroles\.rbac/)
    expect(await everything(world.admin, isRole)).toEqual(before)
  })

  test('a program that fails to start is reported by its cause, and the next run finishes', async () => {
    world.double.missing.add(imageOf('0.1.0'))
    await expect(world.install(releaseOf('0.1.0'))).rejects.toThrow(
      /^KN1414: the image of pod kubenode-defender-.* cannot be pulled: registry/,
    )
    world.double.missing.clear()
    await world.install(releaseOf('0.1.0'))
    expect(world.said.at(-1)).toMatch(/^leaders: /)
  })

  test('objects of a version that vanishes are rewritten before it goes', async () => {
    await world.admin.create(machine, {
      ...(machine.example as unknown as KubeObject),
      metadata: { name: 'm-1' },
    } as never)
    const key = { name: 'machines.kubenode.io' }
    const now = await world.admin.get(definitionType, key)
    const spec = now?.['spec'] as { readonly versions: readonly object[] }
    const versions = [...spec.versions, { ...spec.versions[0], name: 'v1alpha0', storage: false }]
    const edited = await world.admin.update(definitionType, { ...now, spec: { ...spec, versions } } as KubeObject, {
      fieldManager: 'kubectl-edit',
    })
    const status = { ...(edited['status'] as object), storedVersions: ['v1alpha0', 'v1alpha1'] }
    await world.admin.update(
      definitionType,
      { ...edited, status },
      { subresource: 'status', fieldManager: 'kubectl-edit' },
    )
    await world.install(releaseOf('0.2.0'), { isUpgrade: true })
    expect(world.said).toContain('machines.kubenode.io: 1 objects are stored in version v1alpha1')
    expect((await world.admin.get(definitionType, key))?.['status']).toMatchObject({ storedVersions: ['v1alpha1'] })
  })

  test('a field that never changes is reported with the object to delete, and the next run finishes', async (context) => {
    onlyInFull(context)
    const release = releaseOf('0.2.0')
    const renamed = (o: KubeObject): KubeObject => {
      if (o.kind !== 'Deployment' || o.metadata.name !== 'kubenode-artifacts') return o
      const spec = o['spec'] as { readonly template: KubeObject }
      const labels = { ...spec.template.metadata.labels, selects: 'anew' }
      const template = { ...spec.template, metadata: { ...spec.template.metadata, labels } }
      return { ...o, spec: { ...spec, selector: { matchLabels: labels }, template } }
    }
    const bound = (o: KubeObject): KubeObject =>
      o.kind === 'ClusterRoleBinding' && o.metadata.name === 'kubenode:defender'
        ? { ...o, roleRef: { ...(o['roleRef'] as object), name: 'kubenode:other' } }
        : o
    const [binding] = release.objects.filter((o) => bound(o) !== o)
    await expect(world.install({ ...release, objects: release.objects.map(bound) }, {})).rejects.toThrow(
      /^KN1438: ClusterRoleBinding\.rbac\.authorization\.k8s\.io\/kubenode:defender cannot be changed .*roleRef.*kubectl delete clusterrolebinding\.rbac\.authorization\.k8s\.io kubenode:defender, then run/,
    )
    expect(binding).toBeDefined()
    const changed = { ...release, objects: release.objects.map(renamed) }
    await expect(world.install(changed)).rejects.toThrow(
      /^KN1438: Deployment\.apps\/kubenode-system\/kubenode-artifacts cannot be changed .*spec\.selector.*kubectl delete deployment\.apps kubenode-artifacts -n kubenode-system, then run/,
    )
    await world.admin.delete(deployments, { namespace: 'kubenode-system', name: 'kubenode-artifacts' })
    await world.install(changed)
    await world.admin.delete(deployments, { namespace: 'kubenode-system', name: 'kubenode-artifacts' })
    await world.install(release)
  })

  test('what people scaled is set back by the next run, and what they added stays', async (context) => {
    onlyInFull(context)
    const key = { namespace: 'kubenode-system', name: 'kubenode-defender' }
    const now = await world.admin.get(deployments, key)
    const metadata = { ...now?.metadata, annotations: { ...now?.metadata.annotations, 'example.org/team': 'base' } }
    const edited = { ...now, metadata, spec: { ...(now?.['spec'] as object), replicas: 4 } } as KubeObject
    await world.admin.update(deployments, edited, { fieldManager: 'kubectl-edit' })
    await world.install(releaseOf('0.2.0'))
    const after = await world.admin.get(deployments, key)
    expect([
      (after?.['spec'] as { replicas?: number } | undefined)?.replicas,
      after?.metadata.annotations?.['example.org/team'],
    ]).toEqual([2, 'base'])
  })

  test('permits that are still granted stop an uninstall until they end', async () => {
    await userPod()
    await rollout()
    const defender = new HttpKubeClient({ ...connectionTo(world.server), impersonate: { user: 'kubenode:defender' } })
    const permit = await world.admin.get(operationPermit, { name: 'slice-1' })
    const granted = { ...permit, status: { ...permit?.status, phase: 'Granted' } } as OperationPermit
    await defender.update(operationPermit, granted, { subresource: 'status' })
    world.patience.timeoutMs = 1_000
    await expect(world.uninstall()).rejects.toThrow(/^KN1425: 1 permits are still granted .* operationpermit\/slice-1/)
  })

  test('fields that another tool manages are not taken from it', async () => {
    const [deployment] = releaseOf('0.2.0').objects.filter((o) => o.kind === 'Deployment')
    const other = { ...deployment, spec: { ...(deployment?.['spec'] as object), replicas: 5 } } as KubeObject
    await world.admin.apply(deployments, other, { fieldManager: 'argocd-controller', force: true })
    await expect(world.install(releaseOf('0.2.0'))).rejects.toThrow(
      /^KN1419: Deployment\.apps\/kubenode-system\/kubenode-defender is managed by argocd-controller: \.spec\.replicas/,
    )
  })
})
