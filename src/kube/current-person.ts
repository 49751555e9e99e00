// The user an API server identifies a client as.
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { KubeClient } from './client.ts'
import { isApiError } from './errors.ts'

export interface Person {
  readonly name: string
  readonly groups: readonly string[]
}

export type Introduced =
  | { readonly kind: 'Known'; readonly person: Person }
  /** The server rejects the client's credentials. */
  | { readonly kind: 'Refused' }
  | { readonly kind: 'Unknown'; readonly why: string }

const NOBODY = 'system:unauthenticated'

/** Asks with the client's own credentials, which needs no rights. The server uses the same identity for every request. */
export async function introduced(client: Pick<KubeClient, 'raw'>): Promise<Introduced> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  try {
    const { status, text } = await client.raw({ method: 'POST', path, body })
    const answer: unknown = status < 300 ? JSON.parse(text) : undefined
    const user = isObject(answer) && isObject(answer['status']) ? answer['status']['userInfo'] : undefined
    if (!isObject(user) || typeof user['username'] !== 'string')
      return { kind: 'Unknown', why: `the API server answers ${status}` }
    const all: readonly unknown[] = Array.isArray(user['groups']) ? user['groups'] : []
    const groups = all.filter((g) => typeof g === 'string')
    return groups.includes(NOBODY) ? { kind: 'Refused' } : { kind: 'Known', person: { name: user['username'], groups } }
  } catch (e) {
    return isApiError(e) && e.status === 401 ? { kind: 'Refused' } : { kind: 'Unknown', why: messageOf(e) }
  }
}

/** Undefined if the server does not know, and for anonymous clients. */
export async function currentPerson(client: Pick<KubeClient, 'raw'>): Promise<Person | undefined> {
  const answer = await introduced(client)
  return answer.kind === 'Known' ? answer.person : undefined
}
