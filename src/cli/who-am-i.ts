// The user that the server knows us as: the author of a hold or an approval.
import { isObject } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Io } from './io.ts'

export interface Person {
  readonly name: string
  readonly groups: readonly string[]
}

export async function whoAmI(client: KubeClient): Promise<Person | undefined> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  try {
    const { status, text } = await client.raw({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body,
    })
    const answer: unknown = status < 300 ? JSON.parse(text) : undefined
    const user = isObject(answer) && isObject(answer['status']) ? answer['status']['userInfo'] : undefined
    if (!isObject(user) || typeof user['username'] !== 'string') return undefined
    const groups: readonly unknown[] = Array.isArray(user['groups']) ? user['groups'] : []
    return { name: user['username'], groups: groups.filter((g) => typeof g === 'string') }
  } catch {
    return undefined
  }
}

/** If the server cannot tell, use this machine's user. */
export const authorOf = async (client: KubeClient, { env }: Io): Promise<string> =>
  (await whoAmI(client))?.name ?? env['USER'] ?? 'unknown'
