// A systemd machine with an sshd of its own on the network of this host: logins with one key, as root or as a user with sudo.
import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { HostMachine } from '../agent-host/machine.ts'
import { addDownloaders, addPackages } from './downloaders.ts'

const PACKAGES = ['openssh-server', 'sudo', 'libwrap0', 'libnsl2', 'libtirpc3', 'libssl3'] as const
export const ADMIN = 'admin'
const ADMIN_ID = 1_500
const SSHD_ID = 1_501

export interface SshHost {
  readonly machine: HostMachine
  readonly port: number
  /** Public key of its sshd. */
  readonly hostKey: string
}

interface SshHostOptions {
  readonly name: string
  readonly port: number
  /** Public key that may log in. */
  readonly client: string
  /** The user with sudo logs in, and root may not. */
  readonly isRootOff: boolean
  /** Default: it may. */
  readonly maySudo?: boolean
  readonly keyType?: 'ed25519' | 'rsa'
  /** More settings of its sshd. */
  readonly settings?: readonly string[]
}

/** Undefined where Debian's packages cannot be fetched. */
export async function startSshHost({
  name,
  port,
  client,
  isRootOff,
  maySudo = true,
  keyType = 'ed25519',
  settings = [],
}: SshHostOptions): Promise<SshHost | undefined> {
  const machine = new HostMachine([], { name })
  const at = (path: string): string => join(machine.root, path)
  const write = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(at(path)), { recursive: true })
    writeFileSync(at(path), text)
    chmodSync(at(path), mode)
  }
  if (!addDownloaders(machine.root) || !addPackages(machine.root, PACKAGES)) {
    await machine.remove()
    return undefined
  }
  const key = 'etc/ssh/host_key'
  execFileSync('ssh-keygen', ['-q', '-t', keyType, '-N', '', '-C', name, '-f', at(key)])
  const hostKey = readFileSync(at(`${key}.pub`), 'utf8').trim()
  appendFileSync(at('etc/passwd'), `${ADMIN}:x:${ADMIN_ID}:${ADMIN_ID}::/home/${ADMIN}:/bin/sh\n`)
  appendFileSync(at('etc/passwd'), `sshd:x:${SSHD_ID}:65534::/run/sshd:/usr/sbin/nologin\n`)
  appendFileSync(at('etc/group'), `${ADMIN}:x:${ADMIN_ID}:\n`)
  // Not locked, and without a password that fits.
  appendFileSync(at('etc/shadow'), `${ADMIN}:*:19000:0:99999:7:::\n`)
  if (maySudo) write('etc/sudoers.d/admin', `${ADMIN} ALL=(ALL) NOPASSWD: ALL\n`, 0o440)
  write(`home/${ADMIN}/.ssh/authorized_keys`, `restrict ${client}\n`, 0o600)
  for (const path of ['', '.ssh', '.ssh/authorized_keys']) chownSync(at(`home/${ADMIN}/${path}`), ADMIN_ID, ADMIN_ID)
  write('root/.ssh/authorized_keys', `restrict ${client}\n`, 0o600)
  write(
    'etc/ssh/sshd_config',
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey /${key}`,
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'UsePAM no',
      `PermitRootLogin ${isRootOff ? 'no' : 'prohibit-password'}`,
      ...settings,
      '',
    ].join('\n'),
  )
  write(
    'etc/systemd/system/sshd-of-test.service',
    '[Service]\nRuntimeDirectory=sshd\nExecStart=/usr/sbin/sshd -D\nRestart=always\n[Install]\nWantedBy=multi-user.target\n',
  )
  mkdirSync(at('etc/systemd/system/multi-user.target.wants'), { recursive: true })
  execFileSync('ln', ['-sf', '../sshd-of-test.service', at('etc/systemd/system/multi-user.target.wants/')])
  await machine.boot().catch(async (e: unknown) => {
    await machine.remove()
    throw e
  })
  return { machine, port, hostKey }
}
