// Scripts on hosts over SSH, at a real sshd: who is let in, which server is believed, and what a session leaves behind.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hostScript } from '#ssh/script.ts'
import { type Session, SshSessions } from '#ssh/ssh-sessions.ts'
import type { SshTarget } from '#ssh/target.ts'
import { type SshServer, keyOf, loginOf, missingSshServer, startSshServer } from '#test/support/servers/ssh-server.ts'
import { processesWith, until } from '#test/support/tools/processes.ts'

const missing = missingSshServer()
const never = new AbortController().signal
let server: SshServer
let jump: SshServer
let folder: string
let sessions: SshSessions

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-sessions-'))
  if (missing !== undefined) return
  server = await startSshServer()
  // Of the second server, only the way through it is open.
  jump = await startSshServer({
    authorized: (client) => `restrict,port-forwarding,command="false" ${client}\n`,
    settings: { MaxStartups: '10:100:10' },
  })
  sessions = new SshSessions({ folder: join(folder, 'keys'), path: process.env['PATH'] ?? '', atOnce: 50 })
})
afterAll(async () => {
  await server?.close()
  await jump?.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

const at = (of: SshServer): SshTarget => loginOf(of).target

interface Asked extends Partial<Omit<Session, 'target'>> {
  readonly target?: Partial<SshTarget>
}

const run = ({ target, ...asked }: Asked = {}, signal = never) =>
  sessions.run(
    {
      identity: { kind: 'Key', privateKey: server.client.secret },
      script: hostScript('fact user "$(id -un)"'),
      sudo: false,
      deadlineMs: 60_000,
      ...asked,
      target: { ...at(server), ...target },
    },
    signal,
  )

test('a script runs on a host with the pinned key, and nothing of the session stays on disk', async () => {
  expect(await run()).toEqual({ kind: 'Done', facts: new Map([['user', userInfo().username]]), hostKey: undefined })
  const edited = server.client.secret.trimEnd().replaceAll('\n', '\r\n')
  expect((await run({ identity: { kind: 'Key', privateKey: edited } })).kind).toBe('Done')
  expect(readdirSync(join(folder, 'keys'))).toEqual([])
})

test('S36 a server with another key than the pinned one gets nothing, whatever it is told', async () => {
  const trust = (hostKey: string) => ({ target: { trust: { kind: 'Pinned', hostKey } as const } })
  const changed = await run(trust(keyOf(server.strange.line)))
  expect(changed).toEqual({
    kind: 'Failed',
    failure: 'HostKeyChanged',
    why: expect.stringMatching(/^the host presented SHA256:\S{43} instead of the pinned key$/),
  })
  const rsa = server.newKey('pinned-rsa', 'rsa')
  expect(await run(trust(keyOf(rsa.line)))).toMatchObject({ failure: 'HostKeyChanged' })
  for (const hostKey of [
    'none',
    'ssh-ed25519 ',
    `${keyOf(server.host.line)}\nexample.org ${keyOf(server.strange.line)}`,
  ])
    expect(await run(trust(hostKey))).toMatchObject({
      failure: 'PreflightFailed',
      why: expect.stringContaining('host key'),
    })
})

test('the first use of a host reports its key, and a certificate of an authority stands for a key', async () => {
  const first = await run({ target: { trust: { kind: 'FirstUse' } } })
  expect(first).toMatchObject({ kind: 'Done', hostKey: keyOf(server.host.line) })
  const authority = server.newKey('authority')
  const copy = server.newKey('certified')
  execFileSync('ssh-keygen', ['-q', '-s', authority.file, '-h', '-I', 'host', '-n', '127.0.0.1', `${copy.file}.pub`])
  const certified = await startSshServer({
    authorized: () => `command="sh -s",restrict ${server.client.line}`,
    settings: { HostKey: copy.file, HostCertificate: `${copy.file}-cert.pub` },
  })
  try {
    const trust = (line: string) => ({ kind: 'Authority', hostCA: keyOf(line) }) as const
    const port = certified.port
    expect((await run({ target: { port, trust: trust(authority.line) } })).kind).toBe('Done')
    expect(await run({ target: { port, trust: trust(server.strange.line) } })).toMatchObject({
      failure: 'HostKeyUnknown',
    })
  } finally {
    await certified.close()
  }
})

test('a key that the host does not know is refused, also while an agent and the user have one that it knows', async () => {
  const refused = await run({ identity: { kind: 'Key', privateKey: server.other.secret } })
  expect(refused).toMatchObject({
    failure: 'AuthRefused',
    why: expect.stringContaining('Permission denied (publickey)'),
  })
  expect(await run({ identity: { kind: 'Key', privateKey: 'no key' } })).toMatchObject({ failure: 'AuthRefused' })
})

test('the keys of an ssh-agent open a host', async () => {
  const socket = join(folder, 'agent')
  const started = execFileSync('ssh-agent', ['-s', '-a', socket], { encoding: 'utf8' })
  const [, pid = ''] = /SSH_AGENT_PID=(\d+);/.exec(started) ?? []
  try {
    expect(await run({ identity: { kind: 'Agent', socket } })).toMatchObject({ failure: 'AuthRefused' })
    execFileSync('ssh-add', ['-q', server.client.file], { env: { ...process.env, SSH_AUTH_SOCK: socket } })
    expect((await run({ identity: { kind: 'Agent', socket } })).kind).toBe('Done')
  } finally {
    process.kill(Number(pid))
  }
})

test('a host without a server is unreachable, and so is one behind a jump host that cannot reach it', async () => {
  expect(await run({ target: { port: 1 } })).toMatchObject({
    failure: 'Unreachable',
    why: expect.stringContaining('Connection refused'),
  })
})

test('forty hosts behind a jump host take at most eight of its places at once', async () => {
  const through = { ...at(jump), trust: { kind: 'Pinned', hostKey: keyOf(jump.host.line) } as const }
  // The jump host has one key file of its own.
  const identity = { kind: 'Key', privateKey: jump.client.secret } as const
  const behind = await startSshServer({ authorized: () => `command="sh -s",restrict ${jump.client.line}` })
  try {
    const one = () => run({ identity, target: { ...at(behind), jump: through } })
    // sshd drops the eleventh connection that is not logged in yet.
    const all = await Promise.all(Array.from({ length: 40 }, one))
    expect(all.filter((r) => r.kind !== 'Done')).toEqual([])
    const wrong = { ...through, trust: { kind: 'Pinned', hostKey: keyOf(jump.strange.line) } as const }
    expect(await run({ identity, target: { ...at(behind), jump: wrong } })).toMatchObject({
      failure: 'HostKeyChanged',
      why: expect.stringMatching(/^the jump host presented SHA256/),
    })
    const first = { ...through, trust: { kind: 'FirstUse' } as const }
    expect(await run({ identity, target: { ...at(behind), jump: first } })).toMatchObject({
      failure: 'PreflightFailed',
    })
    expect(await run({ identity, target: { ...at(behind), port: 1, jump: through } })).toMatchObject({
      failure: 'Unreachable',
    })
  } finally {
    await behind.close()
  }
})

test('what a script reports as its failure is the failure, and its end without a report is one', async () => {
  const failed = (body: string) => run({ script: hostScript(body) })
  expect(await failed(`failed Full 'no space in "/opt"'`)).toEqual({
    kind: 'Failed',
    failure: 'Full',
    why: 'no space in /opt',
  })
  // Only ssh knows of keys.
  expect(await failed('failed HostKeyChanged x')).toMatchObject({ failure: 'PreflightFailed' })
  expect(await failed('echo broken >&2; exit 3')).toMatchObject({ failure: 'PreflightFailed', why: 'broken' })
  expect(await failed('exit 0')).toMatchObject({
    failure: 'PreflightFailed',
    why: expect.stringContaining('login shell'),
  })
})

test('a user without sudo is a finding of the host', async () => {
  const found = await run({ sudo: true })
  const isRoot = userInfo().uid === 0
  const hasSudo = ['/usr/bin/sudo', '/bin/sudo'].some((file) => existsSync(file))
  if (isRoot && hasSudo) expect(found.kind).toBe('Done')
  else expect(found).toMatchObject({ failure: 'PreflightFailed', why: expect.stringContaining('sudo') })
})

test('S16 key and script are in no list of processes and no environment, and only the owner reads the key', async () => {
  const gate = join(folder, 'gate')
  const secret = 'a-join-token-of-the-script'
  const script = hostScript(`: ${secret}\nwhile ! [ -e '${gate}' ]; do sleep 0.05; done`)
  const running = run({ script })
  try {
    const [found] = await until(
      'ssh runs',
      () => {
        const all = processesWith('ssh', '-F', join(folder, 'keys'))
        return all.length > 0 ? all : undefined
      },
      20_000,
    )
    const own = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    const read = (pid: string, what: string) => {
      try {
        return readFileSync(`/proc/${pid}/${what}`, 'latin1')
      } catch {
        // It ended, or belongs to another user.
        return ''
      }
    }
    const texts = own.flatMap((pid) => [read(pid, 'cmdline'), read(pid, 'environ')])
    expect(found?.command).toContain('kubenode-target')
    const line = server.client.secret.split('\n')[2] ?? ''
    expect(texts.filter((text) => text.includes(line) || text.includes(secret))).toEqual([])
    const [session = ''] = readdirSync(join(folder, 'keys'))
    const modes = readdirSync(join(folder, 'keys', session)).map((name) =>
      (statSync(join(folder, 'keys', session, name)).mode & 0o777).toString(8),
    )
    expect(new Set(modes)).toEqual(new Set(['600']))
    expect((statSync(join(folder, 'keys', session)).mode & 0o777).toString(8)).toBe('700')
  } finally {
    writeFileSync(gate, '')
  }
  expect((await running).kind).toBe('Done')
})

test('a session ends with its signal, and its deadline ends it with all of its processes', async () => {
  const stop = new AbortController()
  const running = run({ script: hostScript('sleep 600') }, stop.signal)
  const mine = () => processesWith('ssh', '-F', join(folder, 'keys'))
  await until('ssh runs', () => mine().length > 0 || undefined, 20_000)
  stop.abort(new Error('stopped'))
  await expect(running).rejects.toThrow('stopped')
  expect(await run({ script: hostScript('sleep 600'), deadlineMs: 2_000 })).toEqual({
    kind: 'Failed',
    failure: 'TimedOut',
    why: 'not finished after 2s',
  })
  await until('ssh has ended', () => mine().length === 0 || undefined, 20_000)
  expect(readdirSync(join(folder, 'keys'))).toEqual([])
})

test('keys that a killed process left are deleted', async () => {
  const keys = join(folder, 'left')
  const gone = Number(execFileSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' }))
  for (const name of [`${gone}-abc`, `${process.ppid}-abc`]) execFileSync('mkdir', ['-p', join(keys, name)])
  const next = new SshSessions({ folder: keys, path: process.env['PATH'] ?? '', atOnce: 1 })
  const session = { identity: { kind: 'Key', privateKey: 'x' }, script: hostScript(':'), sudo: false } as const
  await next.run({ ...session, target: { ...at(server), port: 1 }, deadlineMs: 60_000 }, never)
  expect(readdirSync(keys)).toEqual([`${process.ppid}-abc`])
})
