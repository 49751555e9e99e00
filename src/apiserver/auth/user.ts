// The requesting user: the name and groups that authorization, admission and managedFields use.
import type { RequestUser } from '../builtin/kind.ts'

export type { RequestUser } from '../builtin/kind.ts'

export const AUTHENTICATED = 'system:authenticated'
export const UNAUTHENTICATED = 'system:unauthenticated'
export const MASTERS = 'system:masters'

export const anonymous: RequestUser = { name: 'system:anonymous', groups: [UNAUTHENTICATED] }

export const serviceAccountGroups = (namespace: string): readonly string[] => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
]

/** As SubjectAccessReviews and reviews of tokens show users. */
export const isAnonymous = (u: RequestUser): boolean => u.name === anonymous.name
