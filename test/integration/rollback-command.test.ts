// The command that `kubenode rollback` prints, run in repositories with many commits and merges: afterwards the fleet declares exactly what was wanted.
import { execFileSync } from 'node:child_process'
import { inFull } from '#test/support/tools/full.ts'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { seededRandom } from '#lib/random.ts'
import { openFleetHistory } from '#forecast/way-back/fleet-history.ts'
import { type DeclaredAt, type WayBack, revertCommand, wayBackTo } from '#forecast/way-back/revert-search.ts'
import { prepareWayBack } from '#forecast/way-back/prepare-way-back.ts'

const ENV = { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent' }
const AS = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgSign=false']
const folders: string[] = []
afterEach(() => folders.splice(0).forEach((f) => rmSync(f, { recursive: true, force: true })))

class Repo {
  readonly dir = mkdtempSync(join(tmpdir(), 'kubenode-rollback-test-'))
  #files = 0

  constructor() {
    folders.push(this.dir)
    this.git('init', '--quiet', '--initial-branch=main')
  }

  git(...args: readonly string[]): string {
    return execFileSync('git', [...AS, ...args], {
      cwd: this.dir,
      env: ENV,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  write(path: string, text: string): void {
    mkdirSync(join(this.dir, path, '..'), { recursive: true })
    writeFileSync(join(this.dir, path), text)
  }

  commit(path: string, text: string): void {
    this.write(path, text)
    this.git('add', '-A')
    this.git('commit', '--quiet', '--allow-empty', '-m', `${path} ${text.slice(0, 20)}`)
  }

  /** A change that no set shows. */
  other(): void {
    this.commit(`notes/${this.#files++}.txt`, 'note')
  }

  merge(change: () => void): void {
    const branch = `b-${this.#files++}`
    this.git('checkout', '--quiet', '-b', branch)
    change()
    this.git('checkout', '--quiet', 'main')
    this.git('merge', '--quiet', '--no-ff', '--no-edit', branch)
  }

  /** Runs the printed command, as a user does. */
  run(way: WayBack): void {
    const as = {
      ...ENV,
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@b',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@b',
    }
    const options = { cwd: this.dir, env: as, stdio: ['pipe', 'pipe', 'pipe'] as ['pipe', 'pipe', 'pipe'] }
    if (way.kind === 'Reverts') execFileSync('sh', ['-c', revertCommand(way.commits)], options)
    else if (way.kind === 'Patch') execFileSync('git', ['apply', '--index'], { ...options, input: way.text })
    else throw new Error(`nothing to run: ${way.kind}`)
  }

  get files(): string {
    this.git('add', '-A')
    return this.git('ls-files')
  }
}

/** Two components, in a file each. */
const versionIn = (repo: Repo, at: string, component: string): string | undefined => {
  try {
    return repo.git('show', `${at}:fleet/${component}`).trim()
  } catch {
    return undefined
  }
}
const textOf = (repo: Repo, at: string) =>
  JSON.stringify(['beacon', 'scribe'].map((c) => versionIn(repo, at, c) ?? null))
const declaredIn =
  (repo: Repo): DeclaredAt =>
  (commit, where) => {
    if (where === undefined) return Promise.resolve(JSON.parse(textOf(repo, commit)))
    const show = (path: string) => {
      try {
        return execFileSync('git', ['show', `${commit}:${path}`], {
          cwd: where.folder,
          env: ENV,
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        }).trim()
      } catch {
        return null
      }
    }
    return Promise.resolve(['beacon', 'scribe'].map((c) => show(`fleet/${c}`)))
  }

async function search(repo: Repo, wanted: string): Promise<WayBack> {
  const history = await openFleetHistory(repo.dir, ENV)
  try {
    return await wayBackTo(JSON.parse(wanted), history, declaredIn(repo))
  } finally {
    await history.close()
  }
}

const stateNow = (repo: Repo) => {
  repo.git('add', '-A')
  repo.git('commit', '--quiet', '--allow-empty', '-m', 'applied')
  return textOf(repo, 'HEAD')
}

describe('the printed command', () => {
  test.each(Array.from({ length: inFull(12, 1) }, (_, seed) => seed))(
    'gives exactly what was wanted after twenty commits and merges (seed %i)',
    async (seed) => {
      const random = seededRandom(seed)
      const repo = new Repo()
      repo.commit('fleet/beacon', '1.0.0\n')
      repo.commit('fleet/scribe', '1.0.0\n')
      const states = [textOf(repo, 'HEAD')]
      const bump = () => {
        const component = random.below(2) === 0 ? 'beacon' : 'scribe'
        repo.commit(`fleet/${component}`, `1.${random.below(4)}.0\n`)
      }
      for (let n = 0; n < 20; n++) {
        const kind = random.below(5)
        if (kind === 0) repo.other()
        else if (kind === 1) repo.merge(bump)
        else if (kind === 2)
          repo.merge(() => {
            bump()
            repo.other()
            bump()
          })
        else bump()
        states.push(textOf(repo, 'HEAD'))
      }
      const now = states.at(-1)
      const others = states.filter((s) => s !== now)
      const wanted = others[random.below(others.length)] ?? ''
      const way = await search(repo, wanted)
      const notes = repo.files.split('\n').filter((f) => f.startsWith('notes/'))
      repo.run(way)
      expect(stateNow(repo)).toBe(wanted)
      // What the set does not show stays.
      if (way.kind === 'Patch') expect(repo.files.split('\n').filter((f) => f.startsWith('notes/'))).toEqual(notes)
    },
    120_000,
  )

  test('names the commits that came after the wanted version, never the one that brought it', async () => {
    const repo = new Repo()
    for (const v of ['1.0.0', '1.1.0', '1.2.0']) repo.commit('fleet/beacon', `${v}\n`)
    const [head, brought] = repo.git('log', '--format=%H').trim().split('\n')
    const way = await search(repo, JSON.stringify(['1.1.0', null]))
    expect(way.kind === 'Reverts' && revertCommand(way.commits)).toBe(`git revert --no-edit ${head}`)
    expect(JSON.stringify(way)).not.toContain(brought)
  })

  test('is one revert, also where a cluster has joined the fleet since', async () => {
    const repo = new Repo()
    repo.commit('fleet/beacon', '1.0.0\n')
    repo.commit('fleet/beacon', '1.1.0\n')
    const [bad = ''] = repo.git('log', '--format=%H').trim().split('\n')
    // It has the version of the fleet: one file says it for both.
    repo.commit('fleet/joined', 'yes\n')
    repo.other()
    const history = await openFleetHistory(repo.dir, ENV)
    const both: DeclaredAt = async (commit, where) => {
      const [beacon = null] = (await declaredIn(repo)(commit, where)) ?? []
      const at = where?.folder ?? repo.dir
      const files = execFileSync('git', ['ls-tree', '--name-only', commit, 'fleet/'], {
        cwd: at,
        env: ENV,
        encoding: 'utf8',
      })
      return [beacon, files.includes('joined') ? beacon : null]
    }
    const way = await wayBackTo(['1.0.0', '1.0.0'], history, both)
    await history.close()
    expect(way.kind === 'Reverts' && way.commits.map((c) => c.id)).toEqual([bad])
  })

  test('reverts a merge with -m 1, and a revert of a revert where that is the way', async () => {
    const repo = new Repo()
    repo.commit('fleet/beacon', '1.0.0\n')
    repo.merge(() => repo.commit('fleet/beacon', '1.1.0\n'))
    const way = await search(repo, JSON.stringify(['1.0.0', null]))
    expect(way.kind === 'Reverts' && revertCommand(way.commits)).toMatch(/^git revert --no-edit -m 1 [0-9a-f]{40}$/)
    repo.run(way)
    const again = await search(repo, JSON.stringify(['1.1.0', null]))
    repo.run(again)
    expect(stateNow(repo)).toBe(JSON.stringify(['1.1.0', null]))
  })

  test('is a patch where reverts conflict', async () => {
    const repo = new Repo()
    repo.commit('fleet/beacon', '1.0.0\n')
    repo.commit('fleet/beacon', '1.1.0\n')
    repo.git('mv', 'fleet/beacon', 'fleet/moved')
    repo.git('commit', '--quiet', '-m', 'move')
    repo.write('fleet/moved', 'other\n')
    repo.commit('fleet/beacon', '1.1.0\n# a comment that the revert runs into\n')
    const way = await search(repo, JSON.stringify(['1.0.0', null]))
    repo.run(way)
    expect(stateNow(repo)).toBe(JSON.stringify(['1.0.0', null]))
  })

  test('is nothing when the newest commit declares it, or no commit does', async () => {
    const repo = new Repo()
    repo.commit('fleet/beacon', '1.0.0\n')
    expect((await search(repo, JSON.stringify(['1.0.0', null]))).kind).toBe('Declared')
    expect((await search(repo, JSON.stringify(['9.9.9', null]))).kind).toBe('None')
  })

  test('leaves the repository as it was', async () => {
    const repo = new Repo()
    for (const v of ['1.0.0', '1.1.0']) repo.commit('fleet/beacon', `${v}\n`)
    repo.write('fleet/beacon', 'not committed\n')
    const before = [repo.git('status', '--porcelain'), repo.git('for-each-ref'), repo.git('stash', 'list')]
    await search(repo, JSON.stringify(['1.0.0', null]))
    expect([repo.git('status', '--porcelain'), repo.git('for-each-ref'), repo.git('stash', 'list')]).toEqual(before)
  })
})

test('commits of a fleet are rendered, not guessed from their files', async () => {
  const repo = new Repo()
  const main = `import { App } from 'cdk8s'
import { ClusterChart, MachineComponentSet } from 'kubenode/constructs'
import { minor } from './version.ts'
const app = new App()
const chart = new ClusterChart(app, 'test')
const components = [{ name: 'beacon', version: \`1.\${minor}.0\` }]
new MachineComponentSet(chart, 'base', { spec: { selector: { matchLabels: { a: 'b' } }, components, rollout: {} } })
app.synth()
`
  repo.write('fleet/main.ts', main)
  for (const minor of [0, 1, 2]) repo.commit('fleet/version.ts', `export const minor: number = ${minor}\n`)
  const [head] = repo.git('log', '--format=%H').trim().split('\n')
  const components = (version: string) => [{ name: 'beacon', version }]
  const wish = {
    weakCage: 'allow' as const,
    set: 'base',
    now: components('1.2.0'),
    folder: repo.dir,
    path: '.',
    cluster: undefined,
    env: ENV,
  }
  const { way, clusters } = await prepareWayBack({ ...wish, wanted: components('1.1.0') })
  expect([clusters, way.kind === 'Reverts' && way.commits.map((c) => c.id)]).toEqual([['test'], [head]])
})
