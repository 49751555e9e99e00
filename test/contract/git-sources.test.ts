// The same cases for every way to a repository: a git server over https, a real sshd, and a folder of this machine. What a source reads, what it reports when its
// branch or its history is missing or its server does not answer, and that the commit rendered before stays readable.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { Renders } from '#sync/hub/renders.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'
import { shiftedClock, type ShiftedClock } from '#test/support/clocks/shifted-clock.ts'
import { startFaultProxy } from '#test/support/faults/fault-proxy.ts'
import { startGitServer } from '#test/support/servers/git-server.ts'
import { missingSshServer, startSshServer } from '#test/support/servers/ssh-server.ts'
import { onlyInFull } from '#test/support/tools/full.ts'

const DAY_MS = 86_400_000
/** A shallow copy has its newest commit only. */
const NEWEST_ONLY = ['--depth', '1']

interface Way {
  readonly urlOf: (repository: string) => string
  readonly secret: Readonly<Record<string, string>> | undefined
  /** Whether the server answers. */
  readonly setAway: (repository: string, isAway: boolean) => void
  readonly close: () => Promise<void>
}

interface Kind {
  readonly name: string
  readonly missing?: string | undefined
  readonly start: () => Promise<Way>
  /** How each problem is reported. A folder is read in place, without a copy. */
  readonly deleted: RegExp
  readonly renamed: RegExp
  readonly away: RegExp
  readonly shallow: RegExp
}

const https: Kind = {
  name: 'https',
  start: async () => {
    const now = Date.now()
    const authority = newAuthority('git', { now, days: 30 })
    const server = await startGitServer(
      // Repositories of a test lie beside this.
      join(tmpdir(), 'any'),
      issueCertificate(authority, {
        subject: { commonName: 'git' },
        validity: { now, days: 30 },
        usage: 'server',
        hosts: ['localhost'],
      }),
    )
    const proxy = await startFaultProxy(server.port)
    return {
      urlOf: (repository) => `https://localhost:${proxy.port}/${repository.slice(tmpdir().length + 1)}`,
      secret: { 'ca.crt': authority.certificate },
      setAway: (_, isAway) => {
        proxy.refuse = isAway
      },
      close: async () => {
        await proxy.close()
        await server.close()
      },
    }
  },
  deleted: /^KN7049: .* has no branch main; it has side; .*stays in force/,
  renamed: /^KN7049: .* has no branch main; branch trunk is at the commit that was fetched before, .*spec\.ref/,
  away: /^KN7009: .*stays in force/,
  shallow: /^KN1666: .*shallow clone.*--unshallow/,
}

const ssh: Kind = {
  ...https,
  name: 'ssh',
  missing: missingSshServer(),
  start: async () => {
    const server = await startSshServer()
    const proxy = await startFaultProxy(server.port)
    const through = (text: string) => text.replaceAll(`:${server.port}`, `:${proxy.port}`)
    return {
      urlOf: (repository) => through(server.urlOf(repository)),
      secret: { 'ssh-privatekey': server.client.secret, known_hosts: through(server.knownAs(server.host)) },
      setAway: (_, isAway) => {
        proxy.refuse = isAway
      },
      close: async () => {
        await proxy.close()
        await server.close()
      },
    }
  },
}

const file: Kind = {
  name: 'a folder of this machine',
  start: async () => ({
    urlOf: (repository) => `file://${repository}`,
    secret: undefined,
    setAway: (repository, isAway) => {
      const elsewhere = `${repository}-away`
      if (isAway) renameSync(repository, elsewhere)
      else renameSync(elsewhere, repository)
    },
    close: async () => undefined,
  }),
  deleted: /^KN1664: .*main.*stays in force/,
  renamed: /^KN1664: .*main.*stays in force/,
  away: /^KN(1011|70\d\d): /,
  // Its newest commit is whole.
  shallow: /^[0-9a-f]{40}$/,
}

const fleet = (version: string) => ({
  'fleet/main.ts': `import { App, ApiObject, Chart } from 'cdk8s'
const app = new App()
new ApiObject(new Chart(app, 'test'), 'x', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'shop' }, data: { version: '${version}' } })
app.synth()
`,
})

const encoded = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')]))

describe.each([https, ssh, file])('a source over $name', (kind) => {
  let folder: string
  let way: Way
  let repository: GitFolder
  let clock: ShiftedClock
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kubenode-ways-'))
    if (kind.missing === undefined) way = await kind.start()
  })
  afterAll(async () => {
    await way?.close()
    rmSync(folder, { recursive: true, force: true })
  })
  beforeEach((context) => {
    if (kind.missing !== undefined) context.skip(kind.missing)
    repository = new GitFolder()
    clock = shiftedClock()
  })
  afterEach(() => repository?.remove())

  const sourceOf = (at: string, ref: object = { branch: 'main' }) =>
    ({
      metadata: { namespace: 'shop', name: 'shop' },
      spec: { url: way.urlOf(at), path: '.', ref, ...(way.secret !== undefined && { secretRef: { name: 'git' } }) },
    }) as unknown as FleetSource
  /** As after a restart: only what is on the disk is known. */
  const started = () =>
    new Renders(
      {
        cacheDir: join(folder, 'cache'),
        weakCage: 'allow',
        gitEnv: { PATH: process.env['PATH'] ?? '' },
        gitReach: { trusted: ['localhost', '127.0.0.1'] },
        localRepositories: [{ folder: tmpdir() }],
      },
      clock,
      {
        readSecret: async () => ({
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: 'git' },
          data: encoded(way.secret ?? {}),
        }),
      },
    )
  const at = () => join(repository.dir, '.git')
  const fetched = async (renders: Renders, source = sourceOf(at())): Promise<string> =>
    renders.fetch(source).then(
      ({ commit }) => commit,
      (error: Error) => error.message,
    )
  const versionAt = async (renders: Renders, commit: string): Promise<unknown> => {
    const { targets } = await renders.render(sourceOf(at()), commit)
    return targets.get('test')?.objects.map(({ object }) => object['data'])
  }

  test('follows its branch, a tag and a commit, and a force-push; the commit that was pushed away stays readable', async () => {
    const first = repository.commit(fleet('1'))
    repository.git('tag', 'v1')
    const renders = started()
    expect(await fetched(renders)).toBe(first)
    const second = repository.commit(fleet('2'))
    expect(await fetched(renders)).toBe(second)
    expect(await fetched(renders, sourceOf(at(), { tag: 'v1' }))).toBe(first)
    expect(await fetched(renders, sourceOf(at(), { commit: first }))).toBe(first)
    repository.git('reset', '--quiet', '--hard', first)
    const third = repository.commit(fleet('3'))
    expect(await fetched(renders)).toBe(third)
    expect(await versionAt(renders, third)).toEqual([{ version: '3' }])
    expect(await versionAt(started(), second)).toEqual([{ version: '2' }])
  })

  test('F17 reports a branch that was deleted or renamed, and follows it when it is back', async (context) => {
    // The same program reads what https brought and what ssh brought.
    if (kind === ssh) onlyInFull(context)
    const first = repository.commit(fleet('1'))
    const renders = started()
    expect(await fetched(renders)).toBe(first)
    repository.git('branch', '-m', 'main', 'trunk')
    expect(await fetched(renders)).toMatch(kind.renamed)
    repository.git('checkout', '--quiet', '-b', 'side')
    repository.commit({ 'README.md': 'other' })
    repository.git('branch', '-D', 'trunk')
    expect(await fetched(renders)).toMatch(kind.deleted)
    expect(await versionAt(renders, first)).toEqual([{ version: '1' }])
    repository.git('checkout', '--quiet', '-b', 'main')
    const back = repository.commit(fleet('2'))
    expect(await fetched(renders)).toBe(back)
  })

  test('F17 keeps the last commit while the server is away for a day, over restarts, and follows it again', async () => {
    const first = repository.commit(fleet('1'))
    const before = started()
    expect(await fetched(before)).toBe(first)
    expect(await versionAt(before, first)).toEqual([{ version: '1' }])
    way.setAway(at(), true)
    try {
      for (let hour = 0; hour < 24; hour += 8) {
        clock.shift(DAY_MS / 3)
        before.removeUnused([sourceOf(at())])
        expect(await fetched(before)).toMatch(kind.away)
      }
      // A folder has no copy: until it is back, its objects stay in the clusters as they are.
      for (const renders of kind === file ? [] : [before, started()])
        expect(await versionAt(renders, first)).toEqual([{ version: '1' }])
    } finally {
      way.setAway(at(), false)
    }
    const next = repository.commit(fleet('2'))
    expect(await fetched(before)).toBe(next)
    expect(await fetched(started())).toBe(next)
  })

  test('F17 a shallow repository is never followed without its history', async (context) => {
    // The same program reads what https brought and what ssh brought.
    if (kind === ssh) onlyInFull(context)
    repository.commit(fleet('1'))
    repository.commit(fleet('2'))
    const shallow = mkdtempSync(join(tmpdir(), 'kubenode-shallow-'))
    try {
      execFileSync('git', ['clone', '--quiet', '--bare', ...NEWEST_ONLY, `file://${repository.dir}`, shallow])
      expect(await fetched(started(), sourceOf(shallow))).toMatch(kind.shallow)
    } finally {
      rmSync(shallow, { recursive: true, force: true })
    }
  })
})
