// A real scheduler gives each member of an etcd a node of its own: on a hub that has fewer nodes, a member waits.
import { expect, test } from 'vitest'
import { controlPlaneObjects } from '#api/constructs/control-plane/control-plane.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { startControlPlane } from '#test/support/servers/real/control-plane.ts'
import { whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'
import { until } from '#test/support/tools/processes.ts'
import { planeSettings } from '#test/support/worlds/control-planes.ts'

const WITHIN_MS = 300_000
const NAMESPACE = 'kc-fleet-prod-1'
const STORAGE_CLASS = 'fast'

const volume = (n: number): object => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: `volume-${n}` },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '8Gi' },
    storageClassName: STORAGE_CLASS,
    hostPath: { path: `/volume-${n}` },
  },
})

const allocatable = { cpu: '8', memory: '32Gi', pods: '100' }
const node = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'kubernetes.io/hostname': name } },
  status: { capacity: allocatable, allocatable, conditions: [{ type: 'Ready', status: 'True', reason: 'Played' }] },
})

test(
  'two of three members run on two nodes, and the third as soon as there is a third node',
  async (context) => {
    const why = whyNoPrograms()
    if (why !== undefined) context.skip(`a real scheduler: ${why}`)
    // No kubelet renews the Leases of these nodes.
    const flags = { 'kube-controller-manager': ['--controllers=*,-node-lifecycle-controller'] }
    const plane = await startControlPlane({ flags })
    try {
      const kubectl = new Kubectl(plane)
      const addNode = async (name: string): Promise<void> => {
        await kubectl.apply([node(name)])
        await kubectl.ok(`taint node ${name} node.kubernetes.io/not-ready-`)
      }
      const placed = async (): Promise<readonly string[]> => {
        const path = 'jsonpath={.items[*].spec.nodeName}'
        return (await kubectl.ok(`get pods -n ${NAMESPACE} -o`, [path])).split(' ').filter(Boolean).toSorted()
      }
      const { etcd } = planeSettings()
      const settings = planeSettings({ etcd: { ...etcd, storageClass: STORAGE_CLASS } })
      const ofEtcd = ({ kind, metadata }: KubeObject) => kind === 'Namespace' || metadata.name === 'etcd'
      await addNode('node-1')
      await kubectl.apply([0, 1, 2].map(volume))
      await kubectl.apply(controlPlaneObjects(settings).filter(ofEtcd))
      await until('the first member', async () => ((await placed()).length > 0 ? true : undefined), WITHIN_MS)
      await addNode('node-2')
      await until('the second member', async () => ((await placed()).length > 1 ? true : undefined), WITHIN_MS)
      const path = 'jsonpath={.items[*].status.conditions[?(@.type=="PodScheduled")].message}'
      await until(
        'the reason of the third',
        async () => {
          const said = await kubectl.ok(`get pods -n ${NAMESPACE} -o`, [path])
          return said.includes('topology spread constraints') && said.includes('0/2 nodes') ? true : undefined
        },
        WITHIN_MS,
      )
      expect(await placed()).toEqual(['node-1', 'node-2'])
      await addNode('node-3')
      await until('the third member', async () => ((await placed()).length > 2 ? true : undefined), WITHIN_MS)
      expect(await placed()).toEqual(['node-1', 'node-2', 'node-3'])
    } finally {
      await plane.stop()
    }
  },
  3 * WITHIN_MS,
)
