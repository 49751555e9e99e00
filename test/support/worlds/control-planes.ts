// Settings of control planes for tests.
import type { ControlPlaneSettings } from '#api/constructs/control-plane/settings.ts'

const DIGEST = `sha256:${'ab'.repeat(32)}`

export function planeSettings(more: Partial<ControlPlaneSettings> = {}): ControlPlaneSettings {
  const form = (version: string, emulates: number, image: string) => ({
    version,
    emulates,
    image: `registry.example.org/${image}@${DIGEST}`,
  })
  return {
    cluster: 'fleet.prod-1',
    namespace: 'kc-fleet-prod-1',
    parts: {
      etcd: form('3.6.6', 306, 'etcd'),
      apiserver: form('1.36.2', 36, 'kube-apiserver'),
      'controller-manager': form('1.36.2', 36, 'kube-controller-manager'),
      scheduler: form('1.36.2', 36, 'kube-scheduler'),
    },
    replicas: 3,
    running: 'All',
    etcd: {
      members: 3,
      storage: '8Gi',
      keepsVolumes: true,
      hasOwnNodes: true,
      isFounded: false,
      startsEmpty: true,
      token: '0b1c',
      snapshotStorage: '16Gi',
    },
    endpoint: { type: 'LoadBalancer', host: 'prod-1.example.org', port: 443 },
    network: { pods: '10.244.0.0/16', services: '10.96.0.0/16', domain: 'cluster.local' },
    reachable: [{ cidr: '0.0.0.0/0', except: ['169.254.0.0/16', '10.8.0.0/16'] }],
    extraArgs: {},
    credentials: { etcd: 'e', apiserver: 'a', 'controller-manager': 'm', scheduler: 's' },
    oldTokenKeys: 0,
    imagePullSecrets: [],
    ...more,
  }
}
