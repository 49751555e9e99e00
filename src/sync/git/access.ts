// Which repositories a FleetSource may read, and with which credentials: those in its own Secret, never those of the user that runs the program.
import { realpathSync } from 'node:fs'
import { sep } from 'node:path'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { syncSecretsNamespace } from '#api/names.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { syncErrors } from '../sync-errors.ts'
import { httpsAccess, withProxy, type HttpsAccess } from './https-access.ts'
import { locateGit } from './locate.ts'
import { sshAccess, type SshAccess } from './ssh-access.ts'

/** A folder whose repositories one source, or all sources, may read. */
export interface LocalRepositories {
  readonly folder: string
  /** namespace/name. */
  readonly source?: string
}

export type GitAccess = { readonly kind: 'Anonymous' } | HttpsAccess | SshAccess

/** Parses the command line form: `NAMESPACE/NAME=FOLDER` or `FOLDER`. */
export function parseLocalRepositories(text: string): LocalRepositories {
  const [, source, folder] = /^([a-z0-9][-a-z0-9]*\/[a-z0-9][-a-z0-9.]*)=(.+)$/.exec(text) ?? []
  return source === undefined || folder === undefined ? { folder: text } : { folder, source }
}

/** Refuses a local repository outside the allowed folders, also through a link or a `.git` file. */
export function requireLocal(source: FleetSource, allowed: readonly LocalRepositories[]): void {
  const { url } = source.spec
  const key = namespacedName(source)
  const roots = allowed
    .filter((a) => a.source === undefined || a.source === key)
    .flatMap(({ folder }) => realPath(folder) ?? [])
  const refused = () => new KubeNodeError(syncErrors.KN7020({ url, source: key }))
  if (roots.length === 0) throw refused()
  const { headDir, commonDir } = locateGit(url)
  const isInside = (path: string) => roots.some((root) => path === root || path.startsWith(`${root}${sep}`))
  if (![headDir, commonDir].every((dir) => isInside(realPath(dir) ?? ''))) throw refused()
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    // A missing path contains no repository.
    return undefined
  }
}

/** `secret` is the one that spec.secretRef names. Without it, a source has no credentials: the program's own could open another tenant's data. */
export function accessOf(source: FleetSource, secret: KubeObject | undefined, now: number): GitAccess {
  const { url, secretRef, proxy } = source.spec
  const key = namespacedName(source)
  if (hasCredentials(url, secretRef !== undefined)) throw new KubeNodeError(syncErrors.KN7026({ source: key }))
  if (proxy !== undefined && !url.startsWith('https:'))
    throw new KubeNodeError(syncErrors.KN7047_scheme({ url, source: key }))
  if (secretRef === undefined) {
    if (url.startsWith('ssh:')) throw new KubeNodeError(syncErrors.KN7021({ url, source: key }))
    return proxy === undefined
      ? { kind: 'Anonymous' }
      : { kind: 'Https', secrets: [], proxy: { url: proxy, address: proxy } }
  }
  const { namespace, name } = secretOf(source, secretRef)
  const refuse = (why: string) =>
    new KubeNodeError(syncErrors.KN7021_content({ source: key, secret: `${namespace}/${name}`, why }), {
      retry: 'later',
    })
  if (secret === undefined) throw refuse('does not exist')
  const type = typeof secret['type'] === 'string' ? secret['type'] : 'Opaque'
  if (!TYPES.has(type)) throw refuse(`has the type ${type}, which is not for git`)
  const text = (field: string) => textIn(secret, field)
  const access = url.startsWith('ssh:') ? sshAccess(text) : httpsAccess(text, now)
  const whole = access.kind === 'Https' && proxy !== undefined ? withProxy(access, proxy, text) : access
  if (whole.kind === 'Unusable') throw refuse(whole.why)
  return whole
}

/** A service account token uses the same keys, and would give the git server access to this cluster. */
const TYPES: ReadonlySet<string> = new Set(['Opaque', 'kubernetes.io/basic-auth', 'kubernetes.io/ssh-auth'])

export const secretOf = (source: FleetSource, { name }: { readonly name: string }) => ({
  namespace: syncSecretsNamespace(source.metadata.namespace ?? ''),
  name,
})

/**
 * Credentials in the URL would be git arguments, which every user of the machine can read. A user name alone is not secret, but it makes curl ignore the
 * Secret's; ssh needs one.
 */
function hasCredentials(url: string, hasSecret: boolean): boolean {
  const given = /^(https|ssh):/i.test(url) ? URL.parse(url) : null
  if (given === null) return false
  return given.password !== '' || (hasSecret && given.protocol === 'https:' && given.username !== '')
}

function textIn(secret: KubeObject | undefined, field: string): string | undefined {
  const data = secret?.['data']
  const value = isObject(data) ? data[field] : undefined
  const text = typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : ''
  return text === '' ? undefined : text
}
