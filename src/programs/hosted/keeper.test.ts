import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { releaseRoot } from '#lib/release-root.ts'
import { memoryFlags } from './keeper.ts'

/** Node keeps compiled code apart for each of these. */
const tagWith = (flags: readonly string[]): string =>
  execFileSync(process.execPath, [...flags, '-p', 'v8.cachedDataVersionTag()'], { encoding: 'utf8' }).trim()

test('programs, commands and the build share compiled code, that of Node itself too', () => {
  const [, flags = ''] =
    /^exec "\$node" (.*) "\$program"/m.exec(readFileSync(join(releaseRoot(), 'bin/kubenode'), 'utf8')) ?? []
  const built = tagWith([])
  expect(tagWith(memoryFlags(512))).toBe(built)
  expect(tagWith(flags.replace('$flags', '--single-threaded-gc --max-semi-space-size=8').split(' '))).toBe(built)
  // Otherwise the test could not fail.
  expect(tagWith(['--expose-gc'])).not.toBe(built)
})
