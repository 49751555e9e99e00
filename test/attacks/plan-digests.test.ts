// A commit names the digest of its plan, or its source requires one: whatever the commit declares beyond that plan is not followed. The attacker may push any commit
// and write any message, but not the digest that a reviewer approved onto other content.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { cluster } from '#api/kinds/cluster.ts'
import { machine } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Renderer } from '#sync/render/renderer.ts'
import { planDigest, planTrailer } from '#sync/plan-digest.ts'
import { filesOf, SourceWorld, type Values } from '#test/support/worlds/source-world.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { defined } from '#lib/defined.ts'

/** The objects of each target, as a file of the commit has them: the cage would take a second more for each commit. */
const OBJECTS = 'fleet/objects.json'
const renderer: Renderer = {
  layers: ['namespaces'],
  run: async ({ files }) => {
    const targets = Object.entries(JSON.parse(files[OBJECTS] ?? '{}') as Readonly<Record<string, readonly object[]>>)
    const lines = targets.flatMap(([target, objects]) => [{ target }, ...objects.map((object) => ({ object }))])
    const text = [...lines, { end: lines.length }].map((line) => `${JSON.stringify(line)}\n`).join('')
    return { kind: 'Answered', chunks: [Buffer.from(text)], printed: '' }
  },
}

type Fleet = Readonly<Record<string, readonly object[]>>
const map = (name: string, value: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data: { value },
})
const ours = (kind: string, example: object, name: string, namespace?: string) => ({
  apiVersion: API_GROUP_VERSION,
  kind,
  ...example,
  metadata: { name, ...defined({ namespace }) },
})
const stage = { name: 'test', clusters: { names: ['test'] }, minSuccessTime: '0s' }
const pipeline = (more: object = {}) =>
  ours('ReleasePipeline', { spec: { stages: [{ ...stage, ...more }] } }, 'standard', SYSTEM_NAMESPACE)
const clusterObject = (name: string) => ours('Cluster', { spec: cluster.example.spec }, name, SYSTEM_NAMESPACE)
const gated = { before: [{ name: 'board', approval: { from: ['ada'] } }] }
const HUB = [pipeline(gated), clusterObject('test')]
const fleet = (value: string, more: Fleet = {}): Fleet => ({
  hub: [...HUB, ...(more['hub'] ?? [])],
  test: [map('settings', value), map('other', '1'), ...(more['test'] ?? [])],
  ...Object.fromEntries(Object.entries(more).filter(([name]) => name !== 'hub' && name !== 'test')),
})

const VALUES: Values = { pipelines: {}, cluster: {} }
const files = (of: Fleet) => ({ [OBJECTS]: JSON.stringify(of) })
const FOLLOWED = /^[0-9a-f]{40}$/

class World extends SourceWorld {
  constructor(spec: ConstructorParameters<typeof SourceWorld>[0] = {}) {
    super(spec, renderer)
  }

  followFleet(of: Fleet, message = 'change'): Promise<string> {
    return this.follow(VALUES, { more: files(of), message })
  }

  tried(of: Fleet, message: string): Promise<string | undefined> {
    return this.attempt(VALUES, { key: undefined, message, more: files(of) })
  }

  /** The digest that a reviewer reads: of the fleet as it is followed now, and this one. */
  async digest(of: Fleet): Promise<string> {
    const { back } = this.base()
    this.repository.commit({ ...filesOf(VALUES), ...files(of) }, { key: undefined, message: 'for the plan' })
    try {
      const { before, after } = await this.targets()
      return planDigest(before, after)
    } finally {
      back()
    }
  }

  trailer = async (of: Fleet): Promise<string> => planTrailer(await this.digest(of))

  /** Where the branch is, and the way back there. */
  base(): { readonly id: string; readonly back: () => void } {
    const id = this.repository.git('rev-parse', 'HEAD')
    const back = () => this.repository.moveTo(id)
    return { id, back }
  }

  /** Commits on a branch of their own that starts at `from`, and a merge of it with this content and message. */
  async merged(
    commits: readonly (readonly [Fleet, string])[],
    merge: readonly [Fleet, string],
    {
      isReversed = false,
      besides,
    }: { readonly isReversed?: boolean; readonly besides?: readonly [Fleet, string] } = {},
  ): Promise<string | undefined> {
    const { repository } = this
    const { id, back } = this.base()
    repository.git('checkout', '--quiet', '-B', 'feature')
    for (const [of, message] of commits) {
      repository.write(files(of))
      repository.git('commit', '--quiet', '--allow-empty', '-m', message)
    }
    const feature = repository.git('rev-parse', 'HEAD')
    const parents = isReversed ? [feature, id] : [id, feature]
    if (besides !== undefined) {
      repository.git('checkout', '--quiet', '-B', 'aside', id)
      repository.write(files(besides[0]))
      repository.git('commit', '--quiet', '--allow-empty', '-m', besides[1])
      parents.push(repository.git('rev-parse', 'HEAD'))
    }
    repository.write(files(merge[0]))
    const tree = repository.git('write-tree')
    const made = repository.git('commit-tree', tree, ...parents.flatMap((p) => ['-p', p]), '-m', merge[1])
    repository.git('checkout', '--quiet', '-f', 'main')
    repository.moveTo(made)
    try {
      return await this.followed()
    } finally {
      back()
    }
  }
}

const NEXT = fleet('2')
const GROWN: readonly (readonly [string, Fleet])[] = [
  ['a machine', fleet('2', { test: [ours('Machine', machine.example, 'm-1')] })],
  ['a cluster', fleet('2', { hub: [clusterObject('prod')], prod: [map('settings', '2')] })],
  ['a rule', fleet('2', { test: [ours('NodeRemedier', nodeRemedier.example, 'sly')] })],
  ['a deletion', { ...fleet('2'), test: [map('settings', '2')] }],
  ['the deletion of a whole cluster', { hub: HUB.slice(0, 1), test: [] }],
  ['a field of the same object', fleet('22')],
  ['the gates of its own pipeline', { ...fleet('2'), hub: [pipeline(), clusterObject('test')] }],
  [
    'an object in another namespace',
    fleet('2', { test: [{ ...map('other', '1'), metadata: { name: 'other', namespace: 'kube-system' } }] }),
  ],
  ['nothing: it does less', fleet('1')],
]

describe('a commit with the digest of its plan', () => {
  let w: World
  let trailer = ''
  beforeAll(async () => {
    w = new World()
    await w.followFleet(fleet('1'))
    trailer = await w.trailer(NEXT)
  })
  afterAll(() => w.remove())

  test.each([
    ['as a trailer', (t: string) => `x\n\n${t}`],
    ['in the middle of trailers', (t: string) => `x\n\nSigned-off-by: Ada\n${t}\nReviewed-by: Bob`],
    ['twice the same', (t: string) => `x\n\n${t}\n${t}`],
    ['in lower case, with spaces', (t: string) => `x\n\n${t.replace('Kubenode-Plan: ', 'kubenode-plan :  ')}  `],
    ['with line ends of Windows', (t: string) => `x\r\n\r\n${t}\r\n`],
  ])('is followed: %s', async (_, message) => expect(await w.tried(NEXT, message(trailer))).toMatch(FOLLOWED))

  test.each(GROWN)('is refused when it also changes %s', async (_, grown) => {
    const refusal = await w.tried(grown, `x\n\n${trailer}`)
    expect(refusal).toContain('KN7060')
    // The reader finds both digests and the base in it.
    expect(refusal).toContain(trailer.split(' ')[1])
    expect(refusal).toContain((await w.digest(grown)).slice(0, 24))
  })

  test.each<[string, (t: string) => string]>([
    ['another digest beside it', (t) => `${t}\n${planTrailer(`sha256:${'0'.repeat(64)}`)}`],
    ['a second, empty trailer', (t) => `${t}\nKubenode-Plan:`],
    ['only an empty trailer', () => 'Kubenode-Plan:'],
    ['a word behind the digest', (t) => `${t} and more`],
    ['no algorithm', (t) => t.replace('sha256:', '')],
    ['another algorithm', (t) => t.replace('sha256:', 'sha512:')],
    ['a part of the digest', (t) => t.slice(0, -1)],
    ['capital letters', (t) => t.replace(/[0-9a-f]{64}$/, (d) => d.toUpperCase())],
    ['a character that does not show', (t) => `${t}\u200b`],
  ])('is refused with %s', async (_, message) =>
    expect(await w.tried(NEXT, `x\n\n${message(trailer)}`)).toContain('KN7060'),
  )

  test('is refused when its digest is of another base, of another commit, or of what was followed before', async () => {
    const { back } = w.base()
    // The plan was read, then the fleet moved on.
    await w.followFleet(fleet('1', { test: [map('between', '1')] }))
    const moved = fleet('2', { test: [map('between', '1')] })
    for (const next of [NEXT, moved]) expect(await w.tried(next, `x\n\n${trailer}`)).toContain('KN7060')
    // Of the commit in between, which its author had planned.
    const copied = planTrailer(await w.digest(fleet('3', { test: [map('between', '1')] })))
    expect(await w.tried(moved, `x\n\n${copied}`)).toContain('KN7060')
    expect(await w.tried(moved, `x\n\n${await w.trailer(moved)}`)).toMatch(FOLLOWED)
    back()
    await w.pass()
  })

  test('is refused as part of a merge that brings more, and counts in one that does not', async (context) => {
    onlyInFull(context)
    const planned = [[NEXT, `x\n\n${trailer}`]] as const
    const grown = GROWN[0]?.[1] ?? {}
    expect(await w.merged(planned, [NEXT, 'Merge branch'])).toMatch(FOLLOWED)
    expect(await w.merged([[NEXT, 'x']], [NEXT, `Merge branch\n\n${trailer}`])).toMatch(FOLLOWED)
    expect(await w.merged(planned, [NEXT, 'Merge branch'], { isReversed: true })).toMatch(FOLLOWED)
    expect(await w.merged(planned, [grown, 'Merge branch'])).toContain('KN7060')
    expect(await w.merged(planned, [grown, 'Merge branch'], { isReversed: true })).toContain('KN7060')
    // One digest on the branch, and another on the merge: the merge was written last, and it has to be true.
    expect(await w.merged(planned, [grown, `Merge branch\n\n${await w.trailer(grown)}`])).toMatch(FOLLOWED)
    expect(await w.merged(planned, [NEXT, `Merge branch\n\n${await w.trailer(grown)}`])).toContain('KN7060')
    // A second branch beside the planned one.
    const aside = { besides: [fleet('1'), `y\n\n${await w.trailer(grown)}`] } as const
    expect(await w.merged(planned, [NEXT, 'Merge branches'], aside)).toContain('KN7060')
    expect(await w.merged(planned, [grown, 'Merge branches'], { besides: [fleet('1'), 'y'] })).toContain('KN7060')
  })

  test('is no way around the plan of a commit that is under it on the same branch', async () => {
    const { back } = w.base()
    const grown = GROWN[0]?.[1] ?? {}
    w.repository.commit(files(grown), { key: undefined, message: `x\n\n${trailer}` })
    expect(await w.followed()).toContain('KN7060')
    // What the next one is planned against is what is followed, not what was refused.
    const small = fleet('22', { test: [ours('Machine', machine.example, 'm-1')] })
    const { before } = await w.targets()
    w.repository.commit(files(small), { key: undefined, message: 'x' })
    const { after } = await w.targets()
    w.repository.commit(files(small), { key: undefined, message: `x\n\n${planTrailer(planDigest(before, after))}` })
    expect(await w.followed()).toMatch(FOLLOWED)
    back()
  })
})

describe('a source that requires plans', () => {
  let w: World
  afterEach(() => w.remove())
  const world = async (of: Fleet) => {
    w = new World({ requirePlan: true })
    await w.followFleet(of)
    return w
  }

  test('refuses a commit that changes objects and has none, also where it is not seen at first', async () => {
    await world(fleet('1'))
    const trailer = await w.trailer(NEXT)
    for (const message of [
      'x',
      `x\n\n> ${trailer}`,
      `x\n\n  ${trailer}`,
      `x\n\nsee ${trailer}`,
      `x\n\nX-${trailer}`,
      `x\n\n${trailer.replace('Plan', 'Plan\u200b')}`,
    ])
      expect(await w.tried(NEXT, message), message).toContain('KN7060')
    expect(await w.tried(NEXT, `x\n\n${trailer}`)).toMatch(FOLLOWED)
    expect(await w.merged([[NEXT, 'x']], [NEXT, 'Merge branch'])).toContain('KN7060')
    expect(await w.merged([[NEXT, `x\n\n${trailer}`]], [NEXT, 'Merge branch'])).toMatch(FOLLOWED)
    // A planned commit under it does not speak for what came after it.
    const grown = GROWN[0]?.[1] ?? {}
    const both = [
      [NEXT, `x\n\n${trailer}`],
      [grown, 'more'],
    ] as const
    expect(await w.merged(both, [grown, 'Merge branch'])).toContain('KN7060')
  })

  test('follows a commit that changes no object without one, but not a change that was refused before it', async (context) => {
    onlyInFull(context)
    await world(fleet('1'))
    expect(await w.attempt(VALUES, { key: undefined, message: 'text', more: { 'README.md': 'x' } })).toMatch(FOLLOWED)
    const { back } = w.base()
    w.repository.commit(files(NEXT), { key: undefined, message: 'no plan' })
    expect(await w.followed()).toContain('KN7060')
    w.repository.commit({ 'README.md': 'x' }, { key: undefined, message: 'only text' })
    expect(await w.followed()).toContain('KN7060')
    w.repository.commit(files(NEXT), { key: undefined, message: `nothing\n\n${await w.trailer(NEXT)}` })
    expect(await w.followed()).toMatch(FOLLOWED)
    back()
  })

  test('needs one for a revert and for a branch that was set back, too', async (context) => {
    onlyInFull(context)
    await world(fleet('1'))
    const trailer = await w.trailer(NEXT)
    const before = w.base()
    const bad = await w.followFleet(NEXT, `x\n\n${trailer}`)
    const back = `Revert "x"\n\nThis reverts commit ${bad}.`
    expect(await w.tried(fleet('1'), back)).toContain('KN7060')
    // The message of the reverted commit, with its trailer, quoted by a tool.
    expect(await w.tried(fleet('1'), `${back}\n\n${trailer}`)).toContain('KN7060')
    expect(await w.tried(fleet('1'), `${back}\n\n${await w.trailer(fleet('1'))}`)).toMatch(FOLLOWED)
    before.back()
    expect(await w.followed()).toContain('KN7060')
  })
})

describe('several commits between two polls', () => {
  let w: World
  afterEach(() => w.remove())
  const THREE = fleet('3', { test: [map('more', '1')] })

  /** Commits one upon the other, each with the plan that `planOf` gives for its step; asked for the newest only. */
  async function pushed(steps: readonly (readonly [Fleet, string])[], key?: string): Promise<string | undefined> {
    const { back } = w.base()
    for (const [of, message] of steps) w.repository.commit({ ...filesOf(VALUES), ...files(of) }, { key, message })
    try {
      return await w.followed()
    } finally {
      back()
    }
  }

  /** The digest from one fleet to another, whatever is followed. */
  async function step(from: Fleet, to: Fleet): Promise<string> {
    const other = new World()
    try {
      await other.followFleet(from)
      return await other.trailer(to)
    } finally {
      other.remove()
    }
  }

  test('are followed when each is planned against the one before, as they would have been one by one', async (context) => {
    onlyInFull(context)
    w = new World({ requirePlan: true })
    await w.followFleet(fleet('1'))
    const [one, two] = [await step(fleet('1'), NEXT), await step(NEXT, THREE)]
    const first = [NEXT, `one\n\n${one}`] as const
    expect(await pushed([first, [THREE, `two\n\n${two}`]])).toMatch(FOLLOWED)
    // One that changes no object needs none, above or between them.
    expect(await pushed([first, [NEXT, 'text'], [THREE, `two\n\n${two}`]])).toMatch(FOLLOWED)
    expect(await pushed([first, [THREE, `two\n\n${two}`], [THREE, 'text']])).toMatch(FOLLOWED)
  })

  test('are refused when one of them is planned wrongly, not planned, does not render, or they are too many', async () => {
    w = new World({ requirePlan: true })
    await w.followFleet(fleet('1'))
    const [one, two] = [await step(fleet('1'), NEXT), await step(NEXT, THREE)]
    const last = [THREE, `two\n\n${two}`] as const
    const grown = GROWN[0]?.[1] ?? {}
    expect(await pushed([[NEXT, 'no plan'], last])).toContain('KN7060')
    expect(await pushed([[NEXT, `x\n\n${two}`], last])).toContain('KN7060')
    // More than planned, put back by the next: it was never in force, and its plan is another.
    expect(await pushed([[grown, `x\n\n${one}`], [NEXT, 'back'], last])).toContain('KN7060')
    expect(await pushed([[NEXT, `x\n\n${one}\n${two}`], last])).toContain('KN7060')
    const wrong = { ...NEXT, nowhere: [{ kind: 'ConfigMap' }] } as Fleet
    expect(await pushed([[wrong, `x\n\n${one}`], last])).toContain('KN7060')
    const texts = Array.from({ length: 8 }, () => [NEXT, 'text'] as const)
    expect(await pushed([[NEXT, `x\n\n${one}`], ...texts, last])).toContain('KN7060')
  })

  test('are refused where only the newest is verified: another author could have planned the ones below', async (context) => {
    onlyInFull(context)
    w = new World({ requirePlan: true })
    const anchor = await w.followFleet(fleet('1'))
    const [one, two] = [await step(fleet('1'), NEXT), await step(NEXT, THREE)]
    const both = [
      [NEXT, `one\n\n${one}`],
      [THREE, `two\n\n${two}`],
    ] as const
    const signers = [{ principal: 'ada@example.org', keys: [w.repository.publicKey('ada')] }]
    for (const [mode, expected] of [
      ['Head', expect.stringContaining('KN7060')],
      ['FirstParent', expect.stringMatching(FOLLOWED)],
    ] as const) {
      w.verify({ mode, anchor, signers })
      expect(await pushed(both, 'ada'), mode).toEqual(expected)
    }
    // An unsigned one below is refused before plans count.
    expect(await pushed([both[0]])).toContain('KN7030')
  })

  test('and the refusal has the command that mends it, on top of what is pushed', async (context) => {
    onlyInFull(context)
    w = new World({ requirePlan: true })
    await w.followFleet(fleet('1'))
    const { back } = w.base()
    w.repository.commit(files(NEXT), { key: undefined, message: 'no plan' })
    w.repository.commit(files(THREE), { key: undefined, message: `two\n\n${await step(NEXT, THREE)}` })
    const refusal = (await w.followed()) ?? ''
    const [, message = '', trailer = ''] =
      /git commit --allow-empty -m "([^"]+)" --trailer "([^"]+)"/.exec(refusal) ?? []
    w.repository.git('commit', '--quiet', '--allow-empty', '-m', message, '--trailer', trailer)
    w.repository.push()
    expect(await w.followed()).toMatch(FOLLOWED)
    back()
  })
})
