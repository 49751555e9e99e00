// Hands the credentials of one fetch to git: in the environment, and in a folder that exists only while git runs. Never as arguments, which every user of
// the machine can read, nor in the configuration of the copy.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertNever } from '#lib/errors.ts'
import { makeOwnedFolder, sweepOwnedFolders, type OwnedFolders } from '#lib/owned-folders.ts'
import type { GitAccess } from './access.ts'
import type { HttpsAccess } from './https-access.ts'

export type Env = Readonly<Record<string, string>>

export interface Handover {
  readonly access: GitAccess
  /** What git gets in any case. */
  readonly env: Env
  /** Where the folder is made; one of a killed process is removed by the next fetch. */
  readonly keys: OwnedFolders
}

/** No settings of the user that the program runs as: git, ssh and curl look for files there. */
const NOBODY = { HOME: '/dev/null', XDG_CONFIG_HOME: '/dev/null', GIT_CONFIG_GLOBAL: '/dev/null' }
const SSH = 'ssh -o BatchMode=yes -o StrictHostKeyChecking=yes'

export async function withAccess(handover: Handover, fetch: (env: Env) => Promise<void>): Promise<void> {
  const { access, env, keys } = handover
  const bare = { ...env, ...NOBODY, GIT_SSH_COMMAND: 'false' }
  switch (access.kind) {
    case 'Program':
      return fetch({ ...env, GIT_SSH_COMMAND: SSH })
    case 'Anonymous':
      return fetch(bare)
    case 'Https': {
      const settings = httpSettings(access)
      const { authorities } = access
      if (authorities === undefined) return fetch({ ...bare, ...settings })
      return withFolder(keys, (folder) => {
        const file = join(folder, 'ca.crt')
        writeFileSync(file, authorities, { mode: 0o600 })
        // The folder too, or the authorities of the system would count beside them.
        return fetch({ ...bare, ...settings, GIT_SSL_CAINFO: file, GIT_SSL_CAPATH: folder })
      })
    }
    case 'SshKey':
      return withFolder(keys, (folder) => {
        const [key, hosts] = [join(folder, 'key'), join(folder, 'known_hosts')]
        writeFileSync(key, `${access.identity.trimEnd()}\n`, { mode: 0o600 })
        writeFileSync(hosts, access.knownHosts, { mode: 0o600 })
        const own = `-F /dev/null -i ${quoted(key)} -o IdentitiesOnly=yes -o IdentityAgent=none`
        const known = `-o GlobalKnownHostsFile=/dev/null -o UserKnownHostsFile=${quoted(hosts)}`
        return fetch({ ...bare, GIT_SSH_COMMAND: `${SSH} ${own} ${known}` })
      })
    default:
      return assertNever(access)
  }
}

/** After a redirect git sends the header to the new address too, also one that is set for the old address. */
function httpSettings({ authorization }: HttpsAccess): Env {
  const settings = [
    ['http.followRedirects', 'false'],
    ...(authorization === undefined ? [] : [['http.extraHeader', `Authorization: ${authorization}`]]),
  ]
  const env = settings.flatMap(([key = '', value = ''], n) => [
    [`GIT_CONFIG_KEY_${n}`, key],
    [`GIT_CONFIG_VALUE_${n}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(settings.length), ...Object.fromEntries(env) }
}

async function withFolder(keys: OwnedFolders, use: (folder: string) => Promise<void>): Promise<void> {
  sweepOwnedFolders(keys)
  const folder = makeOwnedFolder(keys)
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const quoted = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`
