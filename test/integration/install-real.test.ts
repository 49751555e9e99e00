// install and uninstall on a real control plane, killed where it matters most: at the first writes, around definitions, policies and workloads, at the last.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Died, dyingClient } from '#test/doubles/kube/dying-client.ts'
import { startControlPlane } from '#test/support/servers/real/control-plane.ts'
import { whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'
import {
  everything,
  releaseOf,
  renewed,
  startInstallWorld,
  type InstallWorld,
} from '#test/support/worlds/install-world.ts'

/** What ends namespaces and owned objects; Deployments are played by a double, since no kubelet runs their pods. */
const CONTROLLERS =
  'namespace-controller,garbage-collector-controller,serviceaccount-controller,root-ca-certificate-publisher-controller'
const PATIENCE_MS = 15 * 60_000

const whyNot = whyNoPrograms(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'])
let world: InstallWorld | undefined
beforeAll(async () => {
  if (whyNot !== undefined) return
  const flags = { 'kube-controller-manager': [`--controllers=${CONTROLLERS}`] }
  const w = await startInstallWorld(() => startControlPlane({ flags }))
  world = w
  // As in any cluster that is older than a few seconds: pods are tried in this namespace.
  await eventually(
    () => w.admin.raw({ method: 'GET', path: '/api/v1/namespaces/default/serviceaccounts/default' }),
    ({ status }) => status === 200,
  )
}, PATIENCE_MS)
afterAll(() => world?.stop())
beforeEach((context) => {
  if (whyNot !== undefined) context.skip(`a real control plane: ${whyNot}`)
})

const release = releaseOf('0.1.0')
/** Names alone: a server renews much of what it keeps itself. */
const names = async ({ admin }: InstallWorld) => [...(await everything(admin, renewed)).keys()].toSorted()

test(
  'a killed installation is finished by the next one, and a killed uninstall leaves nothing once it ran again',
  async () => {
    const w = world as InstallWorld
    const before = await names(w)
    const on = dyingClient(w.admin, Infinity, 'after')
    await w.install(release, {}, on.client)
    const installed = await names(w)
    const off = dyingClient(w.admin, Infinity, 'after')
    await w.uninstall({ deleteDefinitions: true, now: true }, off.client)
    await eventually(
      () => names(w),
      (now) => now.join() === before.join(),
    )
    const share = (of: number, ...parts: readonly number[]) => parts.map((p) => Math.max(1, Math.round(p * of)))
    // Definitions come first, then policies and rights, and workloads last.
    const deaths = [
      share(on.writes(), 0, 0.1, 0.35, 0.7, 0.95, 1),
      share(off.writes(), 0, 0.05, 0.2, 0.5, 0.9, 1),
    ] as const
    for (const [n, at] of deaths[0].entries()) {
      const when = n % 2 === 0 ? 'after' : 'before'
      await expect(w.install(release, {}, dyingClient(w.admin, at, when).client), `install ${at}`).rejects.toThrow(Died)
      await w.install(release)
      expect(await names(w), `install killed ${when} write ${at}`).toEqual(installed)
      const end = deaths[1][n] ?? 1
      const dying = dyingClient(w.admin, end, when).client
      await expect(w.uninstall({ deleteDefinitions: true, now: true }, dying), `uninstall ${end}`).rejects.toThrow(Died)
      await w.uninstall({ deleteDefinitions: true, now: true })
      await eventually(
        () => names(w),
        (now) => now.join() === before.join(),
      )
    }
  },
  PATIENCE_MS,
)
