// The push of a revert to real git servers, over https with a token and over ssh with a key: with the credentials of the push Secret and no others.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { accessOf } from '#sync/git/access.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { push } from '#sync/git/push.ts'
import { NewObjects } from '#sync/revert/commit.ts'
import { SignedRepository } from '#test/support/fleets/signed-repository.ts'
import { startGitServer, type GitServer } from '#test/support/servers/git-server.ts'
import { missingSshServer, startSshServer, type SshServer } from '#test/support/servers/ssh-server.ts'

const env = { PATH: process.env['PATH'] ?? '' }
const reach = { trusted: ['localhost', '127.0.0.1'] }
const authority = newAuthority('git', { now: Date.now(), days: 2 })
const pair = issueCertificate(authority, {
  subject: { commonName: 'git' },
  validity: { now: Date.now(), days: 1 },
  usage: 'server',
  hosts: ['localhost'],
})

let r: SignedRepository
let cacheDir: string
let parent: string
beforeEach(() => {
  r = new SignedRepository([])
  cacheDir = mkdtempSync(join(tmpdir(), 'kubenode-push-'))
  parent = r.commit({ 'a.ts': '1' }, { key: undefined })
})
afterEach(() => {
  r.remove()
  rmSync(cacheDir, { recursive: true, force: true })
})

interface To {
  readonly url: string
  readonly data: Readonly<Record<string, string>>
  readonly branch?: string
  readonly expected?: string | undefined
}

/** Undefined, or the error as the status shows it; the commit is the same for equal files. */
async function pushed({ url, data, branch = 'revert/x', expected }: To) {
  const objects = new NewObjects()
  const who = 'sync <sync@example.org> 1 +0000'
  const tree = r.inBare(['rev-parse', `${parent}^{tree}`])
  const text = `tree ${tree}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n\nrevert\n`
  const commit = objects.add('commit', Buffer.from(text))
  const source = { metadata: { namespace: 'shop', name: 'shop' }, spec: { url, secretRef: { name: 'push' } } }
  const encoded = Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'push' }, data: Object.fromEntries(encoded) }
  const access = accessOf(source as unknown as FleetSource, secret, Date.now())
  const repository = openLocalRepository(r.url)
  const what = { url, branch, commit, expected, objects: objects.all, repository, access }
  const problem = await push(what, { cacheDir, env, reach }).then(() => undefined, String)
  return { commit, problem }
}

/** Nothing of a push stays on disk, least of all its credentials. */
const leftOf = (secret: string): readonly string[] =>
  readdirSync(cacheDir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(cacheDir, name))
    .filter((path) => statSync(path).isFile() && readFileSync(path).includes(secret))
const branchAt = (name: string) => r.inBare(['rev-parse', '--verify', '--quiet', `refs/heads/${name}`])

describe('over https', () => {
  const TOKEN = 'glpat-f4ke-t0ken'
  let server: GitServer
  beforeEach(async () => {
    r.inBare(['config', 'http.receivepack', 'true'])
    server = await startGitServer(r.bare, pair)
    server.answer = (authorization) =>
      authorization === `Bearer ${TOKEN}` ? { kind: 'Repository' } : { kind: 'Refused', status: 401 }
  })
  afterEach(() => server.close())
  const url = () => `https://localhost:${server.port}/fleet.git`
  const data = (token = TOKEN) => ({ bearerToken: token, 'ca.crt': authority.certificate })

  test('a branch is made, and the followed one moves only from where sync saw it', async () => {
    const made = await pushed({ url: url(), data: data() })
    expect(made.problem).toBeUndefined()
    expect(branchAt('revert/x')).toBe(made.commit)
    const direct = await pushed({ url: url(), data: data(), branch: 'main', expected: parent })
    expect([direct.problem, branchAt('main')]).toEqual([undefined, direct.commit])
    const late = r.commit({ 'a.ts': '2' }, { key: undefined })
    const refused = await pushed({ url: url(), data: data(), branch: 'main', expected: parent })
    expect(refused.problem).toMatch(/KN7051: cannot write revert [0-9a-f]{12} to branch main .*rejected/)
    expect(branchAt('main')).toBe(late)
    expect(leftOf(TOKEN)).toEqual([])
  })

  test('a token that may not write, and one that the server does not know, leave every branch as it was', async () => {
    r.inBare(['config', 'http.receivepack', 'false'])
    const readOnly = await pushed({ url: url(), data: data() })
    expect(readOnly.problem).toMatch(/KN7051: .*403/)
    r.inBare(['config', 'http.receivepack', 'true'])
    const unknown = await pushed({ url: url(), data: data('old-t0ken-of-mine') })
    expect(unknown.problem).toMatch(/KN7051: /)
    expect(unknown.problem).not.toContain('old-t0ken')
    expect(r.inBare(['for-each-ref', '--format=%(refname)'])).toBe('refs/heads/main')
  })
})

describe('over ssh', () => {
  const missing = missingSshServer()
  let server: SshServer
  beforeAll(async () => {
    if (missing === undefined) server = await startSshServer()
  })
  afterAll(() => server?.close())
  beforeEach((context) => {
    if (missing !== undefined) context.skip(missing)
  })
  const data = (key = server.client.secret) => ({
    'ssh-privatekey': key,
    known_hosts: server.knownAs(server.host),
  })

  test('a branch is made, and the followed one moves only from where sync saw it', async () => {
    const url = server.urlOf(r.bare)
    const made = await pushed({ url, data: data() })
    expect([made.problem, branchAt('revert/x')]).toEqual([undefined, made.commit])
    const direct = await pushed({ url, data: data(), branch: 'main', expected: parent })
    expect([direct.problem, branchAt('main')]).toEqual([undefined, direct.commit])
    const again = await pushed({ url, data: data(), branch: 'main', expected: 'f'.repeat(40) })
    // It is there already: the same commit a second time is no change.
    expect([again.problem, branchAt('main')]).toEqual([undefined, direct.commit])
    expect(leftOf(server.client.secret.split('\n')[2] ?? '')).toEqual([])
  })

  test('a key that the server does not know, and a server with another host key, change nothing', async () => {
    const url = server.urlOf(r.bare)
    const other = await pushed({ url, data: data(server.other.secret) })
    expect(other.problem).toMatch(/KN7051: /)
    const strange = await pushed({ url, data: { ...data(), known_hosts: server.knownAs(server.strange) } })
    expect(strange.problem).toMatch(/KN7051: /)
    for (const { problem } of [other, strange]) expect(problem).not.toContain('PRIVATE KEY')
    expect(r.inBare(['for-each-ref', '--format=%(refname)'])).toBe('refs/heads/main')
  })
})
