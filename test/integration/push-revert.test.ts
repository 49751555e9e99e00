// The push of a revert: to the branch it was made for and only there, without a hook of the repository, without a secret in what is reported.
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { push, type Push } from '#sync/git/push.ts'
import { NewObjects } from '#sync/revert/commit.ts'
import { SignedRepository } from '#test/support/fleets/signed-repository.ts'

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

const env = { PATH: process.env['PATH'] ?? '' }

function wish(more: Partial<Push> = {}): Push {
  const objects = new NewObjects()
  const tree = r.inBare(['rev-parse', `${parent}^{tree}`])
  const who = 'a <a@example.org> 1 +0000'
  const text = `tree ${tree}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n\nrevert\n`
  const commit = objects.add('commit', Buffer.from(text))
  return {
    url: r.url,
    branch: 'main',
    commit,
    expected: parent,
    objects: objects.all,
    repository: openLocalRepository(r.url),
    access: { kind: 'Anonymous' },
    ...more,
  }
}

const pushed = (what: Push) => push(what, { cacheDir, env }).catch((error: unknown) => String(error))

test('the branch has the commit, a second push is the same, and nothing is left behind', async () => {
  const { commit } = wish()
  expect([await pushed(wish()), await pushed(wish())]).toEqual([undefined, undefined])
  expect(r.inBare(['rev-parse', 'main'])).toBe(commit)
  expect(readdirSync(cacheDir)).toEqual([])
})

test('a branch that moved is left alone, and so is a name that exists already', async () => {
  const moved = r.commit({ 'a.ts': '2' }, { key: undefined })
  expect(await pushed(wish())).toMatch(/KN7051: cannot write revert [0-9a-f]{12} to branch main .*rejected/)
  expect(r.inBare(['rev-parse', 'main'])).toBe(moved)
  r.inBare(['update-ref', 'refs/heads/revert/x', moved])
  expect(await pushed(wish({ branch: 'revert/x', expected: undefined }))).toMatch(/KN7051/)
  expect(r.inBare(['rev-parse', 'revert/x'])).toBe(moved)
  expect(await pushed(wish({ branch: 'revert/y', expected: undefined }))).toBeUndefined()
})

test('a refusal says why within the length of a status, and the next push of the same commit succeeds', async () => {
  const lock = join(r.url.replace('file://', ''), 'refs/heads/main.lock')
  writeFileSync(lock, '')
  const refused = await pushed(wish())
  expect(refused).toMatch(/KN7051: .* to branch main of \S+: ! \[remote rejected\] \(/)
  expect(refused).not.toMatch(/[0-9a-f]{40}/)
  rmSync(lock)
  expect(await pushed(wish())).toBeUndefined()
})

test('no hook and no program of the repository runs', async () => {
  const proof = join(cacheDir, '..', `proof-${process.pid}`)
  const script = `#!/bin/sh\ntouch '${proof}'\n`
  for (const hook of ['pre-receive', 'update', 'post-receive', 'post-update', 'reference-transaction'])
    r.writeInBare(`hooks/${hook}`, script)
  r.inBare(['config', 'core.hooksPath', join(r.bare, 'hooks')])
  r.inBare(['config', 'core.fsmonitor', join(r.bare, 'hooks', 'update')])
  r.inBare(['config', 'core.alternateRefsCommand', join(r.bare, 'hooks', 'update')])
  for (const hook of readdirSync(join(r.bare, 'hooks'))) chmodSync(join(r.bare, 'hooks', hook), 0o755)
  // Control: git itself runs them.
  r.push()
  r.git('commit', '--no-gpg-sign', '--quiet', '--allow-empty', '-m', 'control')
  r.push()
  expect(existsSync(proof)).toBe(true)
  rmSync(proof)
  expect(await pushed(wish({ branch: 'revert/z', expected: undefined }))).toBeUndefined()
  expect(existsSync(proof)).toBe(false)
})

test('what a server repeats of the credentials is not reported', async () => {
  const program = join(cacheDir, 'git')
  const echo = 'case "$*" in *push*) echo "remote: no: $GIT_CONFIG_VALUE_1 and tok-123" >&2; exit 1;; esac'
  writeFileSync(program, `#!/bin/sh\n${echo}\nPATH='${env.PATH}' exec git "$@"\n`, { mode: 0o755 })
  const access = { kind: 'Https', authorization: 'Bearer tok-123', secrets: ['tok-123'] } as const
  const what = wish({ url: 'https://git.example.org/fleet.git', access })
  const own = { PATH: `${cacheDir}:${env.PATH}` }
  const said = String(
    await push(what, { cacheDir, env: own, reach: { trusted: ['git.example.org'] } }).catch((error: unknown) => error),
  )
  expect(said).toMatch(/KN7051: .* remote: no: .*\*\*\*/)
  expect(said).not.toContain('tok-123')
})
