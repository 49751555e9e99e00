// A control plane of real programs under people and faults in random combinations, for minutes: what was written to Secrets can always be read.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, test } from 'vitest'
import { sealAgainWith, type SealAgain } from '#controlplanes/kubernetes/reseal.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { systemClock } from '#lib/system-clock.ts'
import { seededRandom } from '#lib/random.ts'
import { testSeed } from '#test/support/tools/seed.ts'
import { etcdctlOf } from '#test/support/worlds/etcd-host-world.ts'
import { kubernetesHostWorld, REAL_SHAPE, whyNoHost } from '#test/support/worlds/kubernetes-host-world.ts'
import { FAULTED_NAMESPACE, planeUnderFaults, type FaultedWorld } from '#test/support/worlds/plane-faults.ts'

const CHAPTER_MS = 3_600_000
const RUN_MS = Number(process.env['KUBENODE_FAULTS_MINUTES'] ?? 10) * 60_000
const DAY_MS = 86_400_000
const SECRETS = coreKind('Secret')
const why = whyNoHost()
const connect = (config: ConstructorParameters<typeof HttpKubeClient>[0]) => new HttpKubeClient(config)

/** Certificates that the host makes for itself would have expired by the clock of the programs. */
const longer =
  (kubeconfig: Parameters<SealAgain>[0]['kubeconfig']): typeof kubeconfig =>
  (identity) =>
    kubeconfig({ ...identity, lifeMs: 2 * DAY_MS })

let real: Awaited<ReturnType<typeof kubernetesHostWorld>> | undefined
const folder = mkdtempSync(join(tmpdir(), 'kubenode-faults-'))
beforeAll(async () => {
  if (why === undefined) real = await kubernetesHostWorld()
})
afterAll(async () => {
  await real?.close()
  rmSync(folder, { recursive: true, force: true })
})

test(
  'no combination of kills, clocks and people makes a Secret unreadable',
  async (context) => {
    if (why !== undefined) context.skip(`the host of Kubernetes control planes: ${why}`)
    if (real === undefined) throw new Error('no world')
    const end = Date.now() + RUN_MS
    const options = { chance: seededRandom(testSeed), isOver: () => Date.now() >= end }
    const { rounds, steps } = await planeUnderFaults(worldOf(real), options)
    process.stderr.write(
      `faults of a control plane: KUBENODE_TEST_SEED=${testSeed}, ${rounds} rounds, ${steps} steps\n`,
    )
  },
  CHAPTER_MS,
)

function worldOf(world: Awaited<ReturnType<typeof kubernetesHostWorld>>): FaultedWorld {
  const { client, runner, host } = world
  const asAdmin = async <T>(kubeconfig: string, work: (admin: HttpKubeClient) => Promise<T>): Promise<T> => {
    const admin = connect(parseSafeKubeconfig(kubeconfig, 'admin').config)
    try {
      return await work(admin)
    } finally {
      admin.close()
    }
  }
  return {
    hub: client,
    clock: systemClock,
    shape: REAL_SHAPE,
    host: (more) =>
      host({ ...more, sealAgain: (of) => sealAgainWith({ connect })({ ...of, kubeconfig: longer(of.kubeconfig) }) }),
    read: (kubeconfig) =>
      asAdmin(kubeconfig, async (admin) => {
        const { items } = await admin.list(SECRETS, { namespace: 'default' })
        return Object.fromEntries(
          items.map((secret) => {
            const data = (secret['data'] ?? {}) as Readonly<Record<string, string>>
            return [secret.metadata.name ?? '', Buffer.from(data['value'] ?? '', 'base64').toString()]
          }),
        )
      }),
    write: (kubeconfig, name, value) =>
      asAdmin(kubeconfig, async (admin) => {
        const data = { value: Buffer.from(value).toString('base64') }
        const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' }, data }
        await admin.apply(SECRETS, secret, { fieldManager: 'test', force: true })
      }),
    keysInStore: async () => {
      const ask = await etcdctlOf(world, FAULTED_NAMESPACE, folder)
      const { kvs = [] } = JSON.parse(ask(0, ['get', '/registry/secrets/', '--prefix', '-w', 'json'])) as {
        readonly kvs?: readonly { readonly value: string }[]
      }
      const names = kvs.map(
        ({ value }) =>
          /^k8s:enc:secretbox:v1:([^:]+):/.exec(Buffer.from(value, 'base64').toString('latin1'))?.[1] ?? '',
      )
      return [...new Set(names)].toSorted()
    },
    running: () => runner.running(FAULTED_NAMESPACE),
    mustBeSound: (told) => {
      if (runner.problem !== undefined) throw new Error(`${String(runner.problem)}\n${told()}`)
    },
    tail: () => `KUBENODE_TEST_SEED=${testSeed}\n${runner.tail()}`,
  }
}
