// A source reads the repositories that it may, with credentials of its own: neither files of this machine nor the keys of the program or of another source.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { SyncConfig } from '#sync/hub/context.ts'
import { Renders } from '#sync/hub/renders.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'

let folder: string
let repository: GitFolder
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-access-'))
  repository = new GitFolder()
  repository.commit({ 'fleet/main.ts': '' })
})
afterEach(() => {
  repository.remove()
  rmSync(folder, { recursive: true, force: true })
})

const WRITES = { kinds: ['ConfigMap'], namespaces: ['shop'] }
const sourceOf = (url: string, spec: object = {}, name = 'shop') =>
  ({
    metadata: { namespace: 'fleet', name },
    spec: { url, path: '.', ref: { branch: 'main' }, ...spec },
  }) as FleetSource

const rendersWith = (config: Partial<SyncConfig>, secret: object = {}) =>
  new Renders(
    { cacheDir: join(folder, 'cache'), weakCage: 'allow', gitReach: { trusted: ['git.example'] }, ...config },
    systemClock,
    {
      readSecret: async () => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'git' }, ...secret }),
    },
  )

test('S27 a repository of this machine is read only below the folders that were named, for the source that they were named for', async () => {
  const url = `file://${repository.dir}`
  const read = (localRepositories: SyncConfig['localRepositories'], at = url) =>
    rendersWith(localRepositories === undefined ? {} : { localRepositories })
      .fetch(sourceOf(at))
      .then(
        ({ commit }) => commit,
        (e: Error & { code?: string }) => e.code,
      )
  const commit = repository.git('rev-parse', 'HEAD')
  expect(await read(undefined)).toBe('KN7020')
  expect(await read([])).toBe('KN7020')
  expect(await read([{ folder }])).toBe('KN7020')
  expect(await read([{ folder: repository.dir, source: 'fleet/other' }])).toBe('KN7020')
  expect(await read([{ folder: repository.dir.slice(0, -1) }])).toBe('KN7020')
  expect(await read([{ folder: repository.dir, source: 'fleet/shop' }])).toBe(commit)
  expect(await read([{ folder: repository.dir }])).toBe(commit)

  // Neither a link nor a .git file leads out of the folder.
  symlinkSync(repository.dir, join(folder, 'link'))
  mkdirSync(join(folder, 'work'))
  writeFileSync(join(folder, 'work/.git'), `gitdir: ${repository.dir}/.git\n`)
  for (const name of ['link', 'work', 'link/../work', 'nothing'])
    expect(await read([{ folder }], `file://${folder}/${name}`)).toMatch(/^KN(7020|1011)$/)
  const secret = await rendersWith({})
    .render(sourceOf(url), commit)
    .catch((e: unknown) => e)
  expect(secret).toMatchObject({ code: 'KN7020' })
})

/** A git program that records its arguments, and fetches from the repository of this test. */
function fakeGit(): Readonly<Record<string, string>> {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const real = `PATH=${process.env['PATH'] ?? ''} git`
  const text = `#!/bin/sh
case "$*" in *" fetch "*)
  env > '${folder}/env'
  for key in '${folder}'/cache/key-*/*; do [ -f "$key" ] && echo "FILE $(cat "$key")" >> '${folder}/env'; done
  dir="$(echo "$*" | sed 's/.*--git-dir=\\([^ ]*\\).*/\\1/')"
  GIT_ALLOW_PROTOCOL=file ${real} --git-dir="$dir" fetch --quiet 'file://${repository.dir}' '+refs/heads/main:refs/heads/main';;
*) ${real} "$@";; esac
`
  writeFileSync(join(bin, 'git'), text)
  chmodSync(join(bin, 'git'), 0o755)
  return { PATH: `${bin}:/usr/bin:/bin`, HOME: '/home/of-the-program' }
}

const KEY = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n'
const HOSTS = 'git.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA\n'

test('S27 git gets the credentials of the source and no others, and another source has no use of what they opened', async () => {
  const gitEnv = fakeGit()
  const data = Object.fromEntries(
    Object.entries({ username: 'u', password: 'p', 'ssh-privatekey': KEY, known_hosts: HOSTS }).map(([k, v]) => [
      k,
      Buffer.from(v).toString('base64'),
    ]),
  )
  const renders = rendersWith({ gitEnv }, { data })
  const given = async (source: FleetSource) => {
    await renders.fetch(source)
    return readFileSync(join(folder, 'env'), 'utf8')
  }
  const url = 'https://git.example/shop'
  const basic = Buffer.from('u:p').toString('base64')
  const secretRef = { name: 'git' }

  const only = await given(sourceOf(url))
  expect(only).toContain('HOME=/dev/null')
  expect(only).toContain('GIT_CONFIG_GLOBAL=/dev/null')
  const beside = await given(sourceOf(url, { writes: WRITES }))
  expect(beside).toContain('HOME=/dev/null')
  expect(beside).not.toContain(basic)
  const own = await given(sourceOf(url, { writes: WRITES, secretRef }, 'own'))
  expect(own).toContain(`Authorization: Basic ${basic}`)
  expect(own).toContain('HOME=/dev/null')
  const ssh = await given(sourceOf('ssh://git@git.example/shop', { writes: WRITES, secretRef }))
  expect(ssh).toContain(`FILE ${KEY}`)
  expect(ssh).toContain(`FILE ${HOSTS}`)
  expect(ssh).toMatch(/GIT_SSH_COMMAND='\S*\/ssh' -F '\S*\/key-\S*\/config'/)
  expect(ssh).toMatch(/FILE BatchMode yes\nStrictHostKeyChecking yes\n[^]*IdentitiesOnly yes\nIdentityAgent none\n/)
  expect(readdirSync(join(folder, 'cache')).filter((name) => name.startsWith('key-'))).toEqual([])
  // Each reader has a copy of its own.
  expect(readdirSync(join(folder, 'cache'))).toHaveLength(4)
  expect(existsSync(join(folder, 'env'))).toBe(true)
})
