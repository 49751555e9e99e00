// The repairs and the detection of a repository that init made: what is enforced, what may be, and what lint and plan report when the two do not fit.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { run } from '#cli/program.ts'
import { proposeEdits } from '#console/repository/propose.ts'
import { enforceStep } from '#console/repository/steps.ts'
import { initFleet } from '#install/init/init.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { findCage } from '#sync/render/cage.ts'
import { renderCommit } from '#sync/render/render.ts'
import { processRenderer } from '#sync/render/renderer.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'

let scratch = ''
let made = ''
const repositories: GitFolder[] = []

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'kubenode-own-rules-'))
  made = join(scratch, 'made')
  await initFleet(
    { dir: made, cluster: 'prod', key: join(scratch, 'key.pem'), force: false },
    {
      cwd: scratch,
      env: process.env,
      now: Date.now(),
      pack: async (folder) => ({ file: join(folder, 'none.tgz'), bytes: 0, integrity: '', entries: {} }),
    },
  )
})
afterEach(() => {
  for (const repository of repositories.splice(0)) repository.remove()
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

function repositoryOf(): GitFolder {
  const into = new GitFolder()
  repositories.push(into)
  cpSync(made, into.dir, { recursive: true, filter: (path) => !path.endsWith('.git') })
  return into
}

const CAGE = ['--weak-cage', 'allow'] as const

async function inside(repository: GitFolder, ...argv: readonly string[]) {
  let [out, err] = ['', '']
  const io = {
    out: (t: string) => void (out += t),
    err: (t: string) => void (err += t),
    cwd: repository.dir,
    env: { PATH: process.env['PATH'] ?? '' },
    isTerminal: false,
  }
  return { code: await run(argv, io), out, err }
}

test('no repair that a new fleet enforces takes a node or a healthy component away', async () => {
  const repository = repositoryOf()
  const commit = repository.commit({})
  const { targets } = await renderCommit(commit, {
    repository: openLocalRepository(repository.dir),
    renderer: processRenderer(await findCage('allow')),
  })
  const rules = [...targets.values()].flatMap(({ objects }) =>
    objects.flatMap(({ object }) => (object.kind === 'NodeRemedier' ? [object as NodeRemedier] : [])),
  )
  const enforced = rules.filter(({ spec }) => spec.mode !== 'DryRun')
  expect(enforced.map((r) => r.metadata.name ?? '').toSorted()).toEqual([
    'certificate-expiry',
    'clock-skewed',
    'disk-filling-up',
    'disk-pressure',
    'disk-space-low',
    'hardware-alarm',
    'inodes-low',
    'kubelet-unhealthy',
    'memory-degraded',
    'runtime-unhealthy',
    'storage-degraded',
    'unwell-hello',
  ])
  const used = enforced.flatMap(({ metadata, spec }) =>
    spec.ladder.flatMap((rung) => rung.operations.flatMap(Object.keys)).map((o) => `${metadata.name}: ${o}`),
  )
  // What `unwell-hello` installs again is a component that does not serve: its rule reads that component's own condition.
  expect(used.filter((u) => !/: (collectEvidence|reportFault|cleanDisk|restartComponent)$/.test(u))).toEqual([
    'unwell-hello: reinstallComponent',
  ])
})

describe('detection that does not fit the rules', () => {
  const withAgents = (config: object) => {
    const repository = repositoryOf()
    repository.commit({ 'fleet/agent.json': JSON.stringify(config) })
    return repository
  }

  test('a rule that can never fire is a warning of lint and plan, with what switched its condition off', async () => {
    const repository = withAgents({ detectors: { crashLoops: false } })
    for (const command of [['lint', 'fleet'], ['plan'], ['plan', '--output', 'markdown']]) {
      const { code, out, err } = await inside(repository, ...command, ...CAGE)
      expect(code, command.join(' ')).toBe(0)
      expect((out + err).replaceAll('\\', ''), command.join(' ')).toMatch(
        /KN3066: .*rule crash-looping can never fire: nothing in this fleet sets condition ComponentCrashLooping \(agent\.json switches detector crashLoops off\)/,
      )
    }
  })

  test('a condition without a rule is a note of lint and plan, and no warning for a reviewer', async () => {
    const rules = [{ condition: 'LampDark', reason: 'NoLight', pattern: 'lamp: dark' }]
    const repository = withAgents({ logs: [{ path: '/var/log/messages', rules }] })
    const lint = await inside(repository, 'lint', 'fleet', ...CAGE)
    expect(lint.out).toMatch(/: note: KN3077: .*condition LampDark has no rule/)
    expect(lint.err).toMatch(/0 problems, 1 note/)
    const plan = await inside(repository, 'plan', ...CAGE)
    expect(plan.err).toMatch(/note: KN3077: /)
    expect((await inside(repository, 'plan', '--output', 'markdown', ...CAGE)).out).not.toContain('KN3077')
    expect([lint.code, plan.code]).toEqual([0, 0])
  })
})

test('rules enforce finds the one edit that lets a dry-run rule of a new fleet repair', async () => {
  const repository = repositoryOf()
  repository.commit({})
  let [out, err] = ['', '']
  const found = await proposeEdits(
    { what: 'it enforces', subject: 'rules: enforce', steps: [enforceStep({ rule: 'tasks-hung', stage: undefined })] },
    { path: '.', weakCage: 'allow' },
    {
      out: (t) => void (out += t),
      err: (t) => void (err += t),
      cwd: repository.dir,
      env: { PATH: process.env['PATH'] },
      isTerminal: false,
    },
  )
  expect(found, err).toBe(true)
  expect(out).toMatch(/^-.*tasksHung, mode: 'DryRun'/m)
})
