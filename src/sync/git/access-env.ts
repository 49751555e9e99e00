// Hands the credentials of one fetch to git, in a folder that exists only while git runs. They are never arguments, which every user of the machine can
// read, and never in the environment or in the copy's configuration.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertNever } from '#lib/errors.ts'
import { makeOwnedFolder, sweepOwnedFolders, type OwnedFolders } from '#lib/owned-folders.ts'
import type { GitAccess } from './access.ts'
import type { HttpsAccess } from './https-access.ts'
import { curlPin, pinsOf, sshPin, type GitReach, type Pin } from './reach.ts'
import { sshConfig, type SshAccess } from './ssh-access.ts'
import { sshProgram } from './ssh-program.ts'

export type Env = Readonly<Record<string, string>>

export interface Handover {
  readonly access: GitAccess
  readonly url: string
  /** Which servers may be called at all. */
  readonly reach: GitReach
  /** Environment that git gets in any case. */
  readonly env: Env
  /** Parent of the folder; if the process was killed, the next fetch removes the leftover. */
  readonly keys: OwnedFolders
}

/** Folders with credentials. A folder older than twice a command's time limit belongs to no running command. */
export const keysIn = (cacheDir: string, deadlineMs: number): OwnedFolders => ({
  parent: cacheDir,
  prefix: 'key-',
  maxAgeMs: 2 * deadlineMs,
})

export async function withAccess(handover: Handover, fetch: (env: Env) => Promise<void>): Promise<void> {
  const { access, env, keys, url, reach } = handover
  const pins = await pinsOf(url, access.kind === 'Https' ? access.proxy?.url : undefined, reach)
  const bare = { ...env, GIT_SSH_COMMAND: 'false' }
  switch (access.kind) {
    case 'Anonymous':
      return withFolder(keys, (folder) => fetch({ ...bare, ...httpSettings(folder, {}, pins) }))
    case 'Https':
      return withFolder(keys, (folder) => {
        const settings = httpSettings(folder, access, pins)
        const { authorities } = access
        if (authorities === undefined) return fetch({ ...bare, ...settings })
        const file = join(folder, 'ca.crt')
        writeFileSync(file, authorities, OWN)
        // Set the folder too: otherwise the system's authorities would also be trusted.
        return fetch({ ...bare, ...settings, GIT_SSL_CAINFO: file, GIT_SSL_CAPATH: folder, GIT_PROXY_SSL_CAINFO: file })
      })
    case 'SshKey':
      return withFolder(keys, (folder) =>
        fetch({ ...env, ...sshSettings(folder, access, { path: env['PATH'], pin: pins[0] }) }),
      )
    default:
      return assertNever(access)
  }
}

const OWN = { mode: 0o600 } as const

interface SshWay {
  readonly path: string | undefined
  readonly pin: Pin | undefined
}

function sshSettings(folder: string, { identity, knownHosts }: SshAccess, { path, pin }: SshWay): Env {
  const files = { key: join(folder, 'key'), knownHosts: join(folder, 'known_hosts') }
  const config = join(folder, 'config')
  writeFileSync(files.key, identity, OWN)
  writeFileSync(files.knownHosts, knownHosts, OWN)
  writeFileSync(config, sshConfig({ ...files, at: pin === undefined ? [] : sshPin(pin) }), OWN)
  return { ...sshProgram({ folder, config, path: path ?? '' }), GIT_SSH_VARIANT: 'ssh' }
}

/**
 * In a file: the environment of a process shows up in process listings and in monitoring. After a redirect, git also sends the header to the new
 * address.
 */
function httpSettings(
  folder: string,
  { authorization, proxy }: Pick<HttpsAccess, 'authorization' | 'proxy'>,
  pins: readonly Pin[],
): Env {
  const settings = [
    ['followRedirects', 'false'],
    ['proxy', proxy?.address ?? ''],
    ...pins.map((pin) => ['curloptResolve', curlPin(pin)]),
    ...(authorization === undefined ? [] : [['extraHeader', `Authorization: ${authorization}`]]),
  ]
  const file = join(folder, 'http.config')
  writeFileSync(
    file,
    `[http]\n${settings.map(([key = '', value = '']) => `\t${key} = ${quoted(value)}\n`).join('')}`,
    OWN,
  )
  return { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'include.path', GIT_CONFIG_VALUE_0: file }
}

/** Quoted as git parses it; control characters were refused earlier. */
const quoted = (value: string): string => `"${value.replaceAll(/["\\]/g, '\\$&')}"`

async function withFolder(keys: OwnedFolders, use: (folder: string) => Promise<void>): Promise<void> {
  sweepOwnedFolders(keys)
  const folder = makeOwnedFolder(keys)
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
