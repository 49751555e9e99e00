// install, upgrade and uninstall on an embedded server: what one run writes, what a second one changes, and that nothing is left in the end.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { everything, releaseOf, startInstallWorld, type InstallWorld } from '#test/support/worlds/install-world.ts'

let world: InstallWorld
beforeEach(async () => void (world = await startInstallWorld()))
afterEach(() => world.stop())

/** Written by servers and leaders all the time. */
const renewed = (kind: string): boolean => kind === 'Lease' || kind === 'Event'

test('installing, installing again, and uninstalling leaves the cluster as it was', async () => {
  const before = await everything(world.admin)
  await world.install(releaseOf('0.1.0'))
  const installed = await everything(world.admin, renewed)
  expect(installed.has('Deployment kubenode-system/kubenode-defender')).toBe(true)
  await world.install(releaseOf('0.1.0'))
  expect(await everything(world.admin, renewed)).toEqual(installed)
  await world.uninstall({ deleteDefinitions: true })
  expect(await everything(world.admin)).toEqual(before)
})
