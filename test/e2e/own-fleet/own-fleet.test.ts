// A fleet that `kubenode init` made, brought up by `kubenode local up` in its folder: its hub with nodes, a registered cluster as an embedded one in its stage, its
// components; a commit there rolls out there, and a cluster that is not understood is refused with the file and the fix.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { initFleet } from '#install/init/init.ts'
import { chapters } from '#test/support/tools/chapters.ts'
import { until } from '#test/support/tools/processes.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
/** A loaded machine needs minutes for what takes an idle one seconds. */
const PATIENCE_MS = 300_000
const CHAPTER_MS = 320_000

describe('a fleet of one’s own on this machine', () => {
  chapters()
  let scratch = ''
  let folder = ''
  let child: ChildProcess | undefined
  let said = ''

  const run = (file: string, ...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> =>
    new Promise((done) => {
      const one = spawn(file, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], timeout: PATIENCE_MS })
      let out = ''
      for (const stream of [one.stdout, one.stderr]) stream.on('data', (d: Buffer) => (out += d.toString()))
      one.once('close', (code) => done({ code: code ?? -1, out }))
    })
  const kubenode = (...args: readonly string[]) => run(join(folder, 'node_modules/.bin/kubenode'), ...args)
  const commit = (files: Readonly<Record<string, string>>, message: string): string => {
    for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text)
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
        encoding: 'utf8',
      })
    git('add', '-A')
    git('commit', '-qm', message)
    return git('rev-parse', 'HEAD').trim()
  }
  const machines = (cluster: string): readonly string[] => {
    const config = join(folder, '.kubenode', cluster, 'apiserver/admin.kubeconfig')
    const text = execFileSync(
      join(folder, 'node_modules/.bin/kubenode'),
      ['get', 'machines', '-o', 'json', '--kubeconfig', config],
      { encoding: 'utf8' },
    )
    const { items } = JSON.parse(text) as {
      readonly items: readonly {
        readonly spec: { readonly provider: { readonly name: string } }
        readonly status: { readonly phase: string; readonly components: readonly { readonly version: string }[] }
      }[]
    }
    return items.map(
      ({ spec, status }) => `${spec.provider.name} ${status.phase} ${status.components.map((c) => c.version).join()}`,
    )
  }

  beforeAll(async () => {
    scratch = realpathSync(mkdtempSync(join(tmpdir(), 'kubenode-own-')))
    folder = join(scratch, 'my-fleet')
    await initFleet(
      { dir: folder, cluster: 'prod-1', key: join(scratch, 'key.pem'), force: false },
      {
        cwd: scratch,
        env: process.env,
        now: Date.now(),
        pack: async (into) => ({ file: join(into, 'none.tgz'), bytes: 0, integrity: '', entries: {} }),
      },
    )
    // As npm ci leaves it; init.full.test.ts packs and installs the package itself.
    mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true })
    symlinkSync(ROOT, join(folder, 'node_modules/kubenode'))
    symlinkSync(join(ROOT, 'bin/kubenode'), join(folder, 'node_modules/.bin/kubenode'))
  })
  afterAll(async () => {
    if (child?.exitCode === null) {
      child.kill('SIGINT')
      await until('the fleet ends', () => child?.exitCode !== null || undefined, PATIENCE_MS)
    }
    rmSync(scratch, { recursive: true, force: true })
  }, CHAPTER_MS)

  test('before the first commit it says what to type', async () => {
    expect(await kubenode('local', 'up')).toMatchObject({
      code: 2,
      out: expect.stringMatching(/KN1209: .*my-fleet: .*git add -A and git commit/s) as unknown,
    })
  })

  test(
    'one command brings up its hub and its clusters with their pools, and says what is otherwise than in git',
    async () => {
      commit(
        {
          'fleet/clusters.json': '{ "eu-prod-7": { "stage": "prod", "nodes": 1, "provider": "alicloud" } }\n',
          'fleet/providers.json': '{ "providers": [{ "name": "static" }, { "name": "alicloud" }] }\n',
        },
        'start',
      )
      child = spawn(join(folder, 'node_modules/.bin/kubenode'), ['local', 'up'], {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', (d: Buffer) => (said += d.toString()))
      await until('the fleet is ready', () => /^ready after/m.test(said) || undefined, PATIENCE_MS).catch(
        (e: unknown) => {
          throw new Error(`${String(e)}\n${said.slice(-3_000)}`)
        },
      )
      expect(said).toContain(`rehearsing the fleet in ${folder} (branch main)`)
      expect(said).toContain('note: cluster eu-prod-7 is an embedded one here (in git: registered cluster)')
      expect(said).toContain(
        'note: pool workers of hub has 2 machines of provider process here (in git: 0 machines of provider static)',
      )
      expect(said).toContain(
        'note: pool workers of eu-prod-7 has 1 machine of provider process here (in git: 1 machine of provider alicloud)',
      )
      expect([machines('hub'), machines('eu-prod-7')]).toEqual([
        ['process Ready 1.0.0', 'process Ready 1.0.0'],
        ['process Ready 1.0.0'],
      ])
      // Nothing of it can be committed by mistake, and nothing in the repository was changed.
      expect(execFileSync('git', ['-C', folder, 'status', '--porcelain', '--ignored=no'], { encoding: 'utf8' })).toBe(
        '',
      )
      expect(existsSync(join(folder, '.kubenode/repository'))).toBe(false)
    },
    CHAPTER_MS,
  )

  test(
    'a commit there rolls out there',
    async () => {
      commit({ 'fleet/cluster.json': '{ "nodes": 3, "provider": "static" }\n' }, 'three nodes')
      const { code, out } = await kubenode('local', 'status', '--wait', '--timeout', `${PATIENCE_MS / 1_000}s`)
      expect([code, out]).toEqual([0, expect.stringContaining('3/3 machines Ready')])
      expect(machines('hub')).toHaveLength(3)
    },
    CHAPTER_MS,
  )

  test(
    'a cluster with an unknown stage is refused, with the file and the fix, by lint and by the fleet',
    async () => {
      const good = readFileSync(join(folder, 'fleet/clusters.json'), 'utf8')
      commit({ 'fleet/clusters.json': good.replace('"prod"', '"production"') }, 'a slip')
      const wanted =
        /fleet\/clusters\.json: cluster eu-prod-7 has the unknown stage "production"; use one of test, prod, or add a stage/
      expect(await kubenode('lint', 'fleet')).toMatchObject({ code: 2, out: expect.stringMatching(wanted) as unknown })
      await until('the refusal is shown', () => wanted.test(said) || undefined, PATIENCE_MS)
    },
    CHAPTER_MS,
  )
})
