// Refuses a forbidden request, in the words that clients know.
import { forbidden, forbiddenPath } from '../status/refusal.ts'
import { refusalText, type Attributes, type Authorizer } from './authorizer.ts'
import type { RequestUser } from './user.ts'

export function authorize(authorizer: Authorizer, user: RequestUser, attributes: Attributes): void {
  if (authorizer.allows(user, attributes)) return
  const text = refusalText(user, attributes)
  if (attributes.path !== undefined) throw forbiddenPath(`forbidden: ${text}`)
  const why = authorizer.refusalReason(user, attributes)
  const full = why === '' ? text : `${text}: ${why}`
  throw forbidden({ group: attributes.group, plural: attributes.resource }, attributes.name, full)
}
