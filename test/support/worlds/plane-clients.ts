// Clients of a control plane that runs on this host, and its settings with the credentials as they are.
import type { ControlPlaneSettings, Part } from '#api/constructs/control-plane/settings.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { planeSettings } from './control-planes.ts'
import type { PlanePrograms } from './plane-programs.ts'

export const HOST = '127.0.0.1'

/** The programs of the version that KUBEBUILDER_ASSETS has, as this minor, with the credentials as they are. */
export const formsOf =
  (plane: PlanePrograms) =>
  (minor: number): ControlPlaneSettings => {
    const base = planeSettings({
      replicas: 2,
      etcd: {
        members: 1,
        storage: '1Gi',
        keepsVolumes: true,
        hasOwnNodes: true,
        isFounded: false,
        startsEmpty: true,
        token: '0b1c',
        snapshotStorage: '2Gi',
      },
      endpoint: { type: 'ClusterIP', host: HOST, port: 6443 },
      ...plane.settings,
    })
    const form = (part: Part) => ({ ...base.parts[part], emulates: minor })
    const parts = {
      etcd: base.parts.etcd,
      apiserver: form('apiserver'),
      'controller-manager': form('controller-manager'),
      scheduler: form('scheduler'),
    }
    return { ...base, parts }
  }

export const clientOf = (plane: PlanePrograms, port: number): KubeClient & { close(): void } =>
  new HttpKubeClient({
    server: `https://${HOST}:${port}`,
    ca: { data: plane.ca },
    clientCertificate: { cert: { data: plane.admin.cert }, key: { data: plane.admin.key } },
  })

export const isReady = async (client: KubeClient): Promise<true | undefined> => {
  const { status } = await client.raw({ method: 'GET', path: '/readyz', timeoutMs: 5_000 }).catch(() => ({ status: 0 }))
  return status === 200 ? true : undefined
}
