// The host of control planes of Kubernetes programs conforms, with real programs: what runs are the commands of the very objects that it applied to a hub.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CONFORMANCE, type PlaneClient } from '#test/support/controlplanes/conformance.ts'
import { planeNamespace } from '#controlplanes/kubernetes/plane-record.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { planeClient } from '#test/support/servers/plane-client.ts'
import { kubernetesHostWorld, REAL_SHAPE, whyNoHost } from '#test/support/worlds/kubernetes-host-world.ts'

const CASE_MS = 900_000
const namespaces = coreKind('Namespace')

const why = whyNoHost()

let world: Awaited<ReturnType<typeof kubernetesHostWorld>> | undefined
beforeAll(async () => {
  if (why === undefined) world = await kubernetesHostWorld()
})
afterAll(() => world?.close())

/** One set of programs plays both minors, so the behavior tells them apart. */
const BY_BEHAVIOR: Readonly<Record<string, string>> = { '35': '1.35.9', '36': '1.36.2' }

function connect(kubeconfig: string): PlaneClient {
  const client = new HttpKubeClient(parseSafeKubeconfig(kubeconfig, 'test').config)
  return {
    ...planeClient(kubeconfig),
    version: async () => {
      const answer = await client.raw({ method: 'GET', path: '/version', timeoutMs: 5_000 }).catch(() => undefined)
      client.close()
      const { emulationMinor = '' } = JSON.parse(answer?.text ?? '{}') as Readonly<Record<string, string>>
      return BY_BEHAVIOR[emulationMinor]
    },
  }
}

test.for(CONFORMANCE.map((c) => [c.name, c] as const))('%s', { timeout: CASE_MS }, async ([, conformance], context) => {
  if (why !== undefined) context.skip(`the host of Kubernetes control planes: ${why}`)
  if (world === undefined) throw new Error('no world')
  const { host, client, runner } = world
  try {
    await conformance.run({
      host: host(),
      connect,
      versions: ['1.35.9', '1.36.2'],
      shape: REAL_SHAPE,
      restarted: async () => host(),
      leftovers: async (id) => {
        const name = planeNamespace(id)
        const left = await client.get(namespaces, { name })
        return [...(left === undefined ? [] : [`Namespace ${name}`]), ...runner.running(name)]
      },
    })
    expect(runner.problem).toBeUndefined()
  } catch (error) {
    throw new Error(`${String(error)}\n${String(runner.problem)}\n${runner.tail()}`, { cause: error })
  }
})
