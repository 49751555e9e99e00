// What a git server can cost sync: a fetch that is too large, too slow or too many files is ended and reported, and the commit fetched before stays readable.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MIB } from '#lib/bytes.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { fetchMirror, removeUnusedCopies, type MirrorOptions } from '#sync/git/mirror.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'
import { startEndlessGit } from '#test/support/faults/endless-git.ts'
import { onlyInFull } from '#test/support/tools/full.ts'

const READER = 'the same copy'
let folder: string
let repository: GitFolder
let first: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-bounds-'))
  repository = new GitFolder()
  first = repository.commit({ 'fleet/main.ts': '1' })
  await fetchMirror(`file://${repository.dir}`, { branch: 'main' }, options())
})
afterEach(() => {
  repository.remove()
  rmSync(folder, { recursive: true, force: true })
})

const options = (more: Partial<MirrorOptions> = {}): MirrorOptions => ({
  cacheDir: join(folder, 'cache'),
  env: { PATH: process.env['PATH'] ?? '' },
  reader: READER,
  reach: { trusted: ['localhost'] },
  ...more,
})
const copy = () =>
  join(folder, 'cache', readdirSync(join(folder, 'cache')).find((name) => /^[0-9a-f]{32}$/.test(name)) ?? '')
const bytesBelow = (dir: string): number =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' }).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0)

async function refused(url: string, more: Partial<MirrorOptions>): Promise<string> {
  const told = await fetchMirror(url, { branch: 'main' }, options(more)).then(
    () => 'fetched',
    (error: Error) => error.message,
  )
  // Whatever happened, the commit of before is there, and nothing half done takes up the disk.
  const files = await openLocalRepository(copy()).readTree(first, ['fleet'])
  expect(Buffer.from(files.get('fleet/main.ts') ?? []).toString()).toBe('1')
  expect(bytesBelow(copy())).toBeLessThan(MIB)
  return told
}

const certified = () => {
  const now = Date.now()
  const authority = newAuthority('git', { now, days: 2 })
  const subject = { commonName: 'git' }
  const pair = issueCertificate(authority, {
    subject,
    validity: { now, days: 1 },
    usage: 'server',
    hosts: ['localhost'],
  })
  return { pair, access: { kind: 'Https', authorities: authority.certificate, secrets: [] } as const }
}

test('a server that sends 5 GB is cut off at the bound', async () => {
  const { pair, access } = certified()
  const server = await startEndlessGit(pair)
  try {
    expect(await refused(server.url, { access, maxBytes: 16 * MIB })).toMatch(
      /^KN7046: .*more than 16 MiB, and the fetch was ended; .*--max-repository.*stays in force/,
    )
    expect(server.sent()).toBeGreaterThan(8 * MIB)
    expect(server.sent()).toBeLessThan(512 * MIB)
  } finally {
    await server.close()
  }
})

test('a repository with too much history is refused until it is smaller', async () => {
  const url = `file://${repository.dir}`
  repository.commit({ 'big.bin': randomBytes(3 * MIB).toString('base64') })
  expect(await refused(url, { maxBytes: 2 * MIB })).toMatch(/^KN7046: .*more than 2 MiB/)
  repository.git('reset', '--quiet', '--hard', first)
  const next = repository.commit({ 'fleet/main.ts': '2' })
  const fetched = await fetchMirror(url, { branch: 'main' }, options({ maxBytes: 2 * MIB }))
  expect(await fetched.resolve('refs/heads/main')).toBe(next)
})

test('a fetch that fills the disk with many files, or never ends, is ended with all of its children', async () => {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` }
  const script = (body: string) => {
    writeFileSync(join(bin, 'git'), `#!/bin/sh\n${body}\n`)
    chmodSync(join(bin, 'git'), 0o755)
  }
  script(
    `( n=0; while :; do n=$((n+1)); head -c 500000 /dev/zero > '${copy()}/objects/pack/tmp_pack_'$n; done ) & wait`,
  )
  expect(await refused('https://localhost/x', { env, maxBytes: 2 * MIB })).toMatch(/^KN7046/)
  const count = readdirSync(join(copy(), 'objects/pack')).length
  script('sleep 600 & wait')
  expect(await refused('https://localhost/x', { env, deadlineMs: 300 })).toMatch(/^KN7009: .*not finished after 300 ms/)
  expect(readdirSync(join(copy(), 'objects/pack'))).toHaveLength(count)
})

test('a copy that was fetched often stays one that is read: its packs are joined, and no commit is lost', async (context) => {
  onlyInFull(context)
  const url = `file://${repository.dir}`
  const away = repository.commit({ 'fleet/main.ts': 'away' })
  await fetchMirror(url, { branch: 'main' }, options())
  repository.git('reset', '--quiet', '--hard', first)
  const packs = () => readdirSync(join(copy(), 'objects/pack')).filter((name) => name.endsWith('.idx')).length
  let most = 0
  for (let n = 0; n < 60; n++) {
    repository.commit({ 'fleet/main.ts': `${n}` })
    await fetchMirror(url, { branch: 'main' }, options())
    most = Math.max(most, packs())
  }
  expect(most).toBeGreaterThan(40)
  expect(most).toBeLessThanOrEqual(51)
  expect(packs()).toBeLessThan(20)
  for (const [commit, text] of [
    [first, '1'],
    [away, 'away'],
    [repository.git('rev-parse', 'HEAD'), '59'],
  ] as const) {
    const files = await openLocalRepository(copy()).readTree(commit, ['fleet'])
    expect(Buffer.from(files.get('fleet/main.ts') ?? []).toString()).toBe(text)
  }
})

test('a server that sends a byte now and then is given up long before the deadline', async (context) => {
  // Half a minute of real time, as long as the bound.
  onlyInFull(context)
  const { pair, access } = certified()
  const server = createServer({ key: pair.key, cert: pair.certificate }, (_request, response) => {
    response.setHeader('content-type', 'application/x-git-upload-pack-advertisement')
    const drip = setInterval(() => response.write('0'), 500)
    response.once('close', () => clearInterval(drip))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    // The deadline would name itself.
    expect(await refused(`https://localhost:${port}/x`, { access })).toMatch(/^KN7009: .*too slow.*stays in force/)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('a copy that no source reads is removed after a week, and one that a source reads stays', () => {
  const week = 7 * 24 * 3_600_000
  const cache = join(folder, 'cache')
  const there = () => readdirSync(cache).filter((name) => /^[0-9a-f]{32}$/.test(name)).length
  mkdirSync(join(cache, 'notes'))
  removeUnusedCopies(cache, new Set(), Date.now() + week - 60_000)
  expect(there()).toBe(1)
  removeUnusedCopies(cache, new Set([READER]), Date.now() + 2 * week)
  expect(there()).toBe(1)
  removeUnusedCopies(cache, new Set(['another']), Date.now() + 2 * week)
  expect(there()).toBe(0)
  expect(readdirSync(cache)).toContain('notes')
  removeUnusedCopies(join(folder, 'nothing'), new Set(), Date.now())
})
