// The Secrets that a control plane's pods mount: each program gets only the keys it uses. Pure.
import { sha256OfJson } from '#lib/sha256.ts'
import {
  PARTS,
  READ_BY,
  type ControlPlaneSettings,
  type Part,
  type SecretName,
} from '#api/constructs/control-plane/settings.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { bundleOf, leafIn, rootIn, sealingKeysIn, signerOf, type Held } from '../credentials/held.ts'
import {
  CLUSTER_AUTHORITY,
  ENCRYPTION_KEY,
  ETCD_AUTHORITY,
  kubeconfigName,
  PROXY_AUTHORITY,
  SERVER_LEAF,
  TOKEN_KEYS,
} from '../credentials/recipe.ts'
import { LEAVES } from './recipe.ts'

type Files = Readonly<Record<string, string>>
export type SecretFiles = Readonly<Record<SecretName, Files>>

/** Undefined while an item is missing. */
export function secretFiles(held: Held): SecretFiles | undefined {
  const pair = (name: string, authority?: string): Files | undefined => {
    const [leaf, root] = [leafIn(held, name), authority === undefined ? undefined : rootIn(held, authority)]
    if (leaf === undefined || (authority !== undefined && root === undefined)) return undefined
    return {
      'tls.crt': leaf.certificate,
      'tls.key': leaf.key,
      ...(root !== undefined && { 'ca.crt': bundleOf(root) }),
    }
  }
  const ca = rootIn(held, CLUSTER_AUTHORITY)
  const files: Readonly<Record<SecretName, Files | undefined>> = {
    'etcd-server': pair(LEAVES.etcdServer, ETCD_AUTHORITY),
    'etcd-peer': pair(LEAVES.etcdPeer, ETCD_AUTHORITY),
    'apiserver-etcd': pair(LEAVES.apiserverEtcd, ETCD_AUTHORITY),
    apiserver: pair(SERVER_LEAF),
    'client-ca': ca && { 'ca.crt': bundleOf(ca) },
    'apiserver-kubelet': pair(LEAVES.apiserverKubelet),
    'front-proxy': pair(LEAVES.frontProxy, PROXY_AUTHORITY),
    'service-accounts': tokenFiles(held),
    encryption: encryptionFile(held),
    'cluster-ca': signerFiles(held),
    'controller-manager-kubeconfig': kubeconfigFile(held, LEAVES.controllerManager),
    'scheduler-kubeconfig': kubeconfigFile(held, LEAVES.scheduler),
  }
  return Object.values(files).includes(undefined) ? undefined : (files as SecretFiles)
}

function tokenFiles(held: Held): Files | undefined {
  const root = rootIn(held, TOKEN_KEYS)
  const signer = root && signerOf(root)
  if (root === undefined || signer?.key === undefined) return undefined
  const others = root.generations.filter(({ number }) => number !== signer.number)
  return {
    'sa.key': signer.key,
    'sa.pub': signer.open,
    ...Object.fromEntries(others.map(({ open }, n) => [`sa-old-${n}.pub`, open])),
  }
}

function signerFiles(held: Held): Files | undefined {
  const root = rootIn(held, CLUSTER_AUTHORITY)
  const signer = root && signerOf(root)
  return signer?.key === undefined ? undefined : { 'tls.crt': signer.open, 'tls.key': signer.key }
}

function kubeconfigFile(held: Held, leaf: string): Files | undefined {
  const item = held[kubeconfigName(leaf)]
  return item?.kind === 'Kubeconfig' ? { kubeconfig: item.text } : undefined
}

/** The list's first key seals Secrets in the store; content sealed by the other key, or unsealed, stays readable. */
function encryptionFile(held: Held): Files | undefined {
  const item = sealingKeysIn(held, ENCRYPTION_KEY)
  if (item === undefined) return undefined
  const ordered = item.generations.toSorted((a, b) => Number(b.number === item.signs) - Number(a.number === item.signs))
  const keys = ordered.map(({ number, key }) => ({ name: `key-${number}`, secret: key }))
  const config = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [
      {
        resources: ['secrets'],
        providers: [{ secretbox: { keys } }, { identity: {} }],
      },
    ],
  }
  return { 'config.yaml': JSON.stringify(config) }
}

/** The settings that depend on the credentials. */
export const credentialSettings = (files: SecretFiles): Pick<ControlPlaneSettings, 'credentials' | 'oldTokenKeys'> => ({
  credentials: Object.fromEntries(
    PARTS.map((part) => [part, sha256OfJson(READ_BY[part].map((secret) => files[secret]))]),
  ) as Record<Part, string>,
  oldTokenKeys: Object.keys(files['service-accounts']).filter((file) => file.startsWith('sa-old-')).length,
})

export const mountedSecrets = (files: SecretFiles, namespace: string): readonly KubeObject[] =>
  Object.entries(files).map(([name, data]) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name, namespace },
    data: Object.fromEntries(Object.entries(data).map(([file, text]) => [file, Buffer.from(text).toString('base64')])),
  }))
