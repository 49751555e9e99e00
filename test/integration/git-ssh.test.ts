// A private repository over ssh, at a real sshd: the key and the host keys are those of the Secret of the source, and nothing of the host or its user counts.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { systemClock } from '#lib/system-clock.ts'
import { sshConfig } from '#sync/git/ssh-access.ts'
import { sshProgram } from '#sync/git/ssh-program.ts'
import { Renders } from '#sync/hub/renders.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'
import { missingSshServer, startSshServer, type SshServer } from '#test/support/servers/ssh-server.ts'
import { processesWith, until } from '#test/support/tools/processes.ts'

let repository: GitFolder
let commit: string
let server: SshServer
let folder: string
let gate: string
let secret: Readonly<Record<string, string>>

const missing = missingSshServer()
beforeAll(async () => {
  repository = new GitFolder()
  commit = repository.commit({ 'fleet/main.ts': '' })
  folder = mkdtempSync(join(tmpdir(), 'kubenode-ssh-'))
  gate = join(folder, 'gate')
  if (missing === undefined) server = await startSshServer({ gate })
})
afterAll(async () => {
  await server?.close()
  repository.remove()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
  writeFileSync(gate, '')
  secret = { 'ssh-privatekey': server.client.secret, known_hosts: server.knownAs(server.host) }
})

const encoded = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')]))

interface From {
  readonly url?: string
  readonly cache?: string
  readonly env?: Readonly<Record<string, string>>
  readonly spec?: object
}

/** The commit, or the error as the status shows it. */
async function fetched({ url, cache = 'cache', env, spec }: From = {}): Promise<string> {
  const gitReach = { trusted: ['localhost', '127.0.0.1'] }
  const gitEnv = { PATH: process.env['PATH'] ?? '', ...env }
  const renders = new Renders({ cacheDir: join(folder, cache), weakCage: 'allow', gitEnv, gitReach }, systemClock, {
    readSecret: async () => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'git' }, data: encoded(secret) }),
  })
  const source = {
    metadata: { namespace: 'shop', name: 'shop' },
    spec: {
      url: url ?? server.urlOf(join(repository.dir, '.git')),
      path: '.',
      ref: { branch: 'main' },
      secretRef: { name: 'git' },
      ...spec,
    },
  } as unknown as FleetSource
  return renders.fetch(source).then(
    (found) => found.commit,
    (error: Error) => error.message,
  )
}

const filesBelow = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile())
/** A line of a key that nothing else contains. */
const lineOf = (key: string): string => key.split('\n')[2] ?? ''

test('a repository opens with the key of the Secret, at a server with a host key of the Secret, and nothing of it stays on disk', async () => {
  expect(await fetched()).toBe(commit)
  // As edited on Windows, and without the last line break.
  secret = {
    'ssh-privatekey': server.client.secret.trimEnd().replaceAll('\n', '\r\n'),
    known_hosts: `# our server\r\n${server.knownAs(server.host).trimEnd()}`,
  }
  expect(await fetched()).toBe(commit)
  const left = filesBelow(join(folder, 'cache'))
  expect(left.length).toBeGreaterThan(3)
  expect(left.filter((path) => readFileSync(path).includes(lineOf(server.client.secret)))).toEqual([])
  expect(readdirSync(join(folder, 'cache')).filter((name) => name.startsWith('key-'))).toEqual([])
})

test('S17 a server with another host key than that of the Secret gets nothing, also where the host knows its key', async () => {
  secret = { ...secret, known_hosts: server.knownAs(server.strange) }
  expect(await fetched()).toMatch(/^KN7028: .*: it sent SHA256:\S+; compare it with the keys/)
  secret = { ...secret, known_hosts: server.knownAs(server.host).replace('127.0.0.1', 'git.example.org') }
  expect(await fetched()).toMatch(/^KN7028: .*No ED25519 host key is known for \[127\.0\.0\.1\]:\d+/)
  secret = { ...secret, known_hosts: `@revoked ${server.knownAs(server.host)}` }
  expect(await fetched()).toMatch(/^KN7028: .*known_hosts has it as revoked/)
  secret = { ...secret, known_hosts: `${server.knownAs(server.strange)}${server.knownAs(server.host)}` }
  expect(await fetched()).toBe(commit)
})

test('S17 a key that the server does not know is refused with its fingerprint, and neither keys, agent nor settings of the user help', async () => {
  const home = join(folder, 'home')
  mkdirSync(join(home, '.ssh'), { recursive: true, mode: 0o700 })
  writeFileSync(join(home, '.ssh/id_ed25519'), server.client.secret, { mode: 0o600 })
  writeFileSync(join(home, '.ssh/config'), `Host *\n  IdentityFile ${server.client.file}\n`)
  writeFileSync(join(home, '.gitconfig'), `[core]\n\tsshCommand = ssh -i ${server.client.file}\n`)
  const agent = execFileSync('ssh-agent', ['-s'], { encoding: 'utf8' })
  const [, socket = ''] = /SSH_AUTH_SOCK=([^;]+);/.exec(agent) ?? []
  const [, pid = ''] = /SSH_AGENT_PID=(\d+);/.exec(agent) ?? []
  try {
    execFileSync('ssh-add', ['-q', server.client.file], { env: { ...process.env, SSH_AUTH_SOCK: socket } })
    secret = { ...secret, 'ssh-privatekey': server.other.secret }
    const env = { HOME: home, SSH_AUTH_SOCK: socket, GIT_SSH_COMMAND: `ssh -i ${server.client.file}` }
    const refused = await fetched({ env })
    const fingerprint = execFileSync('ssh-keygen', ['-l', '-f', server.other.file], { encoding: 'utf8' }).split(' ')[1]
    expect(refused).toMatch(/^KN7023: .*Permission denied \(publickey\).*deploy key/)
    expect(refused).toContain(`the ssh key ${fingerprint}`)
  } finally {
    process.kill(Number(pid))
  }
})

test('S16 the key is in no list of processes, no environment, no log and no error while git runs, and only its user reads the file', async () => {
  rmSync(gate)
  const cache = `cache-${'x'.repeat(8)}`
  const running = fetched({ cache })
  try {
    await until('git runs ssh', () => processesWith('ssh', '-F', join(folder, cache)).length > 1, 20_000)
    const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    const read = (pid: string, what: string) => {
      try {
        return readFileSync(`/proc/${pid}/${what}`, 'latin1')
      } catch {
        // It ended, or belongs to another user.
        return ''
      }
    }
    const texts = all.flatMap((pid) => [read(pid, 'cmdline'), read(pid, 'environ')])
    expect(texts.some((text) => text.includes(join(folder, cache)))).toBe(true)
    const key = lineOf(server.client.secret)
    expect(texts.filter((text) => text.includes(key))).toEqual([])
    const [keys = ''] = readdirSync(join(folder, cache)).filter((name) => name.startsWith('key-'))
    const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)
    const at = join(folder, cache, keys)
    expect([modeOf(at), modeOf(join(at, 'key')), modeOf(join(at, 'known_hosts'))]).toEqual(['700', '600', '600'])
  } finally {
    writeFileSync(gate, '')
  }
  expect(await running).toBe(commit)
  expect(existsSync(join(folder, cache, 'key'))).toBe(false)
})

test.each<[string, (s: SshServer) => Readonly<Record<string, string>>, RegExp]>([
  [
    'a key with a passphrase',
    (s) => ({ 'ssh-privatekey': s.newKey('locked', 'ed25519', 'word').secret }),
    /has an ssh-privatekey with a passphrase/,
  ],
  ['a public key', (s) => ({ 'ssh-privatekey': s.client.line }), /not a private key of OpenSSH or in PEM/],
  ['known_hosts without a host', () => ({ known_hosts: '# nothing\n' }), /known_hosts without a line such as/],
])('a Secret with %s is refused before anything is sent', async (_, data, wanted) => {
  secret = { ...secret, ...data(server) }
  expect(await fetched()).toMatch(/^KN7021: /)
  expect(await fetched()).toMatch(wanted)
})

test('S13 an address with a password, or with an option in place of its host, is refused', async () => {
  const path = join(repository.dir, '.git')
  expect(await fetched({ url: `ssh://git:hunter2@127.0.0.1:${server.port}${path}` })).toMatch(/^KN7026: (?!.*hunter2)/)
  const ran = join(folder, 'ran')
  for (const url of [
    `ssh://-oProxyCommand=touch%20${ran}/x`,
    `ssh://-oProxyCommand=touch%20${ran}@127.0.0.1${path}`,
    `ssh://127.0.0.1:${server.port}/--upload-pack=touch%20${ran}`,
    `ssh://127.0.0.1:${server.port}/x';touch%20${ran};'`,
  ])
    expect(await fetched({ url })).toMatch(/^KN(70\d\d|1520)/)
  expect(existsSync(ran)).toBe(false)
})

test('a machine without a shell runs ssh with the same settings', () => {
  const own = mkdtempSync(join(folder, 'own-'))
  const files = { key: join(own, 'key'), knownHosts: join(own, 'known_hosts') }
  const config = join(own, 'config')
  const path = process.env['PATH'] ?? ''
  writeFileSync(files.key, server.client.secret, { mode: 0o600 })
  writeFileSync(files.knownHosts, server.knownAs(server.host))
  writeFileSync(config, sshConfig({ ...files, at: [] }))
  const start = { folder: own, config, path }
  const heads = (env: Readonly<Record<string, string>>) =>
    execFileSync('git', ['ls-remote', server.urlOf(join(repository.dir, '.git')), 'refs/heads/main'], {
      env: { PATH: path, HOME: '/dev/null', GIT_SSH_VARIANT: 'ssh', ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const without = sshProgram(start, false)
  expect(Object.keys(without)).toEqual(['GIT_SSH'])
  expect(heads(without)).toBe(`${commit}\trefs/heads/main\n`)
  writeFileSync(files.knownHosts, server.knownAs(server.strange))
  expect(() => heads(without)).toThrow(/Host key verification failed/)
  expect(Object.keys(sshProgram(start, true))).toEqual(['GIT_SSH_COMMAND'])
  expect(() => sshProgram({ ...start, path: join(own, 'nothing') })).toThrow(/^KN1208: .*no program ssh/)
})
