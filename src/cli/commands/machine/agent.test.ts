import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newPublisher } from '#test/doubles/node/release.ts'
import { identityFile, leaveRequestFile, nodeDir } from '#agent/node-dir.ts'
import { systemctlOf } from '#agent/supervise/choose.ts'
import { run } from '../../program.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { hostArguments } from '#agent/join/host-arguments.ts'
import { JOIN_OPTIONS, bundleText, hostChoices, joinMain, prepareHost, type JoinHost } from '#agent/join/join-host.ts'
import { leaveMain } from '#agent/join/leave-host.ts'
import { agentUnit } from '#agent/join/unit.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'kubenode-bundle-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const root = join(import.meta.dirname, '../../../..')

test('S6 two bundles of one checkout are equal to the byte, and load nothing but what Node has', async () => {
  const made = []
  for (const out of ['a', 'b']) made.push(await bundleAgent({ root, out: join(folder, out), prefix: '/opt/kubenode' }))
  const digests = made.map((m) => m.map((f) => f.sha256))
  expect(digests[0]).toEqual(digests[1])
  const known = new Set(builtinModules.flatMap((m) => [m, `node:${m}`]))
  for (const name of ['agent.mjs', 'supervisor.mjs']) {
    const text = readFileSync(join(folder, 'a', name), 'utf8')
    const loaded = [...text.matchAll(/^import (?:[^'"]+ from )?["']([^"']+)["']/gm)].map((m) => m[1] ?? '')
    expect(loaded.filter((m) => !known.has(m))).toEqual([])
    // The build machine's paths would not exist elsewhere.
    expect(text).not.toContain(root)
  }
  // The small one stays small: only systemd supervises it.
  expect(statSync(join(folder, 'a/supervisor.mjs')).size).toBeLessThan(18_432)
})

test('a bundle is written to a folder below the current one, not below the checkout', async () => {
  const said: string[] = []
  const io = { out: (t: string) => void said.push(t), err: () => undefined, cwd: folder, env: {}, isTerminal: false }
  expect(await run(['agent', 'bundle', '--unpacked', '--out', 'made'], io)).toBe(0)
  expect(existsSync(join(folder, 'made/agent.mjs'))).toBe(true)
  expect(said.join('')).toContain(`"file":"${join(folder, 'made/supervisor.mjs')}"`)
})

test.each([
  ['/bin/true', 'it is not Node.js'],
  [import.meta.filename, 'it is no program for Linux on amd64 or arm64'],
  ['nothing', 'ENOENT'],
])('agent bundle --node %s is refused before anything is written', async (node, why) => {
  const said: string[] = []
  const io = { out: () => undefined, err: (t: string) => void said.push(t), cwd: folder, env: {}, isTerminal: false }
  for (const more of [[], ['--unpacked']])
    expect(await run(['agent', 'bundle', '--out', 'made', '--node', node, ...more], io)).toBe(2)
  expect(said.join('')).toMatch(/KN1051: cannot make the archive of agents with .*give --node a Node.js program/)
  expect([said.join('').includes(why), existsSync(join(folder, 'made'))]).toEqual([true, false])
})

test.each([
  ['leave', 'KN1112: cannot leave'],
  ['join', 'KN8085: cannot join'],
])('agent %s on a host without the programs says so', async (what, says) => {
  const said: string[] = []
  const io = { out: () => undefined, err: (t: string) => void said.push(t), cwd: folder, env: {}, isTerminal: false }
  const words = ['agent', what, ...(what === 'join' ? ['bundle'] : []), '--agent', join(folder, 'none')]
  expect(await run(words, io)).not.toBe(0)
  expect(said.join('')).toContain(says)
})

const bundle = JSON.stringify({
  server: 'https://127.0.0.1:1',
  caData: Buffer.from('-----BEGIN CERTIFICATE-----\nx').toString('base64'),
  token: 'abcdef.0123456789abcdef',
  machine: 'm-1',
  cluster: 'test',
  artifactBase: 'file:///a/',
  trust: newPublisher().anchor,
})

describe('joining a host', () => {
  const host = (more: Partial<JoinHost> = {}): JoinHost => ({
    bundle,
    root: join(folder, 'lib'),
    prefix: join(folder, 'opt'),
    from: join(folder, 'from'),
    units: join(folder, 'units'),
    node: execPath,
    ...more,
  })
  beforeEach(() => {
    mkdirSync(join(folder, 'from'))
    for (const name of ['agent.mjs', 'supervisor.mjs']) writeFileSync(join(folder, 'from', name), name)
  })

  test('puts programs, unit and bundle into place, and no other user reads the secret', () => {
    expect(prepareHost(host())).toEqual({ machine: 'm-1', text: 'this host joins test as m-1' })
    expect(readFileSync(join(folder, 'lib/join.json'), 'utf8')).toBe(bundle)
    expect(statSync(join(folder, 'lib/join.json')).mode & 0o777).toBe(0o600)
    for (const path of ['opt/agent.mjs', 'opt/supervisor.mjs', 'opt/bin/node', 'units/kubenode-agent.service'])
      expect(existsSync(join(folder, path))).toBe(true)
  })

  test('may be said again for the same machine, also after it joined, and for no other', () => {
    prepareHost(host())
    prepareHost(host())
    const identity = (text: string): void => {
      mkdirSync(join(folder, 'lib/state/identity'), { recursive: true })
      writeFileSync(join(folder, 'lib/state/identity/identity.json'), text)
    }
    identity(JSON.stringify({ machine: 'm-1', cluster: 'test' }))
    expect(prepareHost(host())).toEqual({ machine: 'm-1', text: 'this host joins test as m-1' })
    for (const other of [
      { machine: 'm-2', cluster: 'test' },
      { machine: 'm-1', cluster: 'other' },
    ]) {
      identity(JSON.stringify(other))
      expect(() => prepareHost(host())).toThrow(
        `KN8005: cannot join as m-1 of test: this host already has the identity of ${other.machine} of ${other.cluster}`,
      )
    }
    identity('half writ')
    expect(() => prepareHost(host())).toThrow(
      /^KN8005: cannot join as m-1 of test: this host already has an identity in .*; .*hand it back first with .*\/bin\/node .*\/agent\.mjs leave; never remove/,
    )
  })

  test('F47 a second run overwrites nothing that a running agent has loaded', () => {
    mkdirSync(join(folder, 'from/lib'))
    writeFileSync(join(folder, 'from/lib/libatomic.so.1'), 'library')
    const files = ['agent.mjs', 'supervisor.mjs', 'bin/node', 'lib/libatomic.so.1'].map((f) => join(folder, 'opt', f))
    prepareHost(host())
    const held = files.map((file) => openSync(file, 'r'))
    writeFileSync(join(folder, 'from/lib/libatomic.so.1'), 'another')
    prepareHost(host())
    const names = held.map((file) => fstatSync(file).nlink)
    for (const file of held) closeSync(file)
    expect(names).toEqual([0, 0, 0, 0])
    expect(readFileSync(join(folder, 'opt/lib/libatomic.so.1'), 'utf8')).toBe('another')
  })

  test('with what is no bundle changes nothing', () => {
    expect(() => prepareHost(host({ bundle: 'nonsense' }))).toThrow(/^KN8003/)
    expect(existsSync(join(folder, 'opt'))).toBe(false)
  })

  test('keeps what only this host can say: its address, and the proxy of its environment', () => {
    const choices = hostChoices(
      { address: '10.0.0.5', proxyApi: true },
      { HTTPS_PROXY: 'http://proxy.test:3128', no_proxy: '10.0.0.0/8' },
    )
    prepareHost(host({ own: choices }))
    expect(JSON.parse(readFileSync(join(folder, 'lib/join.json'), 'utf8'))).toEqual({
      ...JSON.parse(bundle),
      nodeAddress: '10.0.0.5',
      proxy: { url: 'http://proxy.test:3128', not: '10.0.0.0/8', api: true },
    })
    expect(hostChoices({ address: undefined, proxyApi: false }, { https_proxy: '' })).toEqual({})
  })

  test.each([
    [{ address: 'eth0', proxyApi: false }, {}, /^KN1002: .*--address.*"eth0" is no address/],
    [{ address: undefined, proxyApi: true }, {}, /^KN1002: .*--proxy-api: .*HTTPS_PROXY is not set/],
  ])('refuses %j with %j', (given, env, says) => expect(() => hostChoices(given, env)).toThrow(says))

  test('refuses a proxy that nothing could use, and a folder that cannot be written', () => {
    const own = hostChoices({ address: undefined, proxyApi: false }, { HTTPS_PROXY: 'socks5://p:1' })
    expect(() => prepareHost(host({ own }))).toThrow(/^KN1002: .*HTTPS_PROXY.*http:\/\/proxy/)
    writeFileSync(join(folder, 'opt'), 'a file')
    expect(() => prepareHost(host())).toThrow(/^KN8087: cannot join: \S+opt cannot be written: .*--prefix/)
  })

  test('takes a compressed bundle, and says that a line was copied in part', () => {
    const packed = gzipSync(bundle).toString('base64')
    expect(bundleText(packed)).toBe(bundle)
    expect(() => bundleText(packed.slice(0, 40))).toThrow(/^KN8003: .*was the whole line copied/)
  })

  test('takes the bundle as JSON, in base64 or from a file', () => {
    writeFileSync(join(folder, 'join.json'), `${bundle}\n`)
    expect([bundle, Buffer.from(bundle).toString('base64'), `@${folder}/join.json`].map(bundleText)).toEqual([
      bundle,
      bundle,
      bundle,
    ])
  })
})

test.each<[string, readonly string[], string]>([
  ['an unknown option', ['B', '--adress', '10.0.0.1'], '--adress: it is not known'],
  ['an unknown option before the bundle', ['--dry-run', 'B'], '--dry-run: it is not known'],
  ['an option without its value', ['B', '--root', '--no-start'], '--root: its value is missing'],
  ['an option whose value is missing at the end', ['B', '--prefix'], '--prefix: its value is missing'],
  ['a value for an option that takes none', ['B', '--no-start=no'], '--no-start: it takes no value'],
  ['a bundle in two words', ['B', 'secret'], 'word 2: no such word is expected'],
])('agent join with %s is refused by name, and does nothing', async (_, args, says) => {
  const given = hostArguments(args, JOIN_OPTIONS, 1)
  expect(given.kind === 'Wrong' && `${given.word}: ${given.why}`).toBe(says)
  expect(await joinMain([...args, ...(args.includes('--root') ? [] : ['--root', folder])])).toBe(2)
  expect(readdirSync(folder)).toEqual([])
})

test('the value of an option may stand before the bundle, and nothing else is taken for it', () => {
  expect(hostArguments(['--root', '/r', '-', '--no-start'], JOIN_OPTIONS, 1)).toEqual({
    kind: 'Words',
    flags: new Set(['no-start']),
    values: { root: '/r' },
    plain: ['-'],
  })
})

test.each([
  ['--dryrun', 2],
  ['--help', 0],
  ['now', 2],
])('F47 agent leave %s on a host hands nothing back', async (argument, code) => {
  const dir = nodeDir(folder, '/')
  mkdirSync(dirname(identityFile(dir)), { recursive: true })
  writeFileSync(identityFile(dir), '{}')
  expect(await leaveMain(['--root', folder, argument])).toBe(code)
  expect(existsSync(leaveRequestFile(dir))).toBe(false)
})

test('F47 a host whose join was refused for good, and that is bound to that machine, is left by a person', async ({
  skip,
}) => {
  if (process.geteuid?.() !== 0) skip('leaving a host needs root')
  if (systemctlOf() !== undefined) skip('this computer has systemd: an agent of its own would leave')
  const data = join(folder, 'lib')
  const dir = nodeDir(data, '/')
  mkdirSync(dirname(identityFile(dir)), { recursive: true })
  writeFileSync(identityFile(dir), '{}')
  expect(await leaveMain(['--root', data])).toBe(0)
  expect(existsSync(identityFile(dir))).toBe(false)
})

test('a host whose machine was deleted before its agent joined is left by a person', async ({ skip }) => {
  if (process.geteuid?.() !== 0) skip('leaving a host needs root')
  if (systemctlOf() !== undefined) skip('this computer has systemd: an agent of its own would leave')
  const data = join(folder, 'lib')
  mkdirSync(join(data, 'state'), { recursive: true })
  writeFileSync(join(data, 'join.json'), bundle)
  expect(await leaveMain(['--root', data, '--dry-run'])).toBe(0)
  expect(existsSync(join(data, 'join.json'))).toBe(true)
  expect(await leaveMain(['--root', data])).toBe(0)
  expect(existsSync(join(data, 'join.json'))).toBe(false)
  expect(await leaveMain(['--root', data])).toBe(1)
})

test('S22 the unit of the agent opens no socket and is held to what it needs', () => {
  const unit = agentUnit({ node: '/n', folder: '/f', root: '/r' }).split('\n')
  expect(unit).toContain(
    'ExecStart=/n --max-old-space-size=24 --max-semi-space-size=1 /f/supervisor.mjs /f/agent.mjs --host --root /r',
  )
  for (const line of [
    'KillMode=process',
    'RestrictSUIDSGID=yes',
    'ProtectClock=yes',
    'LockPersonality=yes',
    'OOMPolicy=continue',
    'RestartPreventExitStatus=78',
  ])
    expect(unit).toContain(line)
})
