// The modules a command line loads before it does anything, which is its startup cost. Does not measure time, because machines differ.
import { spawnSync } from 'node:child_process'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

/** Runs command lines one after the other in separate processes, and prints the modules that each loaded. */
const RECORDER = `
import { registerHooks } from 'node:module'
import { writeSync } from 'node:fs'
const loaded = []
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
process.on('exit', () => writeSync(2, '\\n' + loaded.map((url) => 'LOADED ' + url).join('\\n') + '\\n'))
`

/** Without Node's own modules. */
function loadedBy(...argv: string[]): readonly string[] {
  const recorder = `data:text/javascript,${encodeURIComponent(RECORDER)}`
  const { stderr } = spawnSync(process.execPath, ['--import', recorder, ...argv], { encoding: 'utf8', cwd: ROOT })
  const urls = [...stderr.matchAll(/^LOADED (\S+)$/gm)].map(([, url = '']) => url)
  expect(urls.length).toBeGreaterThan(0)
  return urls.filter((url) => url.startsWith('file:')).map((url) => relative(ROOT, fileURLToPath(url)))
}

const kubenode = (...argv: string[]) => loadedBy(MAIN, ...argv)
const MAIN = 'src/cli/main.ts'

/** Packages other than the command line parser, and the kinds' schemas. */
const HEAVY = /^node_modules\/(?!commander\/)|^src\/api\/kinds/
const COMMANDS = /^src\/cli\/commands\//
const PARSER = 'node_modules/commander/'
/** Most of them are a few lines long. */
const MOST_OF_COMPLETION = 50

test.each([
  [['--version']],
  [['__complete', '--', 'get', 'mach']],
  [['__complete', '--line', 'kubenode why set/a --']],
])('%j loads no command and no kind', (argv) => {
  const loaded = kubenode(...argv).filter((path) => !path.startsWith(PARSER))
  expect(loaded.filter((path) => HEAVY.test(path) || COMMANDS.test(path))).toEqual([])
  expect(loaded.length).toBeLessThan(MOST_OF_COMPLETION)
})

test('the list of commands loads none of them', () => {
  const loaded = kubenode('--help').filter((path) => !path.startsWith(PARSER))
  expect(loaded.filter((path) => HEAVY.test(path) || COMMANDS.test(path))).toEqual([])
})

test('a command line loads the module of its command only', () => {
  const loaded = kubenode('--color', 'never', 'get', '--help').filter((path) =>
    /commands\.ts$|^src\/cli\/commands\//.test(path),
  )
  expect(loaded).toEqual(['src/cli/commands/basic/get.ts'])
})

test('no module of a command loads a package or the kinds before the command runs', () => {
  const io = "{ out() {}, err() {}, cwd: '/', env: {}, isTerminal: false }"
  const text = `import('./src/cli/program.ts').then(({ buildProgram }) => buildProgram(${io}))`
  const loaded = loadedBy('--input-type=module', '-e', text)
  expect(loaded).toContain('src/cli/commands/basic/get.ts')
  expect(loaded.filter((path) => HEAVY.test(path))).toEqual([])
})
