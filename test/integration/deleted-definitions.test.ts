// A definition of KubeNode that someone deleted with kubectl, and whose objects have finalizers: uninstall frees them, and install waits for its end.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { FINALIZERS } from '#api/names.ts'
import { definitionType } from '#install/observe.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { releaseOf, startInstallWorld, type InstallWorld } from '#test/support/worlds/install-world.ts'

let world: InstallWorld
beforeAll(async () => void (world = await startInstallWorld()))
afterAll(() => world?.stop())

const KEEP = 'example.org/keep'
const definition = { name: 'machines.kubenode.io' }
const HELD = /customresourcedefinition machines\.kubenode\.io to be deleted: finalizers hold its objects: Machine n-1/

const merge = (type: typeof definitionType, key: { readonly name: string }, metadata: object) =>
  world.admin.patch(type, key, { type: 'merge', value: { metadata } } as never, { fieldManager: 'kubectl-patch' })

test('finalizers of KubeNode are removed from its objects, those of others are named, and install continues afterwards', async () => {
  const { admin, patience } = world
  await world.install(releaseOf('0.1.0'))
  const finalizers = [FINALIZERS.machine, KEEP]
  const example = machine.example as unknown as KubeObject
  await admin.create(machine, { ...example, metadata: { name: 'n-1', finalizers } } as never)
  await merge(definitionType, definition, { annotations: { 'kubenode.io/uninstalling': 'true' } })
  await admin.delete(definitionType, definition)

  patience.timeoutMs = 1_000
  await expect(world.install(releaseOf('0.1.0'))).rejects.toThrow(HELD)
  // Definitions whose objects end by themselves take a second or more on a busy machine.
  patience.timeoutMs = 10_000
  let shown: readonly string[] = []
  const uninstall = world.uninstall({
    deleteDefinitions: true,
    now: true,
    confirm: async (lines) => void (shown = lines),
  })
  await expect(uninstall).rejects.toThrow(/Machine n-1 \(example\.org\/keep\)/)
  expect(shown[0]).toBe('deleted for good: 1 Machine')
  expect((await admin.get(machine, { name: 'n-1' }))?.metadata.finalizers).toEqual([KEEP])

  patience.timeoutMs = 60_000
  await merge(machine, { name: 'n-1' }, { finalizers: [] })
  await world.install(releaseOf('0.1.0'))
  expect(await admin.get(machine, { name: 'n-1' })).toBeUndefined()
})
