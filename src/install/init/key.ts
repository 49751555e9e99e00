// The signing key of a new fleet: created once, outside the repository, and never replaced.
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { generateKey, Signer } from '#api/trust/keys.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { makeFolders } from '#lib/private-folder.ts'
import { initErrors } from './init-errors.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Where users keep private data, by this system's convention. */
export function defaultKeyFile(name: string, env: Environment): string {
  const { XDG_CONFIG_HOME: config = '', HOME: home = '' } = env
  return join(config === '' ? join(home === '' ? '/' : home, '.config') : config, 'kubenode', name, 'signing.pem')
}

/** Uses an existing key: an interrupted run created it. */
export function signerAt(file: string, repository: string): { readonly signer: Signer; readonly isNew: boolean } {
  refuseInside(file, repository)
  try {
    if (existsSync(file)) return { signer: new Signer(readFileSync(file, 'utf8')), isNew: false }
    const { pem } = generateKey()
    makeFolders(dirname(file))
    writeFileSync(file, pem, { mode: 0o600, flag: 'wx', flush: true })
    return { signer: new Signer(pem), isNew: true }
  } catch (cause) {
    if (cause instanceof KubeNodeError) throw cause
    throw new KubeNodeError(initErrors.KN1501_write({ path: file, why: messageOf(cause) }), { cause })
  }
}

function refuseInside(file: string, repository: string): void {
  const [at, folder] = [realOf(resolve(file)), realOf(resolve(repository))]
  if (at === folder || at.startsWith(`${folder}${sep}`)) throw new KubeNodeError(initErrors.KN1502({ file }))
}

/** Resolves links as far as the path exists. */
function realOf(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  return dirname(path) === path ? path : join(realOf(dirname(path)), path.slice(dirname(path).length))
}
