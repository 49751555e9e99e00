// The service account of the pod that this process runs in: where Kubernetes mounts it, and what is wrong if it is missing. Only names the files;
// credentials.ts reads them again as they rotate. The result equals client-node's `loadFromCluster`, which a test compares; loading client-node would cost 85
// MB in every pod.
import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import type { ConnectionConfig } from './http/connection.ts'
import { kubeErrors } from './kube-errors.ts'

const MOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
/** A token has a kilobyte; a larger file is something else. */
const MAX_FILE_CHARS = 1024 * 1024

export type Environment = Readonly<Record<string, string | undefined>>

/** Kubelet sets both in every pod, even without a token. */
export const isInPod = (env: Environment): boolean =>
  (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && (env['KUBERNETES_SERVICE_PORT'] ?? '') !== ''

/** Throws if the account is missing. A retry would not help, because a pod's mounts do not change. `root` is an alternative file system root. */
export function podAccount(env: Environment, root = '/'): ConnectionConfig {
  if (!isInPod(env)) throw new KubeNodeError(kubeErrors.KN2017())
  const file = (name: string): string => join(root, MOUNT, name)
  const [token, ca] = [file('token'), file('ca.crt')]
  const problems = { token: problemOf(token), ca: problemOf(ca) }
  if (problems.token !== undefined)
    throw new KubeNodeError(kubeErrors.KN2017_token({ file: token, why: problems.token }))
  if (problems.ca !== undefined) throw new KubeNodeError(kubeErrors.KN2017_authority({ file: ca, why: problems.ca }))
  const namespace = readText(file('namespace'))
  return {
    server: addressIn(env),
    ca: { file: ca },
    token: { file: token },
    ...(namespace !== undefined && namespace !== '' && { namespace }),
  }
}

function addressIn(env: Environment): string {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = env
  return `https://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

function problemOf(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8')
    return text.trim() === '' ? 'it is empty' : text.length > MAX_FILE_CHARS ? 'it is too large' : undefined
  } catch (e) {
    return systemTrouble(e)
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    // Only a default for commands without a namespace.
    return undefined
  }
}
