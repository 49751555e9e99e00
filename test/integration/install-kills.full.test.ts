// Kills install, upgrade, the way back and uninstall at their writes, before one and after one, and runs them again: the end is always the same. On the embedded
// server at every second write of install and uninstall; on a real control plane, which takes many times as long, at samples.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { Died, dyingClient } from '#test/doubles/kube/dying-client.ts'
import {
  comparable,
  installServers,
  type InstallWorld,
  releaseOf,
  startInstallWorld,
  unchanging,
} from '#test/support/worlds/install-world.ts'

const WHEN = ['after', 'before'] as const
/** A hundred objects and more, each killed once: some minutes. */
const PATIENCE_MS = 45 * 60_000
/** Namespaces, definitions and what others own go a moment after they are deleted. */
const SETTLED_WITHIN_MS = 200_000
const EVERY = {
  'the embedded server': { off: 2, change: 6 },
  'a real kube-apiserver': { off: 12, change: 24 },
} as const

/** Not a divisor of the number of objects in a step, and both ways of dying in turn. */
const pointsOf = (writes: number, every: number) =>
  Array.from({ length: Math.ceil(writes / every) }, (_, i) => ({
    at: Math.min(writes, 1 + i * every),
    when: WHEN[i % WHEN.length] ?? 'after',
  }))

const old: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'old', namespace: 'kubenode-system' } }

describe.each(installServers)('killed on $name', ({ name, start }) => {
  let world: InstallWorld
  beforeEach(async () => void (world = await startInstallWorld(start)), 300_000)
  afterEach(() => world.stop())
  const every = EVERY[name as keyof typeof EVERY]

  const state = async () => comparable(await unchanging(world.admin))
  async function settles(wanted: unknown, after: string): Promise<void> {
    const until = performance.now() + SETTLED_WITHIN_MS
    for (;;) {
      const now = await state()
      if (performance.now() > until || JSON.stringify(now) === JSON.stringify(wanted))
        return expect(now, after).toEqual(wanted)
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
  async function counted(run: (client: KubeClient) => Promise<unknown>): Promise<number> {
    const whole = dyingClient(world.admin, Infinity, 'after')
    await run(whole.client)
    return whole.writes()
  }
  async function killed(run: (client: KubeClient) => Promise<unknown>, at: number, when: 'before' | 'after') {
    await expect(run(dyingClient(world.admin, at, when).client)).rejects.toThrow(Died)
    await run(world.admin)
  }

  test(
    'an installation is finished by the next one, and an uninstall leaves nothing once it ran again',
    async () => {
      const release = releaseOf('0.1.0')
      const install = (client: KubeClient) => world.install(release, {}, client)
      const uninstall = (client: KubeClient) => world.uninstall({ deleteDefinitions: true, now: true }, client)
      const before = await state()
      const writes = await counted(install)
      const installed = await state()
      const deletions = await counted(uninstall)
      await settles(before, 'uninstalled')
      for (const { at, when } of pointsOf(Math.max(writes, deletions), every.off)) {
        if (at <= writes) await killed(install, at, when)
        else await install(world.admin)
        await settles(installed, `install killed ${when} ${at}`)
        if (at <= deletions) await killed(uninstall, at, when)
        else await uninstall(world.admin)
        await settles(before, `uninstall killed ${when} ${at}`)
      }
    },
    PATIENCE_MS,
  )

  test(
    'an upgrade is finished by the next one, and so is the way back',
    async () => {
      const [first, second] = [releaseOf('1.1.0', [old]), releaseOf('1.2.0')]
      const forth = (client: KubeClient) => world.install(second, { isUpgrade: true }, client)
      const back = (client: KubeClient) => world.install(first, { isUpgrade: true }, client)
      await world.install(first)
      const writes = await counted(forth)
      const upgraded = await state()
      const returns = await counted(back)
      const returned = await state()
      for (const { at, when } of pointsOf(Math.min(writes, returns), every.change)) {
        await killed(forth, at, when)
        await settles(upgraded, `upgrade killed ${when} ${at}`)
        await killed(back, at, when)
        await settles(returned, `the way back killed ${when} ${at}`)
      }
    },
    PATIENCE_MS,
  )
})
