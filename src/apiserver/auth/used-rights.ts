// Notes which rights clients use, each once: what an audit of roles compares with the roles. Invariant: no request fails because of it.
import type { Attributes, OnAllowed } from './authorizer.ts'

export interface UsedRight extends Attributes {
  readonly user: string
  readonly groups: readonly string[]
}

/** Some 6 MB; a fleet of this project's programs uses a few hundred. */
export const MAX_USED_RIGHTS = 20_000
/** Roles that name objects name a few; names beyond these are noted as ''. */
export const MAX_NAMES = 50

/** `known`: lines of an earlier run, which are not written again. */
export function usedRights(write: (line: string) => void, known: readonly string[] = []): OnAllowed {
  const lines = new Set(known)
  const names = new Map<string, Set<string>>()
  const nameOf = ({ name }: Attributes, right: string): string => {
    const seen = names.get(right) ?? new Set()
    if (seen.size === 0) names.set(right, seen)
    if (!seen.has(name) && seen.size >= MAX_NAMES) return ''
    seen.add(name)
    return name
  }
  return (user, { verb, group, resource, subresource, namespace, name, path }) => {
    if (lines.size >= MAX_USED_RIGHTS) return
    const right = { user: user.name, groups: user.groups, verb, group, resource, subresource, namespace }
    const used: UsedRight = { ...right, name, ...(path !== undefined && { path }) }
    const line = JSON.stringify({ ...used, name: nameOf(used, JSON.stringify(right)) })
    if (lines.has(line)) return
    lines.add(line)
    write(line)
  }
}
