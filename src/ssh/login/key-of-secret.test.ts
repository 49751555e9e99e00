import type { Machine } from '#api/kinds/machine.ts'
import { defined } from '#lib/defined.ts'
import { describe, expect, test } from 'vitest'
import { type LoginSecret, keyOfSecret, rescueLineOf } from './key-of-secret.ts'

const PEM = '-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----\n'
const base64 = (text: string) => Buffer.from(text).toString('base64')
const SSH = { host: '10.1.2.3', port: 22, user: 'root', hostKey: 'k', secretRef: { name: 'key' } }

interface Given {
  readonly labels?: Record<string, string>
  readonly annotations?: Record<string, string>
  readonly data?: Record<string, string>
  readonly host?: string
  readonly jump?: string
}

function asked({ labels = { 'kubenode.io/for-ssh': 'true' }, annotations = {}, data, host, jump }: Given = {}) {
  const secret = { metadata: { name: 'key', labels, annotations }, data: data ?? { 'ssh-privatekey': base64(PEM) } }
  const ssh = {
    ...SSH,
    ...defined({ host }),
    ...(jump !== undefined && { jump: { host: jump, port: 22, user: 'root', hostKey: 'k' } }),
  }
  const key = keyOfSecret(secret, { spec: { pool: 'workers' } } as unknown as Machine, ssh)
  return key.kind === 'Key' ? key.identity : key.why
}

test('a Secret gives its key only with the label of its owner', () => {
  expect(asked()).toEqual({ kind: 'Key', privateKey: PEM, certificate: undefined })
  expect(asked({ labels: {} })).toMatch(/is not labeled kubenode\.io\/for-ssh=true/)
  expect(asked({ labels: { 'kubenode.io/for-ssh': 'false' } })).toMatch(/is not labeled/)
  expect(keyOfSecret(undefined, {} as Machine, SSH)).toMatchObject({ why: 'Secret key not found in kubenode-system' })
  expect(asked({ data: {} })).toMatch(/has no ssh-privatekey/)
  expect(asked({ data: { 'ssh-privatekey': base64('x') } })).toMatch(/no private key/)
  expect(asked({ data: { 'ssh-privatekey': base64(PEM), 'ssh-certificate': base64('c') } })).toMatchObject({
    certificate: 'c',
  })
})

test.each([
  ['workers', true],
  ['gpu, workers', true],
  ['gpu', false],
  ['', false],
])('a key for pools %j is for a machine of pool workers: %s', (pools, isFor) => {
  expect(typeof asked({ annotations: { 'kubenode.io/ssh-pools': pools } }) === 'object').toBe(isFor)
})

test.each([
  ['10.1.2.3', '10.1.2.3', true],
  ['10.1.2.3', '10.1.0.0/16', true],
  ['10.2.2.3', '10.1.0.0/16', false],
  ['10.1.2.3', '10.1.0.0/33', false],
  ['10.1.2.3', '10.1.0.0/', false],
  ['fd00::1', 'fd00::/8', true],
  ['fd00::1', '10.0.0.0/8', false],
  ['db-1.example.org', '*.example.org', true],
  ['DB-1.Example.org', '*.example.org', true],
  ['db-1.example.org.evil', '*.example.org', false],
  ['evilexample.org', '*.example.org', false],
  ['10.1.2.3', '', false],
  ['10.1.2.3', 'other, 10.1.2.3', true],
])('host %s at %j: %s', (host, hosts, isFor) => {
  expect(typeof asked({ host, annotations: { 'kubenode.io/ssh-hosts': hosts } }) === 'object').toBe(isFor)
})

test('a jump host is one of the hosts of the key too', () => {
  const annotations = { 'kubenode.io/ssh-hosts': '10.1.0.0/16' }
  expect(asked({ annotations, jump: '10.1.0.1' })).toMatchObject({ kind: 'Key' })
  expect(asked({ annotations, jump: '192.0.2.1' })).toMatch(/is not for host 192\.0\.2\.1/)
})

describe('the public half of a rescue key', () => {
  const PUBLIC = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEr6Xb1mZ2yTqkXo8v1C6lq0Jq5m0kZ1n8t0p3t2d5fQ'
  const lineOf = (text: string | undefined, from?: string) => {
    const secret: LoginSecret = {
      metadata: { annotations: { ...(from !== undefined && { 'kubenode.io/ssh-from': from }) } },
      data: { ...(text !== undefined && { 'ssh-publickey': base64(text) }) },
    }
    return rescueLineOf(secret)
  }

  test('is taken without its comment, with the addresses that may use it', () => {
    expect(lineOf(`${PUBLIC} kubenode-rescue\n`)).toEqual({ publicKey: PUBLIC, from: [] })
    expect(lineOf(PUBLIC, '10.0.0.0/24, !10.0.0.9,fd00::/8')).toEqual({
      publicKey: PUBLIC,
      from: ['10.0.0.0/24', '!10.0.0.9', 'fd00::/8'],
    })
  })

  test.each([undefined, '', 'x', 'command="sh" '])('%j is none', (text) =>
    expect(lineOf(text)).toMatch(/has no public key/),
  )

  test.each(['a.example.org', '10.0.0.1" x="', '*', '10.0.0.1 ssh-rsa', "10.0.0.1\n' x"])(
    'from %j is refused',
    (from) => expect(lineOf(PUBLIC, from)).toMatch(/is no address or range/),
  )
})
