// How git starts ssh with the configuration of one fetch: through a shell, or through a Node.js script in an image without a shell.
import { existsSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { syncErrors } from '../sync-errors.ts'

export interface SshStart {
  /** Folder of this fetch; deleted afterwards. */
  readonly folder: string
  readonly config: string
  /** PATH for finding programs. */
  readonly path: string
}

const SHELL = '/bin/sh'

export function sshProgram(start: SshStart, hasShell = existsSync(SHELL)): Readonly<Record<string, string>> {
  const ssh = start.path
    .split(delimiter)
    .map((folder) => join(folder, 'ssh'))
    .find((file) => existsSync(file))
  if (ssh === undefined) throw new KubeNodeError(syncErrors.KN1208_ssh(), { retry: 'later' })
  if (hasShell) return { GIT_SSH_COMMAND: `${quoted(ssh)} -F ${quoted(start.config)}` }
  // git runs the GIT_SSH program directly, and passes no options to it.
  const script = join(start.folder, 'ssh')
  writeFileSync(script, scriptOf(ssh, start.config), { mode: 0o700 })
  return { GIT_SSH: script }
}

/** The script replaces itself with ssh, so that git waits for and ends one process. */
const scriptOf = (ssh: string, config: string): string => `#!${process.execPath} --no-warnings
const { argv, env, execve } = process
execve(${JSON.stringify(ssh)}, ['ssh', '-F', ${JSON.stringify(config)}, ...argv.slice(2)], env)
`

const quoted = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`
