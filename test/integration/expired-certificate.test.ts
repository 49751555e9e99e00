// A kubeconfig whose client certificate has expired, as a person meets it in the terminal: which one, since when, and what to do; on a real kube-apiserver where there is one.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run } from '#cli/program.ts'
import { systemClock } from '#lib/system-clock.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { serveFake } from '#test/support/servers/kube-server.ts'
import { startControlPlane } from '#test/support/servers/real/control-plane.ts'
import { whyNoPrograms } from '#test/support/servers/real/programs.ts'
import type { CertificateAuthority } from '#test/support/servers/tls.ts'

const HOUR_MS = 3_600_000
const STARTS_WITHIN_MS = 300_000

interface Served {
  readonly url: string
  readonly authority: CertificateAuthority
  readonly stop: () => Promise<void>
}

async function own(): Promise<Served> {
  const server = await serveFake(new FakeKube({ clock: systemClock, random: seededRandom(1) }))
  return { url: server.url, authority: server.authority, stop: () => server.close() }
}
async function real(): Promise<Served> {
  const plane = await startControlPlane({ bare: true })
  return { url: plane.url, authority: plane.pki.ca, stop: () => plane.stop() }
}

const missing = whyNoPrograms(['etcd', 'kube-apiserver'])
if (missing !== undefined) process.stderr.write(`a real kube-apiserver: not run, ${missing}\n`)
const servers = [
  ['a server of ours', own] as const,
  ...(missing === undefined ? [['kube-apiserver', real] as const] : []),
]

describe.each(servers)('%s', (_, start) => {
  let server: Served
  const dir = mkdtempSync(join(tmpdir(), 'kubenode-expired-'))
  beforeAll(async () => {
    server = await start()
  }, STARTS_WITHIN_MS)
  afterAll(async () => {
    await server?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  async function kubenode(user: object, ...argv: readonly string[]) {
    const file = join(dir, 'kubeconfig')
    const cluster = { server: server.url, 'certificate-authority-data': base64(server.authority.cert) }
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user }],
    }
    writeFileSync(file, JSON.stringify(kubeconfig))
    let [out, err] = ['', '']
    const io = {
      out: (t: string) => void (out += t),
      err: (t: string) => void (err += t),
      cwd: dir,
      env: {},
      isTerminal: false,
    }
    return { code: await run([...argv, '--kubeconfig', file], io), out, err }
  }

  const certificateUntil = async (until: Date) => {
    const { cert, key } = await server.authority.client('admin', ['system:masters'], until)
    return { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) }
  }

  test.each(['get', 'describe', 'why'])(
    '%s says since when the certificate is expired, and what to do',
    async (command) => {
      const user = await certificateUntil(new Date(Date.now() - 2 * HOUR_MS))
      const words = command === 'get' ? ['nodes'] : ['node/n-1']
      const { code, out, err } = await kubenode(user, command, ...words)
      const [first = '', second = ''] = err.split('\n')
      expect([code, out]).toEqual([2, ''])
      expect(first).toContain(`KN1358: the client certificate for ${server.url} expired at `)
      expect(first).toMatch(/, 2h\S* ago; get a new kubeconfig: .*kubeadm certs renew admin\.conf/)
      expect(second).toMatch(/^KN2401: /)
    },
  )

  test('nothing is said of a certificate that is valid', async () => {
    const { err } = await kubenode(await certificateUntil(new Date(Date.now() + HOUR_MS)), 'get', 'nodes')
    expect(err).not.toMatch(/KN1358|KN2401/)
  })

  test('of a token that names its end the same is said, and of no other', async () => {
    const claims = { exp: Math.floor(Date.now() / 1_000) - 60 }
    const token = `a.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c`
    expect((await kubenode({ token }, 'get', 'nodes')).err).toMatch(
      /^KN1358: the token for .* expired at (.|\n)*KN2401/,
    )
    for (const other of ['opaque', 'a.b.c', `a.${Buffer.from('{"exp":"soon"}').toString('base64url')}.c`])
      expect((await kubenode({ token: other }, 'get', 'nodes')).err).toMatch(/^KN2401/)
  })
})

const base64 = (text: string): string => Buffer.from(text).toString('base64')
