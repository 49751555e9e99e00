import { expect, test } from 'vitest'
import { type SshTarget, knownHostsOf, publicKeyIn, sshConfig, targetProblem } from './target.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEr6Xb1mZ2yTqkXo8v1C6lq0Jq5m0kZ1n8t0p3t2d5fQ'
const target = (more: Partial<SshTarget> = {}): SshTarget => ({
  host: '10.0.0.7',
  port: 22,
  user: 'root',
  trust: { kind: 'Pinned', hostKey: KEY },
  ...more,
})
const files = { knownHosts: '/a b/known%', jumpKnownHosts: '/j', key: '/k', certificate: '/c' }

test.each([
  ['an option', { host: '-oProxyCommand=id' }],
  ['a user in the host', { host: 'root@a' }],
  ['a percent sign', { host: 'fe80::1%eth0' }],
  ['a second line', { host: 'a\nProxyCommand id' }],
  ['no host', { host: '' }],
  ['a user that is an option', { user: '-l' }],
  ['a user with a blank', { user: 'a b' }],
  ['a port that is none', { port: 65_536 }],
  ['a key with a second line', { trust: { kind: 'Pinned', hostKey: `${KEY}\n* ${KEY}` } as const }],
  ['a key that is none', { trust: { kind: 'Authority', hostCA: 'AAAA' } as const }],
])('a target with %s is refused', (_, more) => {
  expect(targetProblem(target(more))).toBeTypeOf('string')
  const { trust = target().trust, ...rest } = more as Partial<SshTarget>
  if (trust.kind !== 'FirstUse')
    expect(targetProblem(target({ jump: target({ trust, ...rest }) }))).toBeTypeOf('string')
})

test.each(['db-1.example.org', '10.0.0.7', 'fd00::7', 'a'])('%s is a host', (host) => {
  expect(targetProblem(target({ host }))).toBeUndefined()
})

test('a host key is the key of a line of known_hosts or of a .pub file', () => {
  for (const text of [
    KEY,
    `example.org ${KEY}`,
    `[example.org]:2222,10.0.0.1 ${KEY}`,
    `${KEY} root@example`,
    ` ${KEY}\n`,
  ])
    expect(publicKeyIn(text)).toBe(KEY)
  expect(publicKeyIn('example.org ssh-ed25519 short')).toBeUndefined()
})

test('every session has its own known hosts, no forwarding, no password and no questions', () => {
  const text = sshConfig(target(), { kind: 'Key', privateKey: 'x' }, files)
  for (const setting of [
    'BatchMode yes',
    'StrictHostKeyChecking yes',
    'UserKnownHostsFile "/a b/known%%"',
    'GlobalKnownHostsFile /dev/null',
    'HostKeyAlias kubenode-target',
    'ProxyJump none',
    'IdentitiesOnly yes',
    'IdentityAgent none',
    'ForwardAgent no',
    'ClearAllForwardings yes',
    'PermitLocalCommand no',
    'PasswordAuthentication no',
    'ControlMaster no',
    'Tunnel no',
  ])
    expect(text.split('\n')).toContain(setting)
  expect(text).not.toContain('CertificateFile')
})

test('only a person’s word accepts an unknown key, and never that of a jump host', () => {
  const jump = target({ host: 'jump' })
  const text = sshConfig(target({ trust: { kind: 'FirstUse' }, jump }), { kind: 'Agent', socket: '/s' }, files)
  const [, ofTarget = '', ofJump = ''] = text.split('Host kubenode-')
  expect(ofTarget).toContain('StrictHostKeyChecking accept-new\n')
  expect(ofJump).toContain('StrictHostKeyChecking yes\n')
  expect(text).toContain('ProxyJump kubenode-jump\n')
  expect(targetProblem(target({ jump: target({ trust: { kind: 'FirstUse' } }) }))).toContain('jump host')
})

test('known_hosts has the key under the alias, or the authority for any name', () => {
  expect(knownHostsOf(target(), 'a')).toBe(`a ${KEY}\n`)
  expect(knownHostsOf(target({ trust: { kind: 'Authority', hostCA: KEY } }), 'a')).toBe(`@cert-authority * ${KEY}\n`)
})
