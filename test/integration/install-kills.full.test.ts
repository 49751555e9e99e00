// Kills install and uninstall at every write, before it and after it, and runs them again: the end is always the same.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Died, dyingClient } from '#test/doubles/kube/dying-client.ts'
import {
  comparable,
  everything,
  releaseOf,
  renewed,
  startInstallWorld,
  type InstallWorld,
} from '#test/support/worlds/install-world.ts'

let world: InstallWorld
beforeEach(async () => void (world = await startInstallWorld()))
afterEach(() => world.stop())

const release = releaseOf('0.1.0')
const WHEN = ['after', 'before'] as const
/** A hundred objects and more, each killed once: some minutes. */
const PATIENCE_MS = 30 * 60_000

test(
  'a killed installation is finished by the next one, and a killed uninstall leaves nothing once it ran again',
  async () => {
    const before = await everything(world.admin)
    const whole = dyingClient(world.admin, Infinity, 'after')
    await world.install(release, {}, whole.client)
    const installed = comparable(await everything(world.admin, renewed))
    const off = dyingClient(world.admin, Infinity, 'after')
    await world.uninstall({ deleteDefinitions: true, now: true }, off.client)
    expect(await everything(world.admin)).toEqual(before)
    const points = Math.max(whole.writes(), off.writes())
    for (let at = 1; at <= points; at++) {
      const when = WHEN[at % WHEN.length] ?? 'after'
      const on = dyingClient(world.admin, at, when)
      if (at <= whole.writes()) await expect(world.install(release, {}, on.client)).rejects.toThrow(Died)
      await world.install(release)
      expect(comparable(await everything(world.admin, renewed)), `install killed at ${at}`).toEqual(installed)
      const { client } = dyingClient(world.admin, at, when)
      if (at <= off.writes())
        await expect(world.uninstall({ deleteDefinitions: true, now: true }, client)).rejects.toThrow(Died)
      await world.uninstall({ deleteDefinitions: true, now: true })
      expect(await everything(world.admin), `uninstall killed at ${at}`).toEqual(before)
    }
  },
  PATIENCE_MS,
)
