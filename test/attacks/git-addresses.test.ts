// The attacker writes the address of a FleetSource, or is the git server: sync calls neither its own machine, nor the link, nor where a cloud hands out credentials.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { once } from 'node:events'
import { isIP, type AddressInfo, type LookupFunction } from 'node:net'
import { networkInterfaces, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import type { GitAccess } from '#sync/git/access.ts'
import { fetchMirror } from '#sync/git/mirror.ts'
import type { GitReach } from '#sync/git/reach.ts'
import { sshAccess } from '#sync/git/ssh-access.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'
import { startGitServer } from '#test/support/servers/git-server.ts'
import { startSshServer } from '#test/support/servers/ssh-server.ts'

const { PATH = '' } = process.env
/** An address of this machine that plays another machine: `names` hands in no addresses of this one. */
const outside = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ family, internal, address }) => family === 'IPv4' && !internal && !address.startsWith('169.254.'))?.address
const now = Date.now()
const authority = newAuthority('git', { now, days: 2 })
const pairFor = (hosts: readonly string[]) =>
  issueCertificate(authority, { subject: { commonName: 'server' }, validity: { now, days: 1 }, usage: 'server', hosts })
const trusting = { kind: 'Https', authorities: authority.certificate, secrets: [] } as const

let folder: string
let repository: GitFolder
let commit: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-reach-'))
  repository = new GitFolder()
  commit = repository.commit({ 'fleet/main.ts': '' })
})
afterAll(() => {
  repository.remove()
  rmSync(folder, { recursive: true, force: true })
})

/** Counts questions; the answers are these, one after the other. */
function names(...answers: readonly (readonly string[])[]) {
  const asked: string[] = []
  const lookup: LookupFunction = (host, _options, done) => {
    const found = answers[Math.min(asked.length, answers.length - 1)] ?? []
    asked.push(host)
    done(
      null,
      found.map((address) => ({ address, family: isIP(address) })),
    )
  }
  return { asked, lookup, own: new Set<string>() }
}

interface From {
  readonly reach?: GitReach
  readonly access?: GitAccess
  readonly env?: Readonly<Record<string, string>>
}
const fetched = async (url: string, { reach = {}, access = trusting, env = { PATH } }: From = {}): Promise<string> =>
  fetchMirror(url, { branch: 'main' }, { cacheDir: join(folder, 'cache'), access, env, reach, reader: url }).then(
    async (copy) => copy.resolve('refs/heads/main').catch(() => 'nothing'),
    (error: Error) => error.message,
  )

/** A git that says that it was started for more than its own copy. */
function watchedGit(): { readonly env: Readonly<Record<string, string>>; readonly ran: string } {
  const bin = mkdtempSync(join(folder, 'bin-'))
  const ran = join(bin, 'ran')
  writeFileSync(
    join(bin, 'git'),
    `#!/bin/sh\ncase "$*" in *" init "*) PATH='${PATH}' exec git "$@";; esac\ntouch '${ran}'\n`,
  )
  chmodSync(join(bin, 'git'), 0o755)
  return { env: { PATH: `${bin}:${PATH}` }, ran }
}

describe('S13 an address that no source may name is refused before anything is sent:', () => {
  test.each([
    'https://169.254.169.254/latest/meta-data',
    'https://127.0.0.1:6443/x',
    'https://2130706433/x',
    'https://0x7f.1/x',
    'https://[::1]/x',
    'https://[::ffff:7f00:1]/x',
    'https://[0:0:0:0:0:ffff:a9fe:a9fe]/x',
    'https://[64:ff9b::a9fe:a9fe]/x',
    'https://[fe80::1]/x',
    'https://0.0.0.0/x',
    'https://100.100.100.200/x',
    'https://10.0.0.5:10250/pods',
    'https://git.example.org:6443/x',
    'https://git.example.org:2379/x',
    'https://kubernetes/x',
    'https://kubernetes.default.svc/x',
    'https://Kubernetes.default.svc.cluster.local:443/x',
    'https://localhost/x',
    'https://LOCALHOST/x',
    'https://a.localhost/x',
    'https://localhost./x',
    'ssh://git@127.0.0.1/x',
    'ssh://git@localhost:22/x',
    'ssh://git@[::1]/x',
    // Programs read these differently.
    'https://git.example.org\\@127.0.0.1/x',
    'https://git.example.org#@127.0.0.1/x',
    'https://a@b@127.0.0.1/x',
    'https://git.example.org:443:80/x',
    'https://git.example.org%2f@127.0.0.1/x',
    'https://127.0.0.1%00.example.org/x',
    'https://１２７.0.0.1/x',
    'https://ⓛocalhost/x',
    'ssh://-oProxyCommand=x/x',
    'ssh://a@b@127.0.0.1/x',
    'ssh://git.example.org[127.0.0.1]/x',
    'https:///x',
  ])('%s', async (url) => {
    const { env, ran } = watchedGit()
    const access = url.startsWith('ssh') ? ({ kind: 'SshKey', identity: 'k', knownHosts: 'h' } as const) : trusting
    const { lookup } = names(['192.0.2.1'])
    expect(await fetched(url, { env, access, reach: { lookup } })).toMatch(/^KN(7054|7018|1520): cannot fetch/)
    expect(existsSync(ran)).toBe(false)
  })

  test.each(['127.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1', 'fe80::1%eth0'])(
    'a name that leads to %s, also beside a good address, over https, ssh and as a proxy',
    async (address) => {
      const { env, ran } = watchedGit()
      const key = { kind: 'SshKey', identity: 'k', knownHosts: 'h' } as const
      const proxy = { url: 'http://proxy.example.org:3128', address: 'http://proxy.example.org:3128' }
      for (const [url, access] of [
        ['https://git.example.org/x', trusting],
        ['ssh://git@git.example.org/x', key],
        ['https://other.example.org/x', { ...trusting, proxy }],
      ] as const)
        expect(await fetched(url, { env, access, reach: names(['192.0.2.1', address]) })).toMatch(
          /^KN7054: .* leads to \S+, .*--git-allow (git|proxy)\.example\.org/,
        )
      expect(existsSync(ran)).toBe(false)
    },
  )

  test('behind a proxy a name is for the proxy to look up, and an address is still refused', async () => {
    const { env, ran } = watchedGit()
    const proxy = { url: 'http://192.0.2.9:3128', address: 'http://192.0.2.9:3128' }
    const { asked, lookup } = names(['127.0.0.1'])
    const access = { ...trusting, proxy }
    expect(await fetched('https://127.0.0.1/x', { env, access, reach: { lookup } })).toMatch(/^KN7054/)
    expect(await fetched('https://localhost/x', { env, access, reach: { lookup } })).toMatch(/^KN7054/)
    expect(existsSync(ran)).toBe(false)
    await fetched('https://inside.example.org/x', { env, access, reach: { lookup } })
    expect([asked, existsSync(ran)]).toEqual([[], true])
  })
})

test('S13 git connects to the address that was checked: a second answer of the name server does not count', async (context) => {
  if (outside === undefined) {
    context.skip('this machine has no address but loopback')
    return
  }
  // The system knows no such name; after the first question the name server would lead home.
  const server = await startGitServer(repository.dir, pairFor(['git.invalid']), outside)
  const at = names([outside], ['127.0.0.1'])
  try {
    const url = `https://git.invalid:${server.port}/${repository.dir.split('/').at(-1) ?? ''}/.git`
    expect(await fetched(url, { reach: at })).toBe(commit)
    expect(at.asked).toEqual(['git.invalid'])
    // The certificate stays that of the name.
    server.use(pairFor(['other.example.org']))
    expect(await fetched(url, { reach: names([outside]) })).toMatch(
      /^KN7024: .*it is for DNS:other.example.org, not for git\.invalid/,
    )
    // The handshake that tells why a certificate is refused goes nowhere else either.
    const before = server.authorizations.length
    expect(await fetched(url, { reach: names([outside], ['127.0.0.1']) })).toMatch(/^KN7024/)
    expect(server.authorizations).toHaveLength(before)
  } finally {
    await server.close()
  }
})

test('S13 so does ssh, with the host key of the name', async (context) => {
  if (outside === undefined) {
    context.skip('this machine has no address but loopback')
    return
  }
  if (!existsSync('/usr/sbin/sshd')) context.skip('no /usr/sbin/sshd')
  const server = await startSshServer({ address: outside })
  try {
    const url = `ssh://${userInfo().username}@git.invalid:${server.port}${join(repository.dir, '.git')}`
    const withHosts = (knownHosts: string): GitAccess => {
      const fields: Readonly<Record<string, string>> = {
        'ssh-privatekey': server.client.secret,
        known_hosts: knownHosts,
      }
      const access = sshAccess((name) => fields[name])
      if (access.kind === 'Unusable') throw new Error(access.why)
      return access
    }
    const named = server.knownAs(server.host).replace(outside, 'git.invalid')
    const at = names([outside], ['127.0.0.1'])
    expect(await fetched(url, { access: withHosts(named), reach: at })).toBe(commit)
    expect(at.asked).toEqual(['git.invalid'])
    const ofAddress = withHosts(server.knownAs(server.host))
    expect(await fetched(url, { access: ofAddress, reach: names([outside]) })).toMatch(/^KN7028: .*git\.invalid/)
  } finally {
    await server.close()
  }
})

test.skipIf(outside === undefined)(
  'the other addresses of this machine are this machine, by address and by name',
  async () => {
    const [ours = '', mapped] = [outside, `[::ffff:${outside ?? ''}]`]
    const { lookup } = names([ours])
    for (const url of [`https://${ours}/x`, `ssh://git@${ours}/x`, `https://${mapped}/x`, 'https://git.invalid/x'])
      expect(await fetched(url, { reach: { lookup } })).toMatch(/^KN7054/)
  },
)

test('the API server that sync works for is no git server', async () => {
  const reach = { ...names(['203.0.113.7']), apiServers: ['203.0.113.7', 'api.example.org'] }
  for (const host of ['203.0.113.7', 'api.example.org', 'API.example.org', 'git.invalid'])
    expect(await fetched(`https://${host}/x`, { reach })).toMatch(/^KN7054/)
})

test('a server that the operator vouches for may be anywhere, with its port or with any', async () => {
  const server = await startGitServer(repository.dir, pairFor(['localhost']))
  try {
    const url = `https://localhost:${server.port}/${repository.dir.split('/').at(-1) ?? ''}/.git`
    expect(await fetched(url)).toMatch(/^KN7054: .*leads to this machine/)
    expect(await fetched(url, { reach: { trusted: ['localhost:1'] } })).toMatch(/^KN7054/)
    for (const name of ['localhost', `localhost:${server.port}`, 'LocalHost'])
      expect(await fetched(url, { reach: { trusted: [name] } })).toBe(commit)
  } finally {
    await server.close()
  }
})

test('S13 a server that names further stores of objects leads git to none of them', async () => {
  const bare = join(folder, 'dumb.git')
  repository.git('clone', '--quiet', '--bare', repository.dir, bare)
  repository.git('--git-dir', bare, 'update-server-info')
  const asked: string[] = []
  const { key, certificate } = pairFor(['localhost'])
  const other = createServer({ key, cert: certificate })
  let reached = 0
  other.on('connection', () => (reached += 1))
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  const elsewhere = `https://localhost:${(other.address() as AddressInfo).port}/objects`
  mkdirSync(join(bare, 'objects/info'), { recursive: true })
  const refs = `${commit}\trefs/heads/main\n`
  const dumb = createServer({ key, cert: certificate }, (request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const answer = Object.entries({
      '/info/refs': refs,
      '/HEAD': 'ref: refs/heads/main\n',
      alternates: `${elsewhere}\n`,
    }).find(([part]) => path.includes(part))?.[1]
    response.writeHead(answer === undefined ? 404 : 200).end(answer ?? '')
  })
  dumb.listen(0, '127.0.0.1')
  await once(dumb, 'listening')
  try {
    const url = `https://localhost:${(dumb.address() as AddressInfo).port}/x`
    expect(await fetched(url, { reach: { trusted: ['localhost'] } })).toMatch(/^KN7009/)
    expect(asked.some((path) => path.endsWith('alternates'))).toBe(true)
    expect(reached).toBe(0)
  } finally {
    for (const server of [dumb, other]) {
      server.closeAllConnections()
      server.close()
    }
  }
  expect(readdirSync(join(folder, 'cache')).filter((name) => name.startsWith('key-'))).toEqual([])
})
