// The control plane of a real cluster, where KUBEBUILDER_ASSETS names its programs: each of the four does its part, and nothing is left of it.
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { nodeStatus } from '#agent/node/node-status.ts'
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { startControlPlane } from '#test/support/servers/real/control-plane.ts'
import { whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { processesWith, until } from '#test/support/tools/processes.ts'

const WITHIN_MS = 200_000
const pods = coreKind('Pod')
const nodes = coreKind('Node')

test('a pod gets its service account and a node that runs pods, and nothing is left after the end', async (context) => {
  const why = whyNoPrograms()
  if (why !== undefined) context.skip(`a real control plane: ${why}`)
  const plane = await startControlPlane()
  const admin = new HttpKubeClient({
    server: plane.url,
    ca: { data: plane.ca },
    clientCertificate: { cert: { data: plane.cert }, key: { data: plane.key } },
  })
  try {
    expect(await placeOfPod(admin)).toBe('n-1')
  } finally {
    admin.close()
    await plane.stop()
  }
  expect(existsSync(plane.folder)).toBe(false)
  expect(processesWith(plane.folder)).toEqual([])
})

/** What an agent reports of a large and idle host that has no kubelet. */
const ofAgent = nodeStatus(
  {
    name: 'n-0',
    facts: { bootId: 'b', os: 'linux', arch: 'amd64', kernel: '6', hostname: 'n-0', cpus: 64, memoryBytes: 2 ** 38 },
    address: '192.0.2.1',
    version: '0.0.0',
    problems: [],
    readySince: Date.now(),
  },
  Date.now(),
  { ready: true },
)

/** Makes a Node without a kubelet beside one of an agent, and a pod that tolerates both. */
async function placeOfPod(admin: KubeClient): Promise<string> {
  await admin.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n-0' } })
  await admin.apply(nodes, ofAgent, { fieldManager: 'agent', subresource: 'status', force: true })
  await admin.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n-1' } })
  const ready = [{ type: 'Ready', status: 'True', reason: 'Test', message: '' }]
  const status = { conditions: ready, allocatable: { cpu: '1', memory: '1Gi', pods: '9' } }
  await admin.patch(nodes, { name: 'n-1' }, { type: 'merge', value: { status } }, { subresource: 'status' })
  const key = { namespace: 'default', name: 'p-1' }
  const spec = {
    containers: [{ name: 'c', image: 'none' }],
    tolerations: [{ operator: 'Exists' }],
    serviceAccountName: 'default',
  }
  // The controller manager makes the account; until then the pod is refused.
  await until(
    'a pod may be made',
    () => admin.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata: key, spec }).then(() => true as const),
    WITHIN_MS,
  )
  return until(
    'the scheduler chooses a node',
    async () => {
      const now = await admin.get(pods, key)
      return isObject(now?.['spec']) ? now['spec']['nodeName'] : undefined
    },
    WITHIN_MS,
  )
}
