// Credentials of a control plane of Kubernetes programs: three independent authorities, and a certificate for each connection between two programs.
import {
  AUTHORITY_DAYS,
  CLUSTER_AUTHORITY,
  EMBEDDED_RECIPE,
  ENCRYPTION_KEY,
  ETCD_AUTHORITY,
  LEAF_DAYS,
  MASTERS,
  PROXY_AUTHORITY,
  kubeconfigName,
  type LeafRecipe,
  type Recipe,
} from '../credentials/recipe.ts'

export const LEAVES = {
  etcdServer: 'etcd-server',
  etcdPeer: 'etcd-peer',
  apiserverEtcd: 'apiserver-etcd',
  apiserverKubelet: 'apiserver-kubelet',
  frontProxy: 'front-proxy-client',
  controllerManager: 'controller-manager',
  scheduler: 'scheduler',
} as const

const ENCRYPTION_BYTES = 32

export interface EtcdNames {
  /** Names and addresses by which API servers and peers reach members, including wildcards. */
  readonly etcdHosts: readonly string[]
}

/** The embedded server's items, plus those of etcd and the managers. */
export function kubernetesRecipe({ etcdHosts }: EtcdNames): Recipe {
  const leaf = (name: string, authority: string, usage: LeafRecipe['usage'], commonName: string): LeafRecipe => ({
    name,
    authority,
    usage,
    commonName,
    days: LEAF_DAYS,
  })
  const kubeconfig = (name: string) => ({ name: kubeconfigName(name), authority: CLUSTER_AUTHORITY, leaf: name })
  const authority = (name: string) => ({ name, commonName: name, days: AUTHORITY_DAYS, trustedBy: 'Servers' }) as const
  return {
    ...EMBEDDED_RECIPE,
    authorities: [...EMBEDDED_RECIPE.authorities, authority(ETCD_AUTHORITY), authority(PROXY_AUTHORITY)],
    sealingKeys: [{ name: ENCRYPTION_KEY, bytes: ENCRYPTION_BYTES }],
    leaves: [
      ...EMBEDDED_RECIPE.leaves,
      { ...leaf(LEAVES.etcdServer, ETCD_AUTHORITY, 'peer', 'etcd'), hosts: etcdHosts },
      { ...leaf(LEAVES.etcdPeer, ETCD_AUTHORITY, 'peer', 'etcd-peer'), hosts: etcdHosts },
      leaf(LEAVES.apiserverEtcd, ETCD_AUTHORITY, 'client', 'kube-apiserver'),
      {
        ...leaf(LEAVES.apiserverKubelet, CLUSTER_AUTHORITY, 'client', 'kube-apiserver-kubelet-client'),
        organizations: [MASTERS],
      },
      leaf(LEAVES.frontProxy, PROXY_AUTHORITY, 'client', LEAVES.frontProxy),
      leaf(LEAVES.controllerManager, CLUSTER_AUTHORITY, 'client', 'system:kube-controller-manager'),
      leaf(LEAVES.scheduler, CLUSTER_AUTHORITY, 'client', 'system:kube-scheduler'),
    ],
    kubeconfigs: [...EMBEDDED_RECIPE.kubeconfigs, kubeconfig(LEAVES.controllerManager), kubeconfig(LEAVES.scheduler)],
  }
}
