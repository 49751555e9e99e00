// docs/tasks/own-fleet.md as it is printed: init packs kubenode, npm installs it without a registry, the checks pass, the installed one packs itself again to equal
// bytes, and loads no package of a repository.
import { execFileSync, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BUNDLE_FOLDER, bundleIn } from '#sync/render/bundle.ts'
import { Browser } from '#test/support/console/plain-browser.ts'
import { loadedBy } from '#test/support/console/page-imports.ts'
import { shellBlocks } from '#test/support/tools/readme.ts'

const ROOT = join(import.meta.dirname, '../..')
const MINUTES = 20 * 60_000
let scratch = ''
const fleet = () => join(scratch, 'my-fleet')

beforeAll(() => {
  // Links in the way would be others' folders for the programs that refuse those.
  scratch = realpathSync(mkdtempSync(join(tmpdir(), 'kubenode-own-')))
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const env = () => ({
  ...process.env,
  PATH: `${ROOT}/bin:${process.env['PATH'] ?? ''}`,
  HOME: scratch,
  XDG_CONFIG_HOME: '',
  GIT_AUTHOR_NAME: 't',
  GIT_AUTHOR_EMAIL: 't@example.org',
  GIT_COMMITTER_NAME: 't',
  GIT_COMMITTER_EMAIL: 't@example.org',
  // No registry answers: what is installed comes from the packed file.
  npm_config_registry: 'http://127.0.0.1:9/',
  npm_config_fetch_retries: '0',
  npm_config_cache: join(scratch, 'npm-cache'),
})
const sh = (script: string, cwd: string): string =>
  execFileSync('sh', ['-eu', '-c', script], { cwd, env: env(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

test('the commands of the page work in order, without a registry', { timeout: MINUTES }, () => {
  const [commands = ''] = shellBlocks('docs/tasks/own-fleet.md')
  expect(commands).toMatch(/^kubenode init my-fleet --cluster prod-1\n/)
  const said = sh(commands, scratch)
  expect(said).toMatch(/outside of the repository: keep a copy/)
  expect(said).toMatch(/hub: \d+ to add, 0 to change, 0 to remove/)
  expect(existsSync(join(scratch, '.config/kubenode/my-fleet/signing.pem'))).toBe(true)
  expect(sh('git status --porcelain', fleet())).toBe('')
  expect(sh('git ls-files', fleet())).not.toMatch(/\.pem|node_modules/)
})

test('the installed kubenode has built files for its cage, whole', () => {
  const caged = bundleIn(join(fleet(), 'node_modules/kubenode/src/sync/render', BUNDLE_FOLDER))
  expect(Object.keys(caged?.names ?? {})).toEqual(expect.arrayContaining(['kubenode/constructs', 'cdk8s']))
})

test(
  'the console of the installed kubenode serves a page that finds all it imports',
  { timeout: MINUTES },
  async () => {
    const kubeconfig = join(scratch, 'kubeconfig')
    const [cluster, user] = [{ server: 'https://127.0.0.1:9' }, { token: 'none' }]
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        'current-context': 'away',
        clusters: [{ name: 'away', cluster }],
        users: [{ name: 'away', user }],
        contexts: [{ name: 'away', context: { cluster: 'away', user: 'away' } }],
      }),
    )
    const program = spawn(join(fleet(), 'node_modules/.bin/kubenode'), ['console', '--kubeconfig', kubeconfig], {
      env: env(),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      const link = await new Promise<string>((resolve, reject) => {
        program.stdout.on('data', (said: Buffer) => resolve(said.toString().trim()))
        program.once('exit', (code) => reject(new Error(`the console ended with ${code}`)))
      })
      const browser = new Browser(Number(new URL(link).port))
      await browser.open(link)
      const reads = async (path: string) => {
        const { status, text } = await browser.ask(path)
        return status === 200 ? text : undefined
      }
      const { modules, missing } = await loadedBy((await reads('/')) ?? '', reads)
      expect(missing).toEqual([])
      expect(modules.filter((path) => path.includes('/npm/preact/'))).toHaveLength(2)
      expect(await reads('/api/session')).toMatch(/away/)
    } finally {
      program.kill()
    }
  },
)

test('an editor knows the types of kubenode and of cdk8s', { timeout: MINUTES }, () => {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  sh(`"${process.execPath}" "${tsc}" -p .`, fleet())
  const wrong = join(fleet(), 'fleet/wrong.ts')
  writeFileSync(
    wrong,
    `import { MachineSet } from 'kubenode/constructs'\nimport { App } from 'cdk8s'\nnew MachineSet(new App(), 'x', { spec: { replicas: 'many' } })\n`,
  )
  expect(() => sh(`"${process.execPath}" "${tsc}" -p .`, fleet())).toThrow()
  rmSync(wrong)
})

test('an installed kubenode makes an equal repository', { timeout: MINUTES }, () => {
  sh(`${fleet()}/node_modules/.bin/kubenode init second --key "$HOME/second.pem"`, scratch)
  const [packed = ''] = readdirSync(join(scratch, 'second/vendor'))
  const bytes = (name: string) => readFileSync(join(scratch, name, 'vendor', packed))
  expect(bytes('second').equals(bytes('my-fleet'))).toBe(true)
  const { packages } = JSON.parse(readFileSync(join(scratch, 'second/package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly integrity?: string }>>
  }
  const first = JSON.parse(readFileSync(join(fleet(), 'package-lock.json'), 'utf8')) as {
    readonly packages: typeof packages
  }
  expect(packages['node_modules/kubenode']).toEqual(first.packages['node_modules/kubenode'])
})

test('S15 the checks of an installed kubenode load no package of the repository', { timeout: MINUTES }, () => {
  const evil = join(scratch, 'evil')
  sh(`git clone --quiet my-fleet evil && cp -r my-fleet/node_modules evil/`, scratch)
  const nested = join(evil, 'rules/node_modules/kubenode')
  cpSync(join(fleet(), 'rules'), nested, { recursive: true })
  writeFileSync(join(nested, 'package.json'), '{"name":"kubenode","type":"module","exports":{"./*":"./evil.js"}}')
  writeFileSync(join(nested, 'evil.js'), `throw new Error('loaded')\n`)
  expect(sh('node_modules/.bin/kubenode rules test 2>&1', evil)).toMatch(/(\d+) of \1 cases passed/)
})
