import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isTrustedBuild, trustedCache } from './trusted-cache.ts'

const NOBODY = 65_534

let root: string
let cache: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kubenode-cache-'))
  cache = join(root, 'node_modules/.cache/kubenode')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** A cache in which another user left a build. */
function planted(): string {
  const build = join(cache, 'programs/0123')
  mkdirSync(build, { recursive: true })
  for (const folder of [
    'node_modules',
    'node_modules/.cache',
    'node_modules/.cache/kubenode',
    'node_modules/.cache/kubenode/programs',
  ])
    chmodSync(join(root, folder), 0o755)
  chmodSync(build, 0o700)
  writeFileSync(join(build, 'main.mjs'), 'x', { mode: 0o644 })
  return build
}

test('a new cache is made, and one that only we wrote is kept', () => {
  expect([trustedCache(root), existsSync(cache)]).toEqual([cache, true])
  const build = planted()
  expect([trustedCache(root), existsSync(build), isTrustedBuild(root, build)]).toEqual([cache, true, true])
})

test.each(['', 'programs', 'programs/0123'])(
  'S31 a cache is made again when others could write to its folder "%s"',
  (name) => {
    const build = planted()
    chmodSync(join(cache, name), 0o777)
    expect([trustedCache(root), existsSync(build)]).toEqual([cache, false])
  },
)

test('S31 a build with a file that others may write to is not run', () => {
  const build = planted()
  chmodSync(join(build, 'main.mjs'), 0o666)
  expect(isTrustedBuild(root, build)).toBe(false)
})

test('the folder that it shares with other packages is closed, and keeps what it has', () => {
  const build = planted()
  const shared = join(root, 'node_modules/.cache')
  chmodSync(shared, 0o777)
  expect([trustedCache(root), existsSync(build), statSync(shared).mode & 0o777]).toEqual([cache, true, 0o755])
})

test('a link in its place is not followed', () => {
  mkdirSync(join(root, 'elsewhere'))
  mkdirSync(join(root, 'node_modules/.cache'), { recursive: true })
  symlinkSync(join(root, 'elsewhere'), cache)
  expect([trustedCache(root), statSync(cache).isDirectory(), existsSync(join(root, 'elsewhere'))]).toEqual([
    cache,
    true,
    true,
  ])
})

test("S31 another user's cache is made again, and that of the owner of the checkout is used", (context) => {
  context.skip(process.geteuid?.() !== 0, 'needs root: a second user has to own it')
  const build = planted()
  chownSync(join(cache, 'programs'), NOBODY, NOBODY)
  expect([trustedCache(root), existsSync(build)]).toEqual([cache, false])
  planted()
  for (const path of [root, cache, join(cache, 'programs')]) chownSync(path, NOBODY, NOBODY)
  expect([trustedCache(root), existsSync(build)]).toEqual([cache, true])
})

test('where none can be made programs run without', () => {
  writeFileSync(join(root, 'node_modules'), '')
  expect(trustedCache(root)).toBeUndefined()
})
