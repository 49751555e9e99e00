// Requests a service account token whose only audience is the API server.
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ObjectKey } from '#api/schema/resource.ts'
import { approverErrors } from '../approver-errors.ts'

const MAX_MESSAGE = 300

const objectIn = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

export async function requestToken(
  client: Pick<KubeClient, 'raw'>,
  { namespace = '', name }: ObjectKey,
  seconds: number,
  signal: AbortSignal,
): Promise<string> {
  const failed = (why: string, cause?: unknown) =>
    new KubeNodeError(approverErrors.KN12070({ account: `${namespace}/${name}`, why: why.slice(0, MAX_MESSAGE) }), {
      retry: 'later',
      cause,
    })
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: seconds },
  }
  const answer = await client
    .raw({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      body,
      headers: { 'content-type': 'application/json' },
      signal,
    })
    .catch((e: unknown) => Promise.reject(failed(messageOf(e), e)))
  const { status, message } = objectIn(answer.text)
  const token = isObject(status) ? status['token'] : undefined
  if (answer.status === 201 && typeof token === 'string' && token !== '') return token
  throw failed(typeof message === 'string' ? message : `HTTP ${answer.status}`)
}
