// Nodes of a given weight, as a cluster has them: conditions, images, addresses, labels; all a little different.
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeObject } from '#api/schema/object.ts'

export const NODES = coreKind('Node')

const CONDITIONS = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable', 'KernelDeadlock']

function bare(i: number, images: readonly object[]): KubeObject {
  const time = new Date(Date.UTC(2026, 0, 5) + i * 1_000).toISOString()
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName(i),
      labels: {
        'kubernetes.io/arch': i % 5 === 0 ? 'arm64' : 'amd64',
        'kubernetes.io/hostname': nodeName(i),
        'topology.kubernetes.io/zone': `zone-${i % 3}`,
        'kubenode.io/pool': `pool-${i % 20}`,
        'node.kubernetes.io/instance-type': `m${i % 7}.xlarge`,
      },
    },
    spec: {
      podCIDR: `10.${i >> 8}.${i & 255}.0/24`,
      providerID: `bench:///zone-${i % 3}/i-${i.toString(16).padStart(12, '0')}`,
    },
    status: {
      conditions: CONDITIONS.map((type) => ({
        type,
        status: type === 'Ready' ? 'True' : 'False',
        reason: `${type}IsAsExpected`,
        message: `the kubelet of ${nodeName(i)} says so`,
        lastHeartbeatTime: time,
        lastTransitionTime: time,
      })),
      addresses: [{ type: 'InternalIP', address: `192.168.${i >> 8}.${i & 255}` }],
      nodeInfo: {
        kubeletVersion: 'v1.33.2',
        kernelVersion: '6.1.0',
        osImage: 'Debian 12',
        machineID: i.toString(16).padStart(32, '0'),
      },
      images,
    },
  }
}

export const nodeName = (i: number): string => `node-${i.toString().padStart(5, '0')}.bench.example`

/** About so many bytes of JSON; the weight that is missing comes as images, as on a real node. */
export function benchNode(i: number, bytes: number): KubeObject {
  const images: object[] = []
  const node = bare(i, images)
  let size = JSON.stringify(node).length
  for (let n = 0; size < bytes; n++) {
    const image = {
      names: [`registry.example/team-${n % 9}/service-${n}@sha256:${`${i * 131 + n}`.padStart(64, 'a')}`],
      sizeBytes: 1_000_000 + n * 977 + i,
    }
    images.push(image)
    size += JSON.stringify(image).length + 1
  }
  return node
}
