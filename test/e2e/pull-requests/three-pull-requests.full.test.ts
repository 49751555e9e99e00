// The three pull requests that a fleet lives by: a version bump, a rule change, and the revert of the first. A bare git server, the steps of the jobs of deploy/ci
// as they are written, the merge, and the rollout stage by stage on real agents.
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { release, type Release } from '#api/kinds/release.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { chapters } from '#test/support/tools/chapters.ts'
import { until } from '#test/support/tools/processes.ts'
import { PATIENCE_MS, TestFleet } from '../whole-way/fleet.ts'
import { observe, type Observer } from '../whole-way/watching.ts'

const CLUSTERS = ['test', 'prod'] as const
const NODES = 2
const hasJq = spawnSync('jq', ['--version']).status === 0

let fleet: TestFleet
let home: string
let seen: ReadonlyMap<string, Observer>
let hub: KubeClient

interface Step {
  readonly run?: string
}
interface Workflow {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>>
}
/** The one step of a job that mentions this, as it is written. */
function stepOf(name: string, word: string): string {
  const { jobs } = parse(readFileSync(`deploy/ci/github/${name}.yml`, 'utf8')) as Workflow
  const found = Object.values(jobs).flatMap((j) => j.steps.filter((s) => s.run?.includes(word) === true))
  if (found.length !== 1) throw new Error(`${found.length} steps of ${name} with ${word}`)
  return found[0]?.run ?? ''
}

const git = (dir: string, ...args: readonly string[]): string =>
  execFileSync('git', ['-C', dir, '-c', 'user.name=dev', '-c', 'user.email=dev@example.org', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()
const forge = () => join(home, 'forge.git')
const dev = () => join(home, 'dev')

function program(name: string, text: string): void {
  mkdirSync(join(home, 'bin'), { recursive: true })
  writeFileSync(join(home, 'bin', name), text)
  chmodSync(join(home, 'bin', name), 0o755)
}

/** A job: its own folder, and nothing of this process but the PATH. */
function job(dir: string, script: string, env: Readonly<Record<string, string>>): void {
  const path = `${join(home, 'bin')}:${process.env['PATH'] ?? ''}`
  const done = spawnSync('bash', ['-e', '-c', script], {
    cwd: dir,
    encoding: 'utf8',
    timeout: PATIENCE_MS,
    env: { PATH: path, HOME: dir, ...env },
  })
  if (done.status !== 0) throw new Error(`the job ended with ${done.status}:\n${done.stdout}\n${done.stderr}`)
}

/** What GitHub answers to gh, and what was sent to it. */
const GH = `#!/bin/bash
echo "$*" >> "$HOME/calls"
case "$*" in
  *"--input -"*) cat >> "$HOME/calls" ;;
  *"/pulls "*) echo 7 ;;
esac
`

interface Reviewed {
  readonly comment: string
  readonly calls: string
  readonly plan: {
    readonly summary: string
    readonly predicted?: {
      readonly clusters: readonly { readonly cluster: string; readonly machines: readonly unknown[] }[]
    }
  }
}

/** The two jobs on the branch: the untrusted one renders and plans, the trusted one sees its artifact only. */
async function reviewed(branch: string): Promise<Reviewed> {
  const [untrusted, trusted] = [mkdtempSync(join(home, 'untrusted-')), mkdtempSync(join(home, 'trusted-'))]
  execFileSync('git', ['clone', '--quiet', '--branch', branch, forge(), join(untrusted, 'repo')])
  const repo = join(untrusted, 'repo')
  mkdirSync(join(repo, 'inventory'), { recursive: true })
  for (const cluster of CLUSTERS) {
    const { code, out } = await fleet.run(
      `bin/kubenode inventory export --kubeconfig ${fleet.kubeconfig(cluster)} > ${join(repo, 'inventory', `${cluster}.json`)}`,
    )
    if (code !== 0) throw new Error(out)
  }
  const head = git(repo, 'rev-parse', 'HEAD')
  // As the forge merges it before the jobs run.
  git(repo, 'checkout', '--quiet', '--detach', 'origin/main')
  git(repo, 'merge', '--quiet', '--no-ff', '-m', `Merge ${branch}`, head)
  job(repo, stepOf('plan', 'kubenode plan'), { MERGED: git(repo, 'rev-parse', 'HEAD') })
  cpSync(join(repo, 'plan'), join(trusted, 'plan'), { recursive: true })
  job(trusted, stepOf('plan-comment', 'gh api'), {
    GH_TOKEN: 'none',
    REPO: 'acme/fleet',
    SHA: head,
    OWNER: 'dev',
    BRANCH: branch,
    CONCLUSION: 'success',
    LINK: 'https://example.org/run',
  })
  return {
    comment: readFileSync(join(trusted, 'plan/plan.md'), 'utf8'),
    calls: readFileSync(join(trusted, 'calls'), 'utf8'),
    plan: JSON.parse(readFileSync(join(trusted, 'plan/plan.json'), 'utf8')) as Reviewed['plan'],
  }
}

/** Merged on the server; the repository that the hub follows gets it from there. */
function merged(branch: string): string {
  git(dev(), 'checkout', '--quiet', 'main')
  git(dev(), 'merge', '--quiet', '--no-ff', '-m', `Merge ${branch}`, branch)
  git(dev(), 'push', '--quiet', 'origin', 'main')
  git(fleet.repository, 'pull', '--quiet', '--ff-only', forge(), 'main')
  return git(dev(), 'rev-parse', 'HEAD')
}

function pullRequest(branch: string, change: () => void): void {
  git(dev(), 'checkout', '--quiet', '-b', branch, 'main')
  change()
  git(dev(), 'push', '--quiet', 'origin', branch)
}

function edit(file: string, change: (text: string) => string): void {
  const path = join(dev(), file)
  const [before, after] = [readFileSync(path, 'utf8'), change(readFileSync(path, 'utf8'))]
  expect(after).not.toBe(before)
  writeFileSync(path, after)
}

const releasesOf = async (commit: string): Promise<readonly Release[]> =>
  (await hub.list(release, { namespace: SYSTEM_NAMESPACE })).items.filter((r) => r.spec.commit === commit)

/** Done in every stage, and no stage began before the one before was done. */
async function rolledOut(commit: string): Promise<readonly Release[]> {
  const done = await until(
    `${commit.slice(0, 12)} is rolled out`,
    async () => {
      const all = await releasesOf(commit)
      return all.length > 0 && all.every((r) => r.status?.phase === 'Succeeded') ? all : undefined
    },
    PATIENCE_MS,
  )
  for (const { status } of done) {
    const stages = (status?.stages ?? []).filter((s) => s.startedAt !== undefined)
    for (const [n, stage] of stages.entries()) {
      const before = stages[n - 1]
      if (before !== undefined)
        expect(Date.parse(stage.startedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(before.finishedAt ?? ''))
    }
  }
  return done
}

const versionsIn = (cluster: string): readonly (string | undefined)[] =>
  (seen.get(cluster)?.machines() ?? []).map((m) => m.status?.components?.find((c) => c.name === 'beacon')?.version)
const everywhere = (version: string) => CLUSTERS.map(() => Array.from({ length: NODES }, () => version))

beforeAll(async () => {
  if (!hasJq) return
  home = mkdtempSync(join(tmpdir(), 'kubenode-pulls-'))
  fleet = new TestFleet()
  fleet.start('--nodes', String(NODES))
  await fleet.settled()
  seen = new Map(CLUSTERS.map((name) => [name, observe(fleet.kubeconfig(name))]))
  hub = observe(fleet.kubeconfig('hub')).client
  execFileSync('git', ['clone', '--quiet', '--bare', fleet.repository, forge()])
  execFileSync('git', ['clone', '--quiet', forge(), dev()])
  program('npx', `#!/bin/bash\n[ "$1" = kubenode ] && shift\nexec ${fleet.checkout}/bin/kubenode "$@"\n`)
  program('gh', GH)
}, PATIENCE_MS)

afterAll(async () => {
  for (const observer of seen?.values() ?? []) await observer.stop()
  await fleet?.dispose()
  if (home !== undefined) rmSync(home, { recursive: true, force: true })
})

describe('three pull requests', { timeout: 2 * PATIENCE_MS }, () => {
  chapters()
  let bump = ''

  test('a version bump: the plan names the machines, and the merge changes exactly those, stage by stage', async ({
    skip,
  }) => {
    if (!hasJq) skip('jq is not installed')
    await until(
      'beacon 1.0.0 runs',
      () => CLUSTERS.every((c) => versionsIn(c).every((v) => v === '1.0.0')) || undefined,
      PATIENCE_MS,
    )
    pullRequest('beacon-1.1.0', () => {
      edit('fleet/clusters/versions.json', (text) => text.replace('"beacon": "1.0.0"', '"beacon": "1.1.0"'))
      git(dev(), 'commit', '--quiet', '-am', 'beacon 1.1.0')
    })
    const { comment, calls, plan } = await reviewed('beacon-1.1.0')
    expect(comment.split('\n')[0]).toBe('<!-- kubenode-plan -->')
    expect(comment).toMatch(/beacon.*1\.0\.0.*1\.1\.0/s)
    expect(comment).toMatch(/4 machines/)
    expect(calls).toMatch(/issues\/7\/comments -F body=@\/\S+/)
    expect(calls).toContain(plan.summary)
    const promised = new Map(plan.predicted?.clusters.map((c) => [c.cluster, c.machines.length]))
    bump = merged('beacon-1.1.0')
    await rolledOut(bump)
    expect(CLUSTERS.map(versionsIn)).toEqual(everywhere('1.1.0'))
    expect(CLUSTERS.map((c) => promised.get(c))).toEqual(CLUSTERS.map((c) => versionsIn(c).length))
  })

  test('a rule change: no machine is touched, and none is', async () => {
    const attempts = () =>
      CLUSTERS.flatMap(
        (c) =>
          seen
            .get(c)
            ?.machines()
            .map((m) => m.status?.components?.map((x) => x.attempt)) ?? [],
      )
    const before = attempts()
    pullRequest('slower-repairs', () => {
      edit('rules/node/not-ready.ts', (text) => text.replace("cooldown: '15m'", "cooldown: '20m'"))
      git(dev(), 'commit', '--quiet', '-am', 'rules: wait longer between two repairs of a node')
    })
    const { comment, plan } = await reviewed('slower-repairs')
    expect(comment).toMatch(/no machine is touched/i)
    expect(comment).toMatch(/NodeRemedier/)
    expect(plan.predicted?.clusters.flatMap((c) => c.machines)).toEqual([])
    await rolledOut(merged('slower-repairs'))
    expect(attempts()).toEqual(before)
  })

  test('git revert of the bump: the plan says the way back, the merge goes it, and the history has all three', async () => {
    pullRequest('revert-beacon', () => void git(dev(), 'revert', '--no-edit', '-m', '1', bump))
    const { comment } = await reviewed('revert-beacon')
    expect(comment).toMatch(/beacon.*1\.1\.0.*1\.0\.0/s)
    const back = merged('revert-beacon')
    await rolledOut(back)
    expect(CLUSTERS.map(versionsIn)).toEqual(everywhere('1.0.0'))
    const history = await fleet.run(`bin/kubenode history --kubeconfig ${fleet.kubeconfig('hub')}`)
    expect(history.code).toBe(0)
    for (const commit of [bump, back]) expect(history.out).toContain(commit.slice(0, 12))
    const ofProd = await fleet.run(`bin/kubenode history cluster/prod --kubeconfig ${fleet.kubeconfig('hub')}`)
    expect(ofProd.out).toMatch(new RegExp(`${back.slice(0, 12)}.*(Healthy|Unchanged)`))
    const diff = await fleet.run(`${fleet.checkout}/bin/kubenode diff ${bump}..${back} --cluster prod`, dev())
    expect(diff.out).toMatch(/^- +version: 1\.1\.0\n\+ +version: 1\.0\.0/m)
  })
})
