import { describe, expect, it } from 'vitest'
import { parseSafeKubeconfig, safeKubeconfigProblems } from './kubeconfig-safe.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const PEM = base64('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
const KEY = base64('-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n')

type Edit = { cluster?: object; user?: object; root?: object; extra?: object }

const kubeconfig = ({ cluster = {}, user = {}, root = {}, extra }: Edit = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'edge',
    clusters: [
      { name: 'c', cluster: { server: 'https://edge.example:6443', 'certificate-authority-data': PEM, ...cluster } },
    ],
    users: [
      { name: 'u', user: { token: 'tok-1', ...user } },
      ...(extra === undefined ? [] : [{ name: 'unused', user: extra }]),
    ],
    contexts: [{ name: 'edge', context: { cluster: 'c', user: 'u', namespace: 'n' } }],
    ...root,
  })

describe('S14 kubeconfigs from a Secret', () => {
  it('data alone is taken', () => {
    expect(
      parseSafeKubeconfig(kubeconfig({ user: { 'client-certificate-data': PEM, 'client-key-data': KEY } }), 'secret s'),
    ).toEqual({
      context: 'edge',
      config: {
        server: 'https://edge.example:6443',
        ca: { data: Buffer.from(PEM, 'base64').toString() },
        token: { data: 'tok-1' },
        clientCertificate: {
          cert: { data: Buffer.from(PEM, 'base64').toString() },
          key: { data: Buffer.from(KEY, 'base64').toString() },
        },
        namespace: 'n',
      },
    })
  })

  const refused: readonly (readonly [name: string, edit: Edit, code: string, pointer: string])[] = [
    ['exec', { user: { exec: { command: 'id' } } }, 'KN2101', '/users/0/user/exec'],
    ['an auth-provider', { user: { 'auth-provider': { name: 'gcp' } } }, 'KN2101', '/users/0/user/auth-provider'],
    [
      'a CA file',
      { cluster: { 'certificate-authority': '/etc/passwd' } },
      'KN2101',
      '/clusters/0/cluster/certificate-authority',
    ],
    ['a certificate file', { user: { 'client-certificate': '../x' } }, 'KN2101', '/users/0/user/client-certificate'],
    ['a key file', { user: { 'client-key': '/root/key' } }, 'KN2101', '/users/0/user/client-key'],
    ['a token file', { user: { tokenFile: '/var/run/secrets/token' } }, 'KN2101', '/users/0/user/tokenFile'],
    [
      'S17 insecure TLS',
      { cluster: { 'insecure-skip-tls-verify': true } },
      'KN2107',
      '/clusters/0/cluster/insecure-skip-tls-verify',
    ],
    [
      'S17 insecure TLS as a string',
      { cluster: { 'insecure-skip-tls-verify': 'true' } },
      'KN2107',
      '/clusters/0/cluster/insecure-skip-tls-verify',
    ],
    ['a proxy', { cluster: { 'proxy-url': 'http://evil:1' } }, 'KN2107', '/clusters/0/cluster/proxy-url'],
    ['a password', { user: { username: 'a', password: 'b' } }, 'KN2101', '/users/0/user/username'],
    ['plain http', { cluster: { server: 'http://edge' } }, 'KN2107', '/clusters/0/cluster/server'],
    ['a file address', { cluster: { server: 'file:///etc/passwd' } }, 'KN2107', '/clusters/0/cluster/server'],
    ['a user in the address', { cluster: { server: 'https://a:b@edge' } }, 'KN2107', '/clusters/0/cluster/server'],
    ['a metadata address', { cluster: { server: 'https://169.254.169.254' } }, 'KN2107', '/clusters/0/cluster/server'],
    [
      'a metadata address in another notation',
      { cluster: { server: 'https://0xa9fea9fe' } },
      'KN2107',
      '/clusters/0/cluster/server',
    ],
    [
      'a metadata address inside IPv6',
      { cluster: { server: 'https://[::ffff:169.254.169.254]' } },
      'KN2107',
      '/clusters/0/cluster/server',
    ],
    [
      'the metadata host of a cloud by its full name',
      { cluster: { server: 'https://metadata.google.internal.' } },
      'KN2107',
      '/clusters/0/cluster/server',
    ],
    ['an unknown field', { user: { 'exec-v2': {} } }, 'KN2100', '/users/0/user/exec-v2'],
    ['an unknown context', { root: { 'current-context': 'other' } }, 'KN2100', '/current-context'],
    [
      'no base64',
      { cluster: { 'certificate-authority-data': '!!' } },
      'KN2101',
      '/clusters/0/cluster/certificate-authority-data',
    ],
    ['a certificate without key', { user: { 'client-certificate-data': PEM } }, 'KN2101', '/users/0/user'],
    ['a line break in a token', { user: { token: 'a\r\nX-Remote-User: admin' } }, 'KN2101', '/users/0/user/token'],
    ['exec in a user that no context names', { extra: { exec: { command: 'id' } } }, 'KN2101', '/users/1/user/exec'],
    [
      'two users of one name',
      {
        root: {
          users: [
            { name: 'u', user: {} },
            { name: 'u', user: {} },
          ],
        },
      },
      'KN2100',
      '/users/1/name',
    ],
  ]
  it.each(refused)('%s is refused with its own number and place', (_name, edit, code, pointer) => {
    expect(safeKubeconfigProblems(kubeconfig(edit)).map((p) => [p.code, p.pointer])).toContainEqual([code, pointer])
    expect(() => parseSafeKubeconfig(kubeconfig(edit), 'secret s')).toThrow('cannot use the kubeconfig of secret s')
  })

  it.each([
    ['no YAML', 'a: [1'],
    ['an alias bomb', `a: &a [x,x]\nb: &b [${'*a,'.repeat(50)}x]\nc: [${'*b,'.repeat(50)}x]`],
    ['two documents', `${kubeconfig()}\n---\n${kubeconfig()}`],
    ['nothing', ''],
    ['another kind', 'apiVersion: v1\nkind: Secret\n'],
    ['a huge one', `${kubeconfig()}${' '.repeat(300_000)}`],
    ['a polluting one', '{"apiVersion":"v1","kind":"Config","__proto__":{"users":[]}}'],
  ])('%s is refused and pollutes nothing', (_name, text) => {
    expect(safeKubeconfigProblems(text).length).toBeGreaterThan(0)
    expect(({} as Record<string, unknown>)['users']).toBeUndefined()
  })

  it('S16 no message repeats a credential', () => {
    const secret = 'hunter2hunter2'
    const texts = [
      kubeconfig({ user: { token: `${secret}\n` } }),
      `token: "${secret}\n  - [`,
      kubeconfig({ cluster: { server: `https://u:${secret}@x` } }),
    ]
    for (const text of texts) expect(JSON.stringify(safeKubeconfigProblems(text))).not.toContain(secret)
  })

  it('names line and column', () => {
    const text =
      'apiVersion: v1\nkind: Config\ncurrent-context: x\nusers:\n- name: u\n  user:\n    exec: {command: id}\n'
    expect(safeKubeconfigProblems(text)[0]).toMatchObject({ code: 'KN2101', line: 7, column: 5 })
  })

  it('aliases are refused before they are followed, and so is what is larger than any kubeconfig', () => {
    const bomb = `a: &a x\nb: [${'1,'.repeat(9_000)}]\nc: [${'*a,'.repeat(1_000)}]\n`
    const [problem] = safeKubeconfigProblems(bomb)
    expect(problem).toMatchObject({ code: 'KN2100', message: 'it has YAML aliases (*name); write the values out' })
    expect(safeKubeconfigProblems('a: &a x\nb: *a\n')[0]?.message).toMatch(/aliases/)
    expect(safeKubeconfigProblems(`# ${'x'.repeat(64 * 1024)}`)[0]?.message).toMatch(/larger than 65536 bytes/)
  })
})
