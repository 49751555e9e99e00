// What the copies of all sources may take of the disk together: reported while there is room, refused by name beyond it, and freed of copies that no source reads.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { MIB } from '#lib/bytes.ts'
import { systemClock } from '#lib/system-clock.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { Renders } from '#sync/hub/renders.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { startGitServer, type GitServer } from '#test/support/servers/git-server.ts'

let folder: string
let repository: GitFolder
let server: GitServer
let ca: string
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-copies-'))
  repository = new GitFolder()
  const now = Date.now()
  const authority = newAuthority('git', { now, days: 2 })
  const subject = { commonName: 'git' }
  const given = { subject, validity: { now, days: 1 }, usage: 'server', hosts: ['localhost'] } as const
  server = await startGitServer(repository.dir, issueCertificate(authority, given))
  ca = Buffer.from(authority.certificate).toString('base64')
})
afterEach(async () => {
  await server.close()
  repository.remove()
  rmSync(folder, { recursive: true, force: true })
})

test('four fifths of the bound of all copies are reported; beyond it a fetch is refused, copies that no source reads go first, and the others stay', async (context) => {
  onlyInFull(context)
  const url = `https://localhost:${server.port}/${repository.dir.split('/').at(-1) ?? ''}/.git`
  // Three copies take 7.7 of 9 MiB.
  const commit = repository.commit({ 'big.bin': randomBytes(2.55 * MIB).toString('base64') })
  const sourceOf = (name: string) =>
    ({
      metadata: { namespace: 'shop', name },
      spec: { url, path: '.', ref: { branch: 'main' }, secretRef: { name: 'git' } },
    }) as unknown as FleetSource
  const cacheDir = join(folder, 'cache')
  const renders = new Renders(
    {
      cacheDir,
      weakCage: 'allow',
      gitEnv: { PATH: process.env['PATH'] ?? '' },
      gitReach: { trusted: ['localhost'] },
      maxRepositoryBytes: 3 * MIB,
    },
    systemClock,
    {
      readSecret: async () => ({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'git' },
        data: { 'ca.crt': ca },
      }),
    },
  )
  const fetched = (name: string) =>
    renders.fetch(sourceOf(name)).then(
      (found) => ({ commit: found.commit, note: found.note }),
      (error: Error) => error.message,
    )
  const sources = (...names: readonly string[]) => renders.removeUnused(names.map(sourceOf))
  const copies = () => readdirSync(cacheDir).filter((name) => /^[0-9a-f]{32}$/.test(name)).length

  sources('a', 'b', 'c', 'd')
  expect(await fetched('a')).toEqual({ commit, note: undefined })
  expect(await fetched('b')).toEqual({ commit, note: undefined })
  expect(await fetched('c')).toEqual({
    commit,
    note: expect.stringMatching(/^the 3 copies of repositories have \d of 9 MiB/),
  })
  expect(await fetched('d')).toMatch(
    /^KN7057: cannot fetch .*: the copies of all repositories would have more than 9 MiB, .*--max-repository.*stays in force/,
  )
  // The others are polled as before.
  expect(await fetched('a')).toMatchObject({ commit })
  sources('b', 'c', 'd')
  expect(await fetched('d')).toMatchObject({ commit })
  expect(copies()).toBe(3)
})
