// The control plane keys that a commit can rotate, by their field in `spec.controlPlane.rotation`; used for the status, plans and messages.
import type { Cluster, ClusterStatus } from './kinds/cluster.ts'

export type RotationField = keyof NonNullable<NonNullable<Cluster['spec']['controlPlane']>['rotation']>

interface RotatedKeys {
  /** Name in `status.rotations`. */
  readonly name: NonNullable<NonNullable<ClusterStatus>['rotations']>[number]['name']
  /** For messages. */
  readonly called: string
}

export const ROTATED_KEYS: Readonly<Record<RotationField, RotatedKeys>> = {
  certificateAuthority: { name: 'CertificateAuthority', called: 'the certificate authority' },
  serviceAccountKeys: { name: 'ServiceAccountKeys', called: 'the service account keys' },
  etcdAuthority: { name: 'EtcdAuthority', called: 'the authority of etcd' },
  encryptionKey: { name: 'EncryptionKey', called: 'the key that encrypts Secrets' },
  frontProxyAuthority: { name: 'FrontProxyAuthority', called: 'the authority of the front proxy' },
}
