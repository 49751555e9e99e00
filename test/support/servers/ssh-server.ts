// A real sshd on loopback that serves a git repository to one key, with host keys that a test chooses. It runs as the user of the test.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'

const SSHD = '/usr/sbin/sshd'
/** Where sshd of root locks itself in before a login; its package makes the folder when the service starts. */
const OF_ROOT = '/run/sshd'

/** Why there is none on this machine. */
export const missingSshServer = (): string | undefined => (existsSync(SSHD) ? undefined : `no ${SSHD} on this machine`)

interface SshKeyPair {
  readonly file: string
  readonly secret: string
  /** The line of the .pub file. */
  readonly line: string
}

/** What a known_hosts line or a .pub file has without its comment. */
export const keyOf = (line: string): string => line.split(' ').slice(0, 2).join(' ')

/** The way in of the test's user, with the key that the server has. */
export const loginOf = ({ port, host, client }: Pick<SshServer, 'port' | 'host' | 'client'>) => ({
  target: {
    host: '127.0.0.1',
    port,
    user: userInfo().username,
    trust: { kind: 'Pinned' as const, hostKey: keyOf(host.line) },
  },
  identity: { kind: 'Key' as const, privateKey: client.secret },
})

export interface SshServer {
  readonly folder: string
  readonly port: number
  readonly client: SshKeyPair
  readonly other: SshKeyPair
  /** What the server has; and one that it could have been replaced with. */
  readonly host: SshKeyPair
  readonly strange: SshKeyPair
  urlOf(path: string): string
  /** The line of known_hosts for this server and key. */
  knownAs(key: SshKeyPair): string
  newKey(name: string, type?: string, passphrase?: string): SshKeyPair
  close(): Promise<void>
}

interface SshServerOptions {
  readonly gate?: string
  readonly address?: string
  /** Lines of authorized_keys; default: any command of the client, and nothing else. */
  readonly authorized?: (client: string) => string
  /** More settings of sshd, and others than usual. */
  readonly settings?: Readonly<Record<string, string>>
}

export async function startSshServer({
  gate,
  address = '127.0.0.1',
  authorized,
  settings: more = {},
}: SshServerOptions = {}): Promise<SshServer> {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-sshd-'))
  const newKey = (name: string, type = 'ed25519', passphrase = ''): SshKeyPair => {
    const file = join(folder, name)
    execFileSync('ssh-keygen', ['-q', '-t', type, '-N', passphrase, '-C', name, '-f', file])
    return { file, secret: readFileSync(file, 'utf8'), line: readFileSync(`${file}.pub`, 'utf8').trim() }
  }
  const [host, strange, client, other] = [newKey('host'), newKey('strange'), newKey('client'), newKey('other')]
  // With a gate, a login waits until that file is there, so that a test can inspect a running fetch.
  const wait = gate === undefined ? '' : `while [ ! -e '${gate}' ]; do sleep 0.05; done\n`
  const serve = join(folder, 'serve')
  writeFileSync(serve, `#!/bin/sh\n${wait}exec sh -c "$SSH_ORIGINAL_COMMAND"\n`, { mode: 0o755 })
  const lines = authorized?.(client.line) ?? `command="${serve}",restrict ${client.line}`
  writeFileSync(join(folder, 'authorized'), `${lines}\n`)
  if (userInfo().uid === 0) mkdirSync(OF_ROOT, { recursive: true, mode: 0o755 })
  const port = await freePort()
  const settings = {
    Port: port,
    ListenAddress: address,
    HostKey: host.file,
    PidFile: 'none',
    AuthorizedKeysFile: join(folder, 'authorized'),
    StrictModes: 'no',
    UsePAM: 'no',
    PasswordAuthentication: 'no',
    KbdInteractiveAuthentication: 'no',
    PermitRootLogin: 'yes',
    AcceptEnv: 'GIT_PROTOCOL',
    LogLevel: 'ERROR',
    ...more,
  }
  const config = join(folder, 'sshd_config')
  writeFileSync(
    config,
    Object.entries(settings)
      .map(([name, value]) => `${name} ${value}\n`)
      .join(''),
  )
  const child = spawn(SSHD, ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (text: Buffer) => (said += text.toString()))
  const ended = once(child, 'exit')
  await Promise.race([
    answering(port, address),
    ended.then(() => {
      throw new Error(`sshd ended: ${said}`)
    }),
  ])
  const key = ({ line }: SshKeyPair) => line.split(' ').slice(0, 2).join(' ')
  return {
    folder,
    port,
    client,
    other,
    host,
    strange,
    urlOf: (path) => `ssh://${userInfo().username}@${address}:${port}${path}`,
    knownAs: (of) => `[${address}]:${port} ${key(of)}\n`,
    newKey,
    close: async () => {
      child.kill()
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function answering(port: number, address: string): Promise<void> {
  for (;;) {
    const socket = connect(port, address)
    const isThere = await new Promise<boolean>((resolve) => {
      socket.once('data', () => resolve(true))
      socket.once('error', () => resolve(false))
      socket.once('close', () => resolve(false))
    })
    socket.destroy()
    if (isThere) return
  }
}
