// An uninstall that does not come to its end: given up after the programs were stopped, or held by a finalizer of another program.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Finding } from '#install/checks/finding.ts'
import { deploymentType } from '#install/observe.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { changedClient } from '#test/doubles/kube/changed-client.ts'
import { Died } from '#test/doubles/kube/dying-client.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'
import { isFull, onlyInFull } from '#test/support/tools/full.ts'
import {
  everything,
  installServers,
  releaseOf,
  renewed,
  startInstallWorld,
} from '#test/support/worlds/install-world.ts'
import type { InstallWorld } from '#test/support/worlds/install-world.ts'

const configMaps = coreKind('ConfigMap')
const HELD = { name: 'held', namespace: SYSTEM_NAMESPACE }

/** Ends right after the last program was scaled to zero. */
function endingWhenStopped(real: KubeClient, last: string): KubeClient {
  const scale: KubeClient['scale'] = async (...args) => {
    await real.scale(...args)
    if (args[1].name === last) throw new Error('interrupted')
  }
  return changedClient(real, { scale })
}

/** Ends once our namespace no longer exists, and with it the name that the cluster was given. */
function endingWithoutNamespaces(real: KubeClient): KubeClient {
  const remove: KubeClient['delete'] = async (type, key, ...rest) => {
    const deleted = await real.delete(type, key, ...rest)
    if (type.kind !== 'Namespace' || key.name !== SYSTEM_NAMESPACE) return deleted
    await eventually(
      () => real.get(type, key),
      (found) => found === undefined,
    )
    throw new Died()
  }
  return changedClient(real, { delete: remove })
}

/** A real control plane takes a minute for this. */
const SERVERS = isFull ? installServers : installServers.slice(0, 1)

describe.each(SERVERS)('on $name', ({ start }) => {
  let world: InstallWorld
  beforeAll(async () => void (world = await startInstallWorld(start)))
  afterAll(() => world?.stop())
  const replicas = async (): Promise<readonly unknown[]> =>
    (await listAll(world.admin, deploymentType, { namespace: SYSTEM_NAMESPACE })).map(
      (d) => (d['spec'] as { readonly replicas?: number }).replicas,
    )

  test('one that was given up after the programs were stopped is undone by install', async () => {
    await world.install(releaseOf('0.1.0'))
    const before = await replicas()
    await expect(world.uninstall({}, endingWhenStopped(world.admin, 'kubenode-sync'))).rejects.toThrow('interrupted')
    expect(await replicas()).toContain(0)
    await world.install(releaseOf('0.1.0'))
    expect(await replicas()).toEqual(before)
  })

  test.each([false, true])(
    'one that was killed after the namespaces continues without their name; with definitions: %s',
    async (deleteDefinitions) => {
      const { admin } = world
      await world.install(releaseOf('0.1.0'))
      const needed: boolean[] = []
      const confirm = async (_: readonly string[], isNeeded: boolean) => void needed.push(isNeeded)
      const options = { deleteDefinitions, confirm }
      await expect(world.uninstall(options, endingWithoutNamespaces(admin))).rejects.toThrow(Died)
      await world.uninstall(options)
      expect(needed).toEqual([true, false])
      const left = [...(await everything(admin, renewed)).keys()].filter((name) => name.includes('kubenode'))
      expect(left.filter((name) => deleteDefinitions || !/^(CustomResourceDefinition|APIService) /.test(name))).toEqual(
        [],
      )
    },
  )

  test('an uninstall of definitions that were kept is confirmed by the name', async () => {
    await world.install(releaseOf('0.1.0'))
    await world.uninstall()
    const needed: boolean[] = []
    const confirm = async (_: readonly string[], isNeeded: boolean) => void needed.push(isNeeded)
    await world.uninstall({ confirm })
    await world.uninstall({ confirm, deleteDefinitions: true })
    expect(needed).toEqual([false, true])
  })

  test('an object with a finalizer of another program holds its namespace: install waits for it and writes nothing, uninstall continues once it is gone', async (context) => {
    onlyInFull(context)
    const { admin } = world
    await world.install(releaseOf('0.1.0'))
    await admin.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...HELD, finalizers: ['example.org/never'] },
    })
    world.patience.timeoutMs = 10_000
    await expect(world.uninstall()).rejects.toThrow(/^KN1418: waited 10 s for Namespace\/kubenode-system to be deleted/)
    world.patience.timeoutMs = 60_000
    const shown: string[] = []
    const show = (all: readonly Finding[]) => void shown.push(...all.map((f) => f.text))
    const ours = async () =>
      [...(await everything(admin, renewed)).keys()].filter((name) => name.includes('kubenode')).toSorted()
    const written = await ours()
    await expect(world.install(releaseOf('0.1.0'), { show })).rejects.toThrow(/^KN1417: checks failed: namespace/)
    expect(shown.join('\n')).toMatch(
      /KN1442: namespace kubenode-system is still being deleted: (the server reports no reason|.*example\.org\/never in 1 resource instances)/,
    )
    expect(await ours()).toEqual(written)
    await admin.patch(configMaps, HELD, { type: 'merge', value: { metadata: { finalizers: null } } } as never)
    await world.uninstall({ deleteDefinitions: true })
    expect(await ours()).toEqual([])
  })
})
