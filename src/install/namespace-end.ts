// Why a namespace that is being deleted still exists, in the server's words: most often objects in it have finalizers of a deleted program. Pure.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'

export function endOfNamespace({ status }: KubeObject & { readonly status?: unknown }): string | undefined {
  const conditions = isObject(status) && Array.isArray(status['conditions']) ? status['conditions'] : []
  const reasons = conditions.filter((c) => isObject(c) && c['status'] === 'True' && typeof c['message'] === 'string')
  return reasons.length === 0 ? undefined : reasons.map((c) => String(c['message'])).join('; ')
}
