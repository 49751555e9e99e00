import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DATA_FORMAT, layoutOf, readState, writeState } from './layout.ts'
import { isLocked, takeLock } from './lock.ts'
import { portsFor } from './ports.ts'
import { newestCommit } from './repository.ts'
import { createScreen } from '#lib/terminal/screen.ts'
import { componentsLine } from '#explain/progress/progress.ts'
import type { ClusterSeen, FleetSeen } from '#explain/progress/seen.ts'
import { stuckWhy } from '#explain/progress/stuck.ts'
import { silentMachines, unmet } from '#explain/progress/unmet.ts'
import { summaryLines } from './summary.ts'

let dir = ''
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'kubenode-local-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

describe('the data folder', () => {
  test('a new folder remembers nothing, a used one its ports', () => {
    const layout = layoutOf(dir)
    expect(readState(layout)).toBeUndefined()
    writeState(layout, { format: DATA_FORMAT, ports: { hub: 1 } })
    expect(readState(layout)?.ports).toEqual({ hub: 1 })
  })

  test('a copy of one is refused, and so is one that was moved', () => {
    const [from, to] = [join(dir, 'from'), join(dir, 'to')]
    mkdirSync(from)
    writeState(layoutOf(from), { format: DATA_FORMAT, ports: { hub: 1 } })
    cpSync(from, to, { recursive: true })
    expect(() => readState(layoutOf(to))).toThrow(
      /^KN1202: cannot use .*to: it was copied or moved from .*from, .*--reset/,
    )
    expect(readState(layoutOf(from))?.ports).toEqual({ hub: 1 })
    symlinkSync(from, join(dir, 'link'))
    expect(readState(layoutOf(join(dir, 'link')))?.ports).toEqual({ hub: 1 })
  })

  test.each<[string, (at: string) => void, RegExp]>([
    ['one of another user', (at) => mkdirSync(join(at, 'photos')), /^KN1203: cannot use .*photos/],
    [
      'one of another version',
      (at) => writeFileSync(join(at, 'fleet.json'), '{"format":99,"ports":{}}'),
      /^KN1202: .*format is 99.*--reset/,
    ],
    ['a broken one', (at) => writeFileSync(join(at, 'fleet.json'), '{'), /^KN1202: cannot read/],
  ])('%s is refused and left as it is', (_name, prepare, message) => {
    prepare(dir)
    expect(() => readState(layoutOf(dir))).toThrow(message)
  })
})

test('the newest commit is the same however git keeps the branch', async () => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', dir, '-c', 'user.name=x', '-c', 'user.email=x@example.org', ...args])
      .toString()
      .trim()
  git('init', '--quiet', '-b', 'main')
  git('commit', '--quiet', '--allow-empty', '-m', 'one')
  const commit = git('rev-parse', 'HEAD')
  expect(await newestCommit({ repository: dir, follows: undefined })).toBe(commit)
  git('pack-refs', '--all')
  expect(await newestCommit({ repository: dir, follows: undefined })).toBe(commit)
  git('checkout', '--quiet', '--detach')
  git('commit', '--quiet', '--allow-empty', '-m', 'two')
  const follows = { repository: dir, path: '.' }
  expect(await newestCommit({ repository: dir, follows })).toBe(git('rev-parse', 'HEAD'))
})

test('a folder below /proc is refused, not tried for ever', () => {
  expect(() => takeLock({ lock: '/proc/kubenode/lock.db', holder: '/proc/kubenode/lock' })).toThrow(
    /^KN1205: cannot write to/,
  )
})

test('a repository that was moved away is not taken for a missing git', async () => {
  const gone = join(dir, 'moved/fleet')
  await expect(newestCommit({ repository: gone, follows: undefined })).rejects.toThrow(
    `KN1222: cannot read ${gone}: it does not exist`,
  )
  await expect(newestCommit({ repository: dir, follows: undefined })).rejects.toThrow(
    /^KN1209: cannot read the newest commit of .*: fatal: not a git repository/,
  )
})

describe('the lock', () => {
  const files = () => ({ lock: join(dir, 'lock.db'), holder: join(dir, 'lock') })

  /** A separate start, which tries at once and exits when its input ends. */
  function start(): ChildProcess {
    const code = `import { takeLock } from ${JSON.stringify(join(import.meta.dirname, 'lock.ts'))}
      try { takeLock(${JSON.stringify(files())}); process.stdout.write('held') } catch (e) { process.stdout.write(e.message) }
      process.stdin.resume()`
    return spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['pipe', 'pipe', 'inherit'] })
  }
  const answer = async (child: ChildProcess) => String((await once(child.stdout as Readable, 'data'))[0])
  const ended = async (child: ChildProcess) => (child.kill('SIGKILL'), once(child, 'exit'))

  test('a second holder is refused with the pid of the first', () => {
    const unlock = takeLock(files())
    expect(isLocked(files())).toBe(true)
    expect(() => takeLock(files())).toThrow(new RegExp(`^KN1201: .*pid ${process.pid}`))
    unlock()
    expect(isLocked(files())).toBe(false)
    takeLock(files())()
    expect(existsSync(files().holder)).toBe(false)
  })

  test('of several starts at the same moment one gets it, and a kill frees it', async () => {
    const children = Array.from({ length: 4 }, start)
    try {
      const answers = await Promise.all(children.map(answer))
      expect(answers.filter((text) => text === 'held').length).toBe(1)
      expect(answers.filter((text) => text.startsWith('KN1201')).length).toBe(3)
      expect(isLocked(files())).toBe(true)
    } finally {
      await Promise.all(children.map(ended))
    }
    expect(isLocked(files())).toBe(false)
    takeLock(files())()
  })

  test('looking at the lock keeps no start away', async () => {
    const look = setInterval(() => isLocked(files()), 1)
    const child = start()
    try {
      expect(await answer(child)).toBe('held')
    } finally {
      clearInterval(look)
      await ended(child)
    }
  })

  test('a file that names a process is only for people', () => {
    writeFileSync(files().holder, `${process.pid}\n`)
    expect(isLocked(files())).toBe(false)
    takeLock(files())()
  })

  test('a folder that cannot be written is a numbered error', () => {
    writeFileSync(join(dir, 'file'), '')
    expect(() => takeLock({ lock: join(dir, 'file/lock.db'), holder: join(dir, 'file/lock') })).toThrow(
      /^KN1205: cannot write to/,
    )
  })
})

test('a port that another program took since is named', async () => {
  const server = createServer()
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', () => done()))
  const { port } = server.address() as { port: number }
  await expect(portsFor(['hub'], { hub: port })).rejects.toThrow(new RegExp(`^KN1206: .*hub: port ${port} is in use`))
  await new Promise((done) => server.close(done))
  expect((await portsFor(['hub'], { hub: port }))['hub']).toBe(port)
})

const machine = (name: string, phase: string, versions: Record<string, string>) => ({
  apiVersion: 'kubenode.io/v1alpha1' as const,
  kind: 'Machine' as const,
  metadata: { name },
  spec: { channel: 'Agent' as const },
  status: {
    phase,
    components: Object.entries(versions).map(([c, version]) => ({ name: c, version, state: 'Healthy', since: '' })),
  },
})

const cluster = (more: object = {}): ClusterSeen =>
  ({
    name: 'test',
    isReachable: true,
    machines: [machine('a', 'Ready', { beacon: '1.1.0' }), machine('b', 'Ready', { beacon: '1.0.0' })],
    machineSets: [{ metadata: { name: 'workers' }, spec: { replicas: 2 } }],
    sets: [
      { metadata: { name: 'base' }, status: { phase: 'Complete', conditions: [{ type: 'Ready', status: 'True' }] } },
    ],
    jobs: [],
    lastHeartbeats: new Map(),
    ...more,
  }) as unknown as ClusterSeen

const COMMIT = 'a'.repeat(40)
const fleet = (c: ClusterSeen = cluster(), hub: object = {}): FleetSeen =>
  ({
    hub: {
      isReachable: true,
      sources: [{ metadata: { name: 'fleet' }, status: { commit: COMMIT, conditions: [] } }],
      releases: [
        { metadata: { name: 'r', creationTimestamp: '1' }, spec: { commit: COMMIT }, status: { phase: 'Succeeded' } },
      ],
      ...hub,
    },
    clusters: [c],
  }) as unknown as FleetSeen

describe('waiting ends where no time helps', () => {
  const stalled = [{ type: 'Stalled', status: 'True', reason: 'StageFailed', message: 'test failed' }]
  const release = (status: object, commit = COMMIT) => ({ metadata: { name: 'r' }, spec: { commit }, status })
  const source = (status: object) => ({ metadata: { name: 'fleet' }, status: { commit: COMMIT, ...status } })
  const bad = (type: string, reason: string) => [
    { type, status: 'False', reason, message: 'no' },
    { type: 'Ready', status: 'False', reason, message: 'no' },
  ]
  test.each<readonly [string, object, string | undefined]>([
    ['a release goes on', { releases: [release({ phase: 'Progressing' })] }, undefined],
    [
      'its release is Paused and needs a person',
      { releases: [release({ phase: 'Paused', conditions: stalled })] },
      'release r is Paused and needs manual intervention: kubenode why release/r',
    ],
    ['a hold pauses its release until it ends', { releases: [release({ phase: 'Paused' })] }, undefined],
    [
      'only the release of an older commit is stopped',
      { releases: [release({ phase: 'Paused', conditions: stalled }, 'b'.repeat(40))] },
      undefined,
    ],
    [
      'the commit does not render',
      { sources: [source({ subject: 'beacon 1.1.0', revert: 'Commit', conditions: bad('Rendered', 'RenderFailed') })] },
      'commit aaaaaaaaaaaa "beacon 1.1.0" is refused; a commit corrects it, or takes it back: git revert --no-edit aaaaaaaaaaaa',
    ],
    [
      'an older commit did not render',
      { sources: [source({ commit: 'b'.repeat(40), conditions: bad('Rendered', 'RenderFailed') })] },
      undefined,
    ],
    [
      'the commit is still being rendered',
      { sources: [source({ conditions: bad('Rendered', 'Progressing') })] },
      undefined,
    ],
    [
      'the commit cannot be rendered at the moment',
      { sources: [source({ conditions: bad('Rendered', 'RenderUnavailable') })] },
      undefined,
    ],
    [
      'no signer of the commit is trusted',
      {
        sources: [
          source({
            commit: 'b'.repeat(40),
            subject: 'the one before',
            refused: { commit: COMMIT },
            conditions: bad('SourceVerified', 'UnverifiedCommit'),
          }),
        ],
      },
      'commit aaaaaaaaaaaa is refused; a commit of a trusted signer follows: kubenode why source/fleet',
    ],
    ['the repository does not answer', { sources: [source({ conditions: bad('Fetched', 'FetchFailed') })] }, undefined],
    [
      'the hub does not answer',
      { isReachable: false, releases: [release({ phase: 'Paused', conditions: stalled })] },
      undefined,
    ],
  ])('%s', (_, hub, why) => {
    expect(stuckWhy(fleet(cluster(), hub), COMMIT)).toBe(why)
  })
})

describe('the summary', () => {
  test('what needs attention has lines in the words of why and Home, worst first', () => {
    const matching = [{ node: 'n-1', since: '', reason: 'LadderExhausted', waitingFor: '3 of 3 rungs were tried' }]
    const remediers = [{ metadata: { name: 'silent' }, spec: {}, status: { matching } }]
    const unblock = 'run git revert --no-edit aaaaaaaaaaaa && git push'
    const stages = [
      {
        name: 'test',
        phase: 'Failed',
        waitingFor: { predicate: 'StageFailed', seen: '1 of 1 cluster failed', unblock },
      },
      { name: 'prod', phase: 'Waiting' },
    ]
    const sources = [
      { metadata: { name: 'fleet' }, spec: { url: '/home/ada/fleet' }, status: { commit: COMMIT, conditions: [] } },
    ]
    const stopped = [{ program: 'defender', since: 1 }]
    const releases = [{ metadata: { name: 'r' }, spec: { commit: COMMIT }, status: { phase: 'Paused', stages } }]
    const lines = summaryLines(fleet(cluster({ remediers, stopped }), { releases, sources }), 0)
    expect(lines.filter((l) => l.includes('attention'))).toEqual([
      'test     attention  the Defender is away: no permit is granted, so disruptions do not begin; kubenode check --context test',
      'hub      attention  release/r is Paused: 1 of 1 cluster failed; git revert --no-edit aaaaaaaaaaaa',
      'test     attention  node/n-1 not repaired by rule silent (ladder exhausted): 3 of 3 rungs were tried; kubenode repair node/n-1 --reason WHY --context test',
    ])
  })

  test('a program that stopped with the whole fleet starts; one that stopped later, or starts too long, needs attention', () => {
    const attention = (since: number, at: number) =>
      summaryLines({ ...fleet(cluster({ stopped: [{ program: 'defender', since }] })), at }, 10_000).filter((l) =>
        l.includes('attention'),
      ).length
    expect([attention(9_000, 20_000), attention(11_000, 20_000), attention(9_000, 50_000)]).toEqual([0, 1, 1])
  })

  test('of many things that need attention the worst are named, and the rest counted', () => {
    const sets = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => ({
      metadata: { name },
      status: { phase: 'Blocked' },
    }))
    const lines = summaryLines(fleet(cluster({ sets })), 0).filter((l) => l.includes('attention'))
    expect(lines).toHaveLength(6)
    expect(lines.at(-1)).toBe('         attention  and 2 more: kubenode why')
  })

  test('versions are counted, the most frequent first', () => {
    expect(
      componentsLine([
        machine('a', 'Ready', { b: '2' }),
        machine('b', 'Ready', { b: '1' }),
        machine('c', 'Ready', { b: '1', a: '3' }),
      ] as never),
    ).toBe('a 3 ×1   b 1 ×2, 2 ×1')
  })

  test('a quiet fleet is two lines', () => {
    expect(summaryLines(fleet(), 0)).toEqual([
      'hub    commit aaaaaaaaaaaa: Succeeded',
      'test   2/2 machines Ready   beacon 1.1.0 ×1, 1.0.0 ×1',
    ])
    expect(unmet(fleet(), COMMIT)).toEqual([])
  })

  test('clusters are listed in the order of their stages', () => {
    const stages = ['test', 'prod'].map((name) => ({ name, phase: 'Succeeded' }))
    const releases = [{ metadata: { name: 'r' }, spec: { commit: COMMIT }, status: { phase: 'Succeeded', stages } }]
    const clusters = ['prod', 'test', 'lab'].map((name) => ({
      metadata: { name, namespace: 'kubenode-system' },
      spec: { stage: name, controlPlane: { version: '1.36' } },
    }))
    const seen = {
      ...fleet(cluster(), { releases, clusters }),
      clusters: ['lab', 'prod', 'test'].map((name) => cluster({ name })),
    }
    expect(summaryLines(seen, 0).flatMap((l) => /^(\w+) +2\/2/.exec(l)?.[1] ?? [])).toEqual(['test', 'prod', 'lab'])
  })

  test('the columns of clusters with longer names are aligned', () => {
    const lines = summaryLines({ ...fleet(), clusters: [cluster({ name: 'eu-prod-7' }), cluster({ name: 'lab' })] }, 0)
    const at = lines.flatMap((line) => (line.includes('machines Ready') ? [line.indexOf('2/2')] : []))
    expect(at).toEqual([10, 10])
  })

  test('also with names of previews, and with longer ones, which lose their middle', () => {
    const preview = 'fleet.pv-preview-feature-one-0123456789'
    const names = [preview, `fleet.pv-preview-${'a-long-branch-'.repeat(3)}0123456789`, 'lab']
    const lines = summaryLines({ ...fleet(), clusters: names.map((name) => cluster({ name })) }, 0)
    const shown = lines.filter((line) => line.includes('machines Ready'))
    expect(shown.map((line) => line.slice(0, line.indexOf('2/2')))).toEqual([
      'fleet.pv-preview-a-long-bra…h-0123456789 ',
      `${preview}  `,
      `${'lab'.padEnd(40)} `,
    ])
  })

  test('of two releases within one second the newer one is shown, in whatever order they are listed', () => {
    const of = (name: string, commit: string, phase: string, previous: object = {}) => ({
      metadata: { name, namespace: 'kubenode-system', creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: { commit: commit.repeat(40), ...previous },
      status: { phase },
    })
    const both = [of('r-a', 'a', 'Superseded'), of('r-b', 'b', 'Progressing', { previous: 'r-a' })]
    const shown = (releases: readonly object[]) => summaryLines(fleet(cluster(), { releases }), 0).join('\n')
    for (const releases of [both, both.toReversed()])
      expect(shown(releases)).toContain('commit bbbbbbbbbbbb: Progressing')
  })

  test('a newest commit that needs no release is named beside the release before it', () => {
    const sources = [
      {
        metadata: { name: 'fleet' },
        status: {
          commit: 'b'.repeat(40),
          subject: 'tidy',
          author: 'Ada',
          conditions: [{ type: 'Ready', status: 'True' }],
        },
      },
    ]
    expect(summaryLines(fleet(cluster(), { sources }), 0)[1]).toBe(
      'hub      newest   commit bbbbbbbbbbbb "tidy" by Ada is in force; it changes nothing in the clusters, so it has no release',
    )
    const unread = sources.map((s) => ({ ...s, status: { ...s.status, conditions: [] } }))
    expect(summaryLines(fleet(cluster(), { sources: unread }), 0).join('\n')).not.toContain('newest')
  })

  test('a commit that was read and has no release yet is waited for, whatever the release before it did', () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Progressing' }]
    const status = { commit: 'b'.repeat(40), conditions }
    const seen = fleet(cluster(), { sources: [{ metadata: { name: 'fleet' }, status }] })
    expect(unmet(seen, 'b'.repeat(40))).toEqual(['commit bbbbbbbbbbbb has been read; its release comes next'])
  })

  test('deletions that wait for a person are said, and the fleet is not as git says', () => {
    const message = 'hub: 2 of 9 objects would be deleted; to allow it: kubenode approve source/fleet (digest abc)'
    const status = {
      commit: 'b'.repeat(40),
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'PruneBlocked', status: 'True', message },
      ],
      prunes: [{ name: 'hub', held: { count: 2, digest: 'abc' } }],
    }
    const seen = fleet(cluster(), { sources: [{ metadata: { name: 'fleet' }, status }] })
    expect(summaryLines(seen, 0)).toContain(
      'hub      attention  source/fleet waits for an approval: hub: 2 of 9 objects would be deleted; kubenode approve source/fleet --reason WHY --context hub',
    )
    expect(summaryLines(seen, 0).join('\n')).not.toContain('in force')
    expect(unmet(seen, 'b'.repeat(40))).toContain(`deletions wait for a person: ${message}`)
  })

  test('a machine whose agent has not reported since the start is not shown as Ready', () => {
    const lastHeartbeats = new Map([
      ['a', 2_000],
      ['b', 999],
    ])
    expect(summaryLines(fleet(cluster({ lastHeartbeats })), 1_000)[1]).toBe(
      'test   1/2 machines Ready   beacon 1.1.0 ×1, 1.0.0 ×1   1 agent has not reported since the start',
    )
  })

  test.each<[string, FleetSeen, string]>([
    [
      'a machine that is not Ready',
      fleet(cluster({ machines: [machine('a', 'Joining', {})] })),
      'test: 0 of 2 machines are Ready',
    ],
    [
      'a set that rolls out',
      fleet(cluster({ sets: [{ metadata: { name: 'base' }, status: { conditions: [] } }] })),
      'test: set base is not rolled out',
    ],
    [
      'a machine of a removed pool that still drains',
      fleet(
        cluster({
          machines: ['a', 'b', 'c'].map((name) => ({
            ...machine(name, 'Ready', {}),
            metadata: { name, ...(name === 'c' && { deletionTimestamp: '2026-01-31T12:00:00Z' }) },
          })),
        }),
      ),
      'test: 1 machine is being deleted',
    ],
    ['an open repair', fleet(cluster({ jobs: [{ status: { phase: 'Running' } }] })), 'test: 1 repair is open'],
    ['a cluster that is away', fleet(cluster({ isReachable: false })), 'test does not answer'],
    ['a hub that is away', fleet(cluster(), { isReachable: false }), 'the hub is not responding'],
    [
      'a commit that was not seen',
      fleet(cluster(), { sources: [{ status: { commit: 'b'.repeat(40) } }] }),
      'commit aaaaaaaaaaaa has not been read yet',
    ],
    [
      'a commit after one that did not render',
      fleet(cluster(), {
        sources: [
          {
            status: {
              commit: 'b'.repeat(40),
              conditions: [{ type: 'Rendered', status: 'False', reason: 'RenderFailed', message: 'no' }],
            },
          },
        ],
      }),
      'commit aaaaaaaaaaaa has not been read yet',
    ],
    [
      'a release on its way',
      fleet(cluster(), {
        releases: [{ metadata: { name: 'r' }, spec: { commit: COMMIT }, status: { phase: 'Progressing' } }],
      }),
      'release r is Progressing',
    ],
    [
      'a release whose objects are refused',
      fleet(cluster(), {
        releases: [
          {
            metadata: { name: 'r' },
            spec: { commit: COMMIT },
            status: { phase: 'Progressing', waitingFor: { predicate: 'ApplyFailed', seen: 'test: KN4005' } },
          },
        ],
      }),
      'release r is Progressing: test: KN4005',
    ],
    [
      'a release that was deleted, when an older one succeeded',
      fleet(cluster(), { sources: [{ status: { commit: COMMIT, tracks: [{ name: 'fleet', release: 'fleet-b' }] } }] }),
      'release fleet-b was deleted; sync creates it again',
    ],
    [
      'an edit by hand, also one that a hold allows',
      fleet(
        cluster({
          sets: [
            {
              metadata: { name: 'base' },
              status: {
                conditions: [
                  { type: 'Ready', status: 'True' },
                  { type: 'UncommittedChange', status: 'True', message: 'edited: content a differs from git (b)' },
                ],
              },
            },
          ],
        }),
      ),
      'test: set/base was edited: content a differs from git (b)',
    ],
    [
      'a commit that does not render',
      fleet(cluster(), {
        sources: [
          {
            metadata: { name: 'fleet' },
            status: {
              commit: COMMIT,
              conditions: [{ type: 'Rendered', status: 'False', message: 'KN7104: main.ts:3' }],
            },
          },
        ],
      }),
      'source/fleet refuses the newest commit',
    ],
  ])('%s is not as git says', (_name, seen, why) => expect(unmet(seen, COMMIT)).toEqual([why]))
})

test('a cluster that expired is as declared: its silence is not waited for', () => {
  const clusters = [
    {
      metadata: { name: 'test', namespace: 'kubenode-system' },
      spec: { controlPlane: {}, ttl: '8h' },
      status: { phase: 'Expired' },
    },
  ]
  const seen = fleet(cluster({ isReachable: false }), { clusters })
  expect([unmet(seen, COMMIT), silentMachines(seen, 2_000)]).toEqual([[], []])
  expect(summaryLines(seen, 0)).toContain('test   expired; kubenode why cluster/test')
  expect(summaryLines(seen, 0)).not.toContain('test   does not answer')
})

test('after a start no machine is ready without a heartbeat since', () => {
  const seen = fleet(cluster({ lastHeartbeats: new Map(Object.entries({ a: 1_999, b: 2_000 })) }))
  expect(silentMachines(seen, 2_000)).toEqual(['test: 1 of 2 agents have not reported since the start'])
  expect(silentMachines(seen, 1_999)).toEqual([])
})

describe('the screen', () => {
  // oxlint-disable-next-line no-control-regex
  const ESCAPES = /\u001b\[\d*[A-Z]|\r/g
  const recorder = (isTerminal: boolean, foldsLongLines = false) => {
    let text = ''
    const size = { columns: 20, rows: 5 }
    const screen = createScreen((t) => (text += t), { isTerminal, foldsLongLines, size: () => size })
    return { screen, text: () => text, size }
  }

  test('without a terminal only what changed is printed, without escapes', () => {
    const { screen, text } = recorder(false)
    screen.show(['a', 'b'])
    screen.show(['a', 'b'])
    screen.show(['a', 'c'])
    expect(text()).toBe('a\nb\nc\n')
  })

  test('S16 a link that signs in is for the person at a terminal, where the next one replaces it, and never for a log', () => {
    for (const isTerminal of [true, false]) {
      const { screen, text } = recorder(isTerminal, true)
      screen.pinForPerson('http://127.0.0.1:1/link/secret', 'no link here')
      screen.pinForPerson('http://127.0.0.1:1/link/next', 'no link here')
      expect(text().replaceAll(ESCAPES, '')).toBe(
        isTerminal ? 'http://127.0.0.1:1/link/secret\nhttp://127.0.0.1:1/link/next\n' : 'no link here\n',
      )
    }
  })

  test('without a terminal a line that comes and goes is printed once', () => {
    const { screen, text } = recorder(false)
    for (const line of ['waits', 'works', 'waits', 'works']) screen.show([line])
    expect(text()).toBe('waits\nworks\n')
  })

  test('without a terminal a line that came back is printed once more when it stays: a log never ends with what is over', () => {
    const { screen, text } = recorder(false)
    for (const lines of [
      ['a', 'works'],
      ['a', 'is away'],
      ['a', 'works'],
      ['a', 'is away'],
      ['a', 'works'],
    ])
      for (let n = 0; n < 9; n++) screen.show(lines)
    expect(text()).toBe('a\nworks\nis away\n')
    for (let n = 0; n < 20; n++) screen.show(['a', 'works'])
    expect(text()).toBe('a\nworks\nis away\nworks\n')
  })

  test('on a terminal the picture is written over the one before, without blanking it, and never wraps', () => {
    const { screen, text } = recorder(true)
    screen.show(['x'.repeat(30), 'b'])
    screen.show(['c'])
    expect(text()).toBe(`\r${'x'.repeat(18)}…\u001b[K\nb\u001b[K\n\u001b[J\u001b[2A\rc\u001b[K\n\u001b[J`)
  })

  test('a window that became too narrow for the picture is cleared: its lines may be broken or cut', () => {
    const { screen, text, size } = recorder(true)
    screen.show(['x'.repeat(15), 'b'])
    Object.assign(size, { columns: 10 })
    screen.show(['x'.repeat(15), 'b'])
    const drawn = text().length
    screen.show(['x'.repeat(15), 'c'])
    expect(text().slice(0, drawn)).toContain('\u001b[2J\u001b[H')
    expect(text().slice(drawn)).not.toContain('\u001b[2J')
  })

  test('a line that the terminal folds has several rows: they are written over, and the window is not cleared', () => {
    const { screen, text, size } = recorder(true, true)
    screen.show(['x'.repeat(30), 'y'.repeat(20), 'a'])
    const drawn = text().length
    screen.show(['x'.repeat(30), 'y'.repeat(20), 'b'])
    // Two rows, one that is exactly full, and one.
    expect(text().slice(drawn)).toBe(`\u001b[4A\r${'x'.repeat(30)}\u001b[K\n${'y'.repeat(20)}\nb\u001b[K\n\u001b[J`)
    size.columns = 40
    screen.show(['c'])
    expect(text().endsWith('\u001b[2J\u001b[Hc\u001b[K\n\u001b[J')).toBe(true)
  })

  test('on a terminal what is said stands above the picture', () => {
    const { screen, text } = recorder(true)
    screen.show(['a'])
    screen.print('ready')
    screen.show(['b'])
    expect(text()).toBe(
      '\ra\u001b[K\n\u001b[J\u001b[1A\rready\u001b[K\na\u001b[K\n\u001b[J\u001b[1A\rb\u001b[K\n\u001b[J',
    )
  })

  test('a picture higher than the window is cut, and a window may become smaller', () => {
    const { screen, text, size } = recorder(true)
    screen.show(['1', '2', '3', '4', '5', '6'])
    size.columns = 4
    screen.show(['long line'])
    expect(text()).toBe('\r1\u001b[K\n2\u001b[K\n3\u001b[K\n…\u001b[K\n\u001b[J\u001b[4A\rlo…\u001b[K\n\u001b[J')
  })
})

test('of several slices the one that waits for a rate limit is shown, with the time of day, also by what is waited for', () => {
  const limit = 'beacon step 2: rate limit: 20 in 10m used, next grant at 02:03:10 UTC'
  const wait = { predicate: 'RateExceeded', seen: limit, since: '' }
  const slice = (phase: string, more: object) => ({
    component: 'beacon',
    version: '1.1.0',
    step: 1,
    phase,
    machines: ['a'],
    ...more,
  })
  const status = {
    slices: [slice('Switching', {}), slice('AwaitingPermit', { waitingFor: wait })],
    waitingFor: wait,
    conditions: [{ type: 'Ready', status: 'False' }],
  }
  const seen = fleet(cluster({ sets: [{ metadata: { name: 'base' }, status }] }))
  expect(summaryLines(seen, 0).join('\n')).toContain(limit)
  expect(unmet(seen, COMMIT)).toEqual([`test: set base is not rolled out, ${limit}`])
})

describe('what the fleet waits for is shown in words, never as the name of a reason', () => {
  const release = (status: object) => [{ metadata: { name: 'r' }, spec: { commit: COMMIT }, status }]
  test.each([
    [{ predicate: 'WaitingForOther', since: '' }, 'rollout  another object must be ready first'],
    [{ predicate: 'NoMachines', since: '' }, 'rollout  the selector matches no machine'],
    [
      { predicate: 'WaitingForOther', seen: '1 of 3 machines is updated', since: '' },
      'rollout  1 of 3 machines is updated',
    ],
  ])('a set that waits for %j', (waitingFor, words) => {
    const lines = summaryLines(fleet(cluster({ sets: [{ metadata: { name: 'base' }, status: { waitingFor } }] })), 0)
    expect(lines.join('\n')).toContain(words)
    expect(lines.join('\n')).not.toMatch(/waiting for|WaitingForOther|NoMachines/)
  })

  test.each([
    [{ predicate: 'MinSuccessTime', seen: 'soaks until 02:03:10' }, 'soaks until 02:03:10'],
    [{ predicate: 'Progressing' }, 'the change is in progress'],
  ])('a release that waits for %j', (waitingFor, words) => {
    const lines = summaryLines(fleet(cluster(), { releases: release({ phase: 'Progressing', waitingFor }) }), 0)
    expect(lines[0]).toBe(`hub    commit aaaaaaaaaaaa: Progressing   ${words}`)
  })

  test('a stage that failed is named once', () => {
    const waitingFor = { predicate: 'StageFailed', seen: '1 of 1 cluster failed' }
    const stages = [{ name: 'test', phase: 'Failed', waitingFor }]
    const releases = release({ phase: 'Paused', stages, waitingFor })
    expect(summaryLines(fleet(cluster(), { releases }), 0).slice(0, 2)).toEqual([
      'hub    commit aaaaaaaaaaaa: Paused (test Failed)',
      'hub      attention  release/r is Paused: 1 of 1 cluster failed; kubenode why release/r --context hub',
    ])
  })
})
