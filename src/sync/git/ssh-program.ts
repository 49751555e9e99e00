// How git starts ssh with the configuration of one fetch: through a shell, which every host has, or through a script of Node.js, as in an image without a shell.
import { existsSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { syncErrors } from '../sync-errors.ts'

export interface SshStart {
  /** Of this fetch; deleted after it. */
  readonly folder: string
  readonly config: string
  /** Where programs are searched. */
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
  // git starts the program that GIT_SSH names directly, and takes no options for it.
  const script = join(start.folder, 'ssh')
  writeFileSync(script, scriptOf(ssh, start.config), { mode: 0o700 })
  return { GIT_SSH: script }
}

/** It becomes ssh: git waits for and ends one process. */
const scriptOf = (ssh: string, config: string): string => `#!${process.execPath} --no-warnings
const { argv, env, execve } = process
execve(${JSON.stringify(ssh)}, ['ssh', '-F', ${JSON.stringify(config)}, ...argv.slice(2)], env)
`

const quoted = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`
