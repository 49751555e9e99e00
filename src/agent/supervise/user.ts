// The uid and gid of a component's user on this node, and whether the agent may switch to them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { geteuid } from 'node:process'
import { KubeNodeError } from '#lib/errors.ts'
import { agentErrors } from '../agent-errors.ts'

export interface UserIds {
  readonly uid: number
  readonly gid: number
}

/** One line of passwd: name, password, uid, gid. */
function userIn(passwd: string, name: string): UserIds | undefined {
  for (const line of passwd.split('\n')) {
    const [user, , uid, gid] = line.split(':')
    if (user === name && /^\d+$/.test(uid ?? '') && /^\d+$/.test(gid ?? ''))
      return { uid: Number(uid), gid: Number(gid) }
  }
  return undefined
}

const passwdOf = (root: string): string => {
  for (const path of [join(root, 'etc/passwd'), '/etc/passwd']) {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      // A node that is a folder has no passwd of its own.
    }
  }
  return ''
}

/** Undefined: the agent's own user. A component never runs as another user than declared, least of all as root. */
export function userIds(component: string, user: string | undefined, root: string): UserIds | undefined {
  if (user === undefined) return undefined
  const ids = userIn(passwdOf(root), user)
  if (ids === undefined) throw new KubeNodeError(agentErrors.KN8034({ component, user }), { retry: 'later' })
  const self = geteuid?.() ?? 0
  if (self === ids.uid) return undefined
  if (self !== 0) throw new KubeNodeError(agentErrors.KN8035({ component, user, self }))
  return ids
}
