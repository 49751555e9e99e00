// A machine without the program git: https repositories are fetched and pushed to all the same, within the same bounds, and everything else says what it needs.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { deflateSync } from 'node:zlib'
import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { MIB } from '#lib/bytes.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { GitAccess } from '#sync/git/access.ts'
import { Renders } from '#sync/hub/renders.ts'
import { branchesOf, fetchMirror, type MirrorOptions } from '#sync/git/mirror.ts'
import { push } from '#sync/git/push.ts'
import { NewObjects } from '#sync/revert/commit.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'
import { startEndlessGit } from '#test/support/faults/endless-git.ts'
import { bombOf, entryHeader } from '#test/support/faults/hostile-objects.ts'
import { startGitServer, type GitServer } from '#test/support/servers/git-server.ts'
import { startHttpProxy } from '#test/support/servers/http-proxy.ts'

const TOKEN = 'glpat-f4ke-t0ken'
const now = Date.now()
const authority = newAuthority('git', { now, days: 2 })
const subject = { commonName: 'localhost' }
const pair = issueCertificate(authority, { subject, validity: { now, days: 1 }, usage: 'server', hosts: ['localhost'] })

let folder: string
let repository: GitFolder
let server: GitServer
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-no-git-'))
  mkdirSync(join(folder, 'bin'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
beforeEach(async () => {
  repository = new GitFolder()
  server = await startGitServer(repository.dir, pair)
  server.answer = (authorization) =>
    authorization === `Bearer ${TOKEN}` ? { kind: 'Repository' } : { kind: 'Refused', status: 401 }
})
afterEach(async () => {
  await server.close()
  repository.remove()
  rmSync(join(folder, 'cache'), { recursive: true, force: true })
})

const access = (more: object = {}): GitAccess => ({
  kind: 'Https',
  authorization: `Bearer ${TOKEN}`,
  authorities: authority.certificate,
  secrets: [TOKEN],
  ...more,
})
const url = () => `https://localhost:${server.port}/${repository.dir.split('/').at(-1) ?? ''}/.git`
const options = (more: Partial<MirrorOptions> = {}): MirrorOptions => ({
  cacheDir: join(folder, 'cache'),
  env: { PATH: join(folder, 'bin') },
  reader: 'the same copy',
  reach: { trusted: ['localhost'] },
  access: access(),
  ...more,
})
const fetched = (more: Partial<MirrorOptions> = {}, from = url()) =>
  fetchMirror(from, { branch: 'main' }, options(more)).then(
    (copy) => copy.resolve('refs/heads/main'),
    (error: Error) => error.message,
  )
const textOf = async (commit: string, path = 'fleet/main.ts') => {
  const copy = await fetchMirror(url(), { branch: 'main' }, options())
  return Buffer.from((await copy.readTree(commit, ['fleet'])).get(path) ?? []).toString()
}

test('commits come with a token and an authority of their own, and nothing of either stays on disk', async () => {
  const first = repository.commit({ 'fleet/main.ts': '1' })
  expect(await fetched()).toBe(first)
  const second = repository.commit({ 'fleet/main.ts': '2' })
  expect(await fetched()).toBe(second)
  expect([await textOf(first), await textOf(second)]).toEqual(['1', '2'])
  const files = readdirSync(join(folder, 'cache'), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, 'cache', name))
    .filter((path) => statSync(path).isFile())
  expect(files.filter((path) => /t0ken|BEGIN/.test(readFileSync(path, 'latin1')))).toEqual([])
  repository.git('tag', '--annotate', '--message=x', 'v1')
  const tagged = await fetchMirror(url(), { tag: 'v1' }, options())
  expect(await tagged.resolve('refs/tags/v1')).toBe(second)
})

test('a history that was pushed away is followed, and the commit of before can still be read', async () => {
  const first = repository.commit({ 'fleet/main.ts': '1' })
  const away = repository.commit({ 'fleet/main.ts': 'away' })
  expect(await fetched()).toBe(away)
  repository.git('reset', '--quiet', '--hard', first)
  const next = repository.commit({ 'fleet/main.ts': '2' })
  expect(await fetched()).toBe(next)
  expect([await textOf(away), await textOf(next)]).toEqual(['away', '2'])
})

test('a repository of ten thousand files is fetched whole', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, n) => [`fleet/${n % 100}/${n}.ts`, `export const n${n} = ${n}\n`]),
  )
  const commit = repository.commit(files)
  repository.git('gc', '--quiet')
  const copy = await fetchMirror(url(), { branch: 'main' }, options())
  expect((await copy.readTree(commit, ['fleet'])).size).toBe(10_000)
})

test('what is refused is said as with the program git', async () => {
  repository.commit({ 'fleet/main.ts': '1' })
  expect(await fetched({ access: access({ authorization: 'Bearer old' }) })).toMatch(/^KN7023: .*HTTP 401/)
  const other = newAuthority('other', { now, days: 2 })
  expect(await fetched({ access: access({ authorities: other.certificate }) })).toMatch(
    /^KN7024: .*no authority of ca.crt signed it; /,
  )
  repository.git('branch', '-m', 'main', 'trunk')
  expect(await fetched()).toMatch(/^KN7049: .*no branch main; it has trunk/)
  server.answer = (_, path) => ({ kind: 'Redirect', to: `https://localhost:1${path}` })
  expect(await fetched()).toMatch(/^KN7025: /)
  server.answer = () => ({ kind: 'Failed', text: 'no such project' })
  expect(await fetched()).toMatch(/^KN7009: .*remote error: no such project;/)
  expect(await fetched({}, 'https://localhost:1/x')).toMatch(/^KN7009: .*ECONNREFUSED/)
  expect(await fetched({}, 'ssh://git@localhost/x')).toMatch(/^KN1208: .*no program git.*install git/)
})

test('a shallow clone is refused, and branches are listed', async () => {
  repository.commit({ 'fleet/main.ts': '1' })
  const tip = repository.commit({ 'fleet/main.ts': '2' })
  repository.git('branch', 'preview/a')
  const found = await branchesOf(url(), 'preview', options())
  expect([...found]).toEqual([['preview/a', tip]])
  const bare = mkdtempSync(join(folder, 'shallow-'))
  repository.git('clone', '--quiet', '--bare', '--depth=1', `file://${repository.dir}`, bare)
  const shallow = await startGitServer(bare, pair)
  try {
    const at = `https://localhost:${shallow.port}/${bare.split('/').at(-1) ?? ''}`
    expect(await fetched({}, at)).toMatch(/^KN1666: /)
  } finally {
    await shallow.close()
  }
})

test('the status of a source says that it is slower', async () => {
  const commit = repository.commit({ 'fleet/main.ts': '1' })
  const data = { bearerToken: TOKEN, 'ca.crt': authority.certificate }
  const encoded = Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  )
  const renders = new Renders(
    {
      cacheDir: join(folder, 'cache'),
      weakCage: 'allow',
      gitEnv: { PATH: join(folder, 'bin') },
      gitReach: { trusted: ['localhost'] },
    },
    systemClock,
    { readSecret: async (_, name) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, data: encoded }) },
  )
  const source = {
    metadata: { namespace: 'shop', name: 'shop' },
    spec: { url: url(), path: '.', ref: { branch: 'main' }, secretRef: { name: 'git' } },
  } as unknown as FleetSource
  expect(await renders.fetch(source)).toMatchObject({
    commit,
    note: expect.stringContaining('no program git') as string,
  })
})

test('a proxy is used, and a server is called at the addresses that were checked', async () => {
  const commit = repository.commit({ 'fleet/main.ts': '1' })
  const proxy = await startHttpProxy()
  try {
    const at = `http://127.0.0.1:${proxy.port}`
    const reach = { trusted: ['localhost', '127.0.0.1'] }
    expect(await fetched({ access: access({ proxy: { url: at, address: at } }), reach })).toBe(commit)
    expect(proxy.opened.length).toBeGreaterThan(0)
  } finally {
    await proxy.close()
  }
  expect(await fetched({ reach: {} })).toMatch(/^KN7054: /)
})

test('a server that sends 5 GB is cut off at the bound', async () => {
  const endless = await startEndlessGit(pair)
  try {
    expect(await fetched({ maxBytes: 16 * MIB }, endless.url)).toMatch(/^KN7046: .*more than 16 MiB/)
    expect(endless.sent()).toBeLessThan(512 * MIB)
  } finally {
    await endless.close()
  }
})

/** A pack with this one object, as a server answers with it. */
async function serving(pack: Buffer) {
  const line = (bytes: Buffer | string) => {
    const all = Buffer.from(bytes as string)
    return Buffer.concat([Buffer.from((all.length + 4).toString(16).padStart(4, '0')), all])
  }
  const band = (at: number) => line(Buffer.concat([Buffer.from([1]), pack.subarray(at, at + 65_000)]))
  const https = createServer({ key: pair.key, cert: pair.certificate }, (request, response) => {
    request.resume()
    const kind = request.method === 'GET' ? 'advertisement' : 'result'
    response.setHeader('content-type', `application/x-git-upload-pack-${kind}`)
    const flush = Buffer.from('0000')
    const refs = line(`${'a'.repeat(40)} refs/heads/main\0side-band-64k ofs-delta\n`)
    const bands = Array.from({ length: Math.ceil(pack.length / 65_000) }, (_, n) => band(n * 65_000))
    response.end(
      kind === 'advertisement'
        ? Buffer.concat([line('# service=git-upload-pack\n'), flush, refs, flush])
        : Buffer.concat([line('NAK\n'), ...bands, flush]),
    )
  })
  https.listen(0, '127.0.0.1')
  await once(https, 'listening')
  const { port } = https.address() as AddressInfo
  return { url: `https://localhost:${port}/x`, close: () => https.close() }
}

test.each([
  ['that lies about its size', 10, /declares 10 bytes and holds more/],
  ['that declares its size', 512 * MIB, /has an object of 536870912 bytes/],
])('S29 a pack with a bomb %s is refused before it is unpacked', async (_, size, why) => {
  const head = Buffer.from('PACK\0\0\0\u0002\0\0\0\u0001', 'latin1')
  const bytes = Buffer.concat([head, entryHeader(3, size), await bombOf('', 512 * MIB)])
  const hostile = await serving(Buffer.concat([bytes, createHash('sha1').update(bytes).digest()]))
  try {
    expect(await fetched({}, hostile.url)).toMatch(why)
    const copy = readdirSync(join(folder, 'cache')).find((name) => /^[0-9a-f]{32}$/.test(name)) ?? ''
    expect(readdirSync(join(folder, 'cache', copy, 'objects/pack'))).toEqual([])
  } finally {
    hostile.close()
  }
})

test('a pack without the commit that was asked for moves nothing', async () => {
  const head = Buffer.from('PACK\0\0\0\u0002\0\0\0\u0001', 'latin1')
  const bytes = Buffer.concat([head, entryHeader(3, 1), deflateSync('x')])
  const hostile = await serving(Buffer.concat([bytes, createHash('sha1').update(bytes).digest()]))
  try {
    expect(await fetched({}, hostile.url)).toMatch(/^KN7009: .*did not send a{40}/)
  } finally {
    hostile.close()
  }
})

test('a commit is pushed to a new branch, and to one that is where it was seen', async () => {
  const parent = repository.commit({ 'fleet/main.ts': '1' })
  repository.git('config', 'http.receivepack', 'true')
  repository.git('config', 'receive.denyCurrentBranch', 'ignore')
  const copy = await fetchMirror(url(), { branch: 'main' }, options())
  const pushed = async (branch: string, message: string, expected?: string) => {
    const objects = new NewObjects()
    const tree = repository.git('rev-parse', `${parent}^{tree}`)
    const who = 'sync <sync@example.org> 1 +0000'
    const text = `tree ${tree}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n\n${message}\n`
    const commit = objects.add('commit', Buffer.from(text))
    const what = { url: url(), branch, commit, objects: objects.all, repository: copy, access: access(), expected }
    const problem = await push(what, options()).then(() => '', String)
    return { commit, problem }
  }
  const made = await pushed('revert/x', 'new')
  expect([made.problem, repository.git('rev-parse', 'refs/heads/revert/x')]).toEqual(['', made.commit])
  const moved = await pushed('main', 'moved', parent)
  expect([moved.problem, repository.git('rev-parse', 'refs/heads/main')]).toEqual(['', moved.commit])
  const late = await pushed('main', 'late', parent)
  expect(late.problem).toMatch(/KN7051: .*stale info/)
  expect(repository.git('rev-parse', 'refs/heads/main')).toBe(moved.commit)
  repository.git('config', 'http.receivepack', 'false')
  expect((await pushed('other', 'x')).problem).toMatch(/KN7051: .*403/)
  expect(readdirSync(join(folder, 'cache')).filter((name) => name.startsWith('push-'))).toEqual([])
})
