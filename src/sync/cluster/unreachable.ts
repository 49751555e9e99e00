// Why a cluster could not be read: it does not answer, or it answers and rejects sync's identity. Different people fix the two.
import type { Reason } from '#api/catalogue.ts'
import { isKubeNodeError, messageOf } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { ApiError, ConnectionError } from '#kube/errors.ts'
import { isExpiredServer, isTlsRefusal } from '#kube/http/transport.ts'

export type UnreachableReason = Extract<
  Reason,
  | 'ApiServerDown'
  | 'CredentialsInvalid'
  | 'ServerCertificateExpired'
  | 'ReferenceMissing'
  | 'WaitingForOther'
  | 'Deleting'
  | 'ReconcileFailed'
>

/** Codes of kubeconfigs that sync refuses: malformed ones, and ones that run programs, read files or skip TLS checks. */
const KUBECONFIG_REFUSED = /^KN21\d\d$/
const NO_KUBECONFIG = 'KN7301'
const AWAITED = 'KN7305'
const TOO_MANY_REQUESTS = 429

export function unreachableReason(error: unknown): UnreachableReason {
  if (isExpiredServer(error)) return 'ServerCertificateExpired'
  // A server answers, but by the kubeconfig it is not this cluster.
  if (isTlsRefusal(error)) return 'CredentialsInvalid'
  if (error instanceof ConnectionError) return 'ApiServerDown'
  if (error instanceof ApiError) {
    if (error.status === 401 || error.status === 403) return 'CredentialsInvalid'
    return error.status >= 500 || error.status === TOO_MANY_REQUESTS ? 'ApiServerDown' : 'ReconcileFailed'
  }
  if (!isKubeNodeError(error)) return 'ReconcileFailed'
  if (KUBECONFIG_REFUSED.test(error.code)) return 'CredentialsInvalid'
  if (error.code === AWAITED) return 'WaitingForOther'
  return error.code === NO_KUBECONFIG ? 'ReferenceMissing' : 'ReconcileFailed'
}

/** A control plane that is being created is not an error, so this wait has no error number. */
export function unreachable(error: unknown): { readonly because: UnreachableReason; readonly message: string } {
  const because = unreachableReason(error)
  const isAwaited = because === 'WaitingForOther'
  return { because, message: isAwaited ? 'its control plane is not ready yet' : printableLine(messageOf(error)) }
}

/** What must change on the cluster, or in its kubeconfig. */
export const UNBLOCKS: Readonly<Record<UnreachableReason, string>> = {
  ApiServerDown: 'the API server responds',
  CredentialsInvalid: 'its kubeconfig is renewed and has the required permissions',
  ServerCertificateExpired:
    'the serving certificate of its API server is renewed (kubeadm certs renew apiserver, then restart it); no other kubeconfig helps',
  ReferenceMissing: 'its kubeconfig is in the Secret',
  WaitingForOther: 'its control plane is ready; kubenode cluster show names what it waits for',
  Deleting: 'its deletion ends, and it is created again; kubenode cluster show names what that waits for',
  ReconcileFailed: 'the error is resolved',
}
