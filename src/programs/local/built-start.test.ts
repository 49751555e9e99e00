// bin/kubenode starts the build of the sources, and the sources themselves if in doubt.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { releaseRoot } from '#lib/release-root.ts'

const BUILD = 'node_modules/.cache/kubenode/programs/0123456789abcdef'
const CURRENT = 'node_modules/.cache/kubenode/programs/current'
/** The test's files are older than this. */
const LATER_S = Date.now() / 1_000 + 60

let root = ''
const at = (path: string): string => join(root, path)
function put(path: string, text: string): void {
  mkdirSync(dirname(at(path)), { recursive: true, mode: 0o755 })
  writeFileSync(at(path), text, { mode: 0o644 })
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kubenode-built-'))
  put('package-lock.json', '{}')
  put('deploy/a.yaml', 'a: 1')
  put('src/cli/main.ts', `console.log('sources')`)
  put('src/cli/outline/outline.json', '{}')
  put(`${BUILD}/main.mjs`, `console.log('build')`)
  put(CURRENT, '0123456789abcdef\n')
  utimesSync(at(CURRENT), LATER_S, LATER_S)
  for (const folder of ['node_modules/.cache', 'node_modules/.cache/kubenode', dirname(BUILD), BUILD])
    chmodSync(at(folder), 0o755)
  mkdirSync(at('bin'))
  copyFileSync(join(releaseRoot(), 'bin/kubenode'), at('bin/kubenode'))
  mkdirSync(at('node_modules/.bin'))
  symlinkSync(process.execPath, at('node_modules/.bin/node'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

test.each<[string, () => void, 'build' | 'sources']>([
  ['an untouched checkout', () => undefined, 'build'],
  ['a source that changed after the build', () => utimesSync(at(CURRENT), 1, 1), 'sources'],
  ['no build', () => rmSync(at(CURRENT)), 'sources'],
  ['a build that was deleted', () => rmSync(at(BUILD), { recursive: true }), 'sources'],
  ['a build that lost its content with the power', () => writeFileSync(at(`${BUILD}/main.mjs`), ''), 'sources'],
  ['a build that other users may write to', () => chmodSync(at(BUILD), 0o777), 'sources'],
  ['a folder of builds that its group may write to', () => chmodSync(dirname(at(BUILD)), 0o775), 'sources'],
  ['a name that other users may change', () => chmodSync(at(CURRENT), 0o666), 'sources'],
  [
    'node_modules of another checkout, which its build would take for its own',
    () => {
      renameSync(at('node_modules'), at('elsewhere'))
      symlinkSync(at('elsewhere'), at('node_modules'))
    },
    'sources',
  ],
  ['a file that is missing among the sources', () => rmSync(at('package-lock.json')), 'sources'],
])('%s', (_, change, expected) => {
  change()
  const said = execFileSync('sh', [at('bin/kubenode')], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  expect(said.trim()).toBe(expected)
})
