// Owns the folders of sessions: each has the key and the configuration of one session, only its owner can read it, and it is deleted with the session.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivateFolder } from '#lib/private-folder.ts'
import { type SshFiles, type SshIdentity, type SshTarget, JUMP, TARGET, knownHostsOf, sshConfig } from './target.ts'

export interface SessionFolder extends SshFiles {
  readonly config: string
  remove(): void
}

const NAME = /^(\d+)-/

/** A killed process leaves keys behind. The next one deletes them. */
export function openSessionsFolder(folder: string): void {
  makePrivateFolder(folder)
  for (const name of readdirSync(folder)) {
    const pid = NAME.exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(folder, name), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return true
  try {
    process.kill(pid, 0)
    return true
  } catch (e) {
    // It belongs to another user.
    return (e as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export function makeSessionFolder(parent: string, target: SshTarget, identity: SshIdentity): SessionFolder {
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  const folder = mkdtempSync(join(parent, `${process.pid}-`))
  const files = {
    knownHosts: join(folder, 'known_hosts'),
    jumpKnownHosts: join(folder, 'known_hosts_of_jump'),
    key: join(folder, 'key'),
    certificate: join(folder, 'key-cert.pub'),
  }
  const config = join(folder, 'config')
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const write = (file: string, text: string) => writeFileSync(file, text, { mode: 0o600 })
  try {
    write(config, sshConfig(target, identity, files))
    write(files.knownHosts, knownHostsOf(target, TARGET))
    if (target.jump !== undefined) write(files.jumpKnownHosts, knownHostsOf(target.jump, JUMP))
    if (identity.kind === 'Key') {
      write(files.key, asLines(identity.privateKey))
      if (identity.certificate !== undefined) write(files.certificate, asLines(identity.certificate))
    }
  } catch (e) {
    remove()
    throw e
  }
  return { ...files, config, remove }
}

/** ssh rejects a key with carriage returns, or without the last line break. */
const asLines = (text: string): string => `${text.replaceAll('\r\n', '\n').trimEnd()}\n`
