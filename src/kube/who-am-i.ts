// The user that an API server knows a client as.
import { isObject } from '#lib/json.ts'
import type { KubeClient } from './client.ts'

export interface Person {
  readonly name: string
  readonly groups: readonly string[]
}

/** Undefined when the server cannot tell. */
export async function whoAmI(client: Pick<KubeClient, 'raw'>): Promise<Person | undefined> {
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
