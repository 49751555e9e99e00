// The Secret with sync's kubeconfig for a control plane on the hub: reads and writes it. Never touches a Secret that a person created.
import { X509Certificate } from 'node:crypto'
import type { Cluster } from '#api/kinds/cluster.ts'
import { authorityPrints, signerPrint } from '#identity/authority-prints.ts'
import {
  ANNOTATIONS,
  hostedKubeconfigName,
  hostedKubeconfigKey,
  hostedNamespace,
  type HostedProgram,
  KUBECONFIG_KEY,
} from '#api/names.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { KubeconfigSeen } from '../seen.ts'

export const SECRET = coreKind('Secret')

/** Ninety days, renewed with a month left. */
export const KUBECONFIG_LIFE_MS = 90 * 86_400_000

export const secretKey = ({ metadata: { namespace = '', name = '' } }: Cluster) => hostedKubeconfigKey(namespace, name)

export const programSecretKey = ({ metadata: { namespace = '', name = '' } }: Cluster, program: HostedProgram) => ({
  namespace: hostedNamespace(program),
  name: hostedKubeconfigName(namespace, name),
})

export function kubeconfigSeen(secret: KubeObject): KubeconfigSeen {
  const owner = secret.metadata.annotations?.[ANNOTATIONS.madeForUid]
  const data = isObject(secret['data']) ? secret['data'][KUBECONFIG_KEY] : undefined
  const unread = { owner, endpoint: undefined, ca: undefined, authorities: [], signedBy: undefined, from: 0, until: 0 }
  if (typeof data !== 'string') return unread
  try {
    const { config } = parseSafeKubeconfig(Buffer.from(data, 'base64').toString('utf8'), 'the kubeconfig')
    const cert = config.clientCertificate?.cert
    if (cert === undefined || !('data' in cert)) return unread
    const { validFromDate, validToDate } = new X509Certificate(cert.data)
    const ca = config.ca !== undefined && 'data' in config.ca ? config.ca.data : undefined
    return {
      owner,
      endpoint: config.server,
      ca,
      authorities: authorityPrints(ca ?? ''),
      signedBy: signerPrint(cert.data, ca ?? ''),
      from: validFromDate.getTime(),
      until: validToDate.getTime(),
    }
  } catch {
    // Damaged: write it again.
    return unread
  }
}

export const secretOf = (cluster: Cluster, key: ReturnType<typeof secretKey>, kubeconfig: string): KubeObject => {
  const { namespace = '', name = '', uid = '' } = cluster.metadata
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...key,
      annotations: { [ANNOTATIONS.cluster]: `${namespace}/${name}`, [ANNOTATIONS.madeForUid]: uid },
    },
    data: { [KUBECONFIG_KEY]: Buffer.from(kubeconfig).toString('base64') },
  }
}
