// A hold stops a source, and its pipelines exempt reverts from it: the attacker has the rights of a committer and wants something else followed meanwhile.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { onlyInFull } from '#test/support/tools/full.ts'
import { filesOf, SourceWorld, type Values } from '#test/support/worlds/source-world.ts'
import { defined } from '#lib/defined.ts'

const values = (n: string, more: Partial<Values> = {}): Values => ({
  pipelines: { standard: { exempt: ['Holds'] } },
  cluster: { settings: { n } },
  ...more,
})
const reverts = (id: string) => `Revert "change"\n\nThis reverts commit ${id}.`

describe('a source that a hold pauses', () => {
  let w: SourceWorld
  const ids = { one: '', two: '', three: '' }
  beforeAll(async () => {
    w = new SourceWorld()
    ids.one = await w.follow(values('1'))
    ids.two = await w.follow(values('2'))
    ids.three = await w.follow(values('3'))
    expect(w.status?.rendered).toBe(ids.three)
    w.hold('Pause')
  })
  afterAll(() => w.remove())
  const attempt = (next: Values, message: string, more?: Readonly<Record<string, string>>) =>
    w.attempt(next, { message, ...defined({ more }) })

  test('follows the revert of the newest commit to what was before it', async () => {
    expect(await attempt(values('2'), reverts(ids.three))).toMatch(/^[0-9a-f]{40}$/)
    // A file that no object is made of changes nothing.
    expect(await attempt(values('2'), reverts(ids.three), { 'README.md': 'text' })).toMatch(/^[0-9a-f]{40}$/)
  })

  test.each<[string, () => Promise<string | undefined>]>([
    ['a commit that does not say so', () => attempt(values('2'), 'change')],
    ['a commit that only says so', () => attempt(values('evil'), reverts(ids.three))],
    [
      'a revert with one object more',
      () => attempt(values('2', { cluster: { settings: { n: '2' }, evil: { n: '2' } } }), reverts(ids.three)),
    ],
    ['a revert with one object on the hub more', () => attempt(values('2', { hub: { e: {} } }), reverts(ids.three))],
    ['a revert that leaves an object out', () => attempt(values('2', { cluster: {} }), reverts(ids.three))],
    [
      'a revert that exempts from more',
      () => attempt(values('2', { pipelines: { standard: { exempt: ['Holds', 'Budgets'] } } }), reverts(ids.three)),
    ],
    [
      'a revert whose file makes other objects of the same values',
      () => {
        const main = filesOf(values('2'))['fleet/main.ts'].replace("'default'", "'kube-system'")
        return attempt(values('2'), reverts(ids.three), { 'fleet/main.ts': main })
      },
    ],
    ['a revert of the newest commit to an older one', () => attempt(values('1'), reverts(ids.three))],
    ['a revert of an older commit', () => attempt(values('1'), reverts(ids.two))],
    ['a revert of a commit that was never followed', () => attempt(values('2'), reverts('f'.repeat(40)))],
    ['a message that quotes a revert', () => attempt(values('2'), `x\n\n> This reverts commit ${ids.three}.`)],
  ])('does not follow %s', async (_, made) => expect(await made()).toBeUndefined())

  test('does not follow a revert of what was pushed during the hold', async (context) => {
    onlyInFull(context)
    const base = w.repository.git('rev-parse', 'HEAD')
    const during = w.repository.commit(filesOf(values('evil')), { key: 'ada', message: 'during' })
    // What it brings back is followed already; what is under it is not.
    expect(await attempt(values('3'), reverts(during))).toBeUndefined()
    expect(await attempt(values('evil'), reverts(ids.three))).toBeUndefined()
    w.repository.moveTo(base)
  })

  test('does not follow it under a freeze that the pipeline does not name', async () => {
    w.hold('Freeze')
    expect(await attempt(values('2'), reverts(ids.three))).toBeUndefined()
    w.hold('Pause')
  })
})

describe('the exemption', () => {
  let w: SourceWorld
  afterEach(() => w.remove())
  const none = { pipelines: { standard: {} } }

  test('of a freeze is one of its own', async (context) => {
    onlyInFull(context)
    w = new SourceWorld()
    const exempt = { pipelines: { standard: { exempt: ['Freezes'] } } }
    await w.follow(values('1', exempt))
    const bad = await w.follow(values('2', exempt))
    w.hold('Freeze')
    expect(await w.attempt(values('1', exempt), { message: reverts(bad) })).toMatch(/^[0-9a-f]{40}$/)
    w.hold('Pause')
    expect(await w.attempt(values('1', exempt), { message: reverts(bad) })).toBeUndefined()
  })

  test('counts as it was before the commit that is reverted: none exempts its own revert', async () => {
    w = new SourceWorld()
    await w.follow(values('1', none))
    const sly = await w.follow(values('2'))
    w.hold('Pause')
    expect(await w.attempt(values('1', none), { message: reverts(sly) })).toBeUndefined()
  })

  test('of the first commit with the pipeline counts for nothing', async (context) => {
    onlyInFull(context)
    w = new SourceWorld()
    const first = await w.follow(values('1'))
    w.hold('Pause')
    expect(await w.attempt(values('0'), { message: reverts(first) })).toBeUndefined()
  })
})

describe('a source with two tracks, of which one exempts reverts', () => {
  let w: SourceWorld
  const both = (free: string, strict: string, hub = '1'): Values => ({
    pipelines: { free: { exempt: ['Holds'] }, strict: {} },
    hub: { strict: { n: hub } },
    cluster: { free: { n: free }, strict: { n: strict } },
  })
  const tracks = [
    { name: 'free', match: { selector: { matchLabels: { map: 'free' } } }, pipelineRef: { name: 'free' } },
    { name: 'strict', match: {}, pipelineRef: { name: 'strict' } },
  ]
  afterEach(() => w.remove())

  test('follows a revert in that track only', async () => {
    w = new SourceWorld({ tracks })
    await w.follow(both('1', '1'))
    const bad = await w.follow(both('2', '1'))
    w.hold('Pause')
    expect(await w.attempt(both('1', '1'), { message: reverts(bad) })).toMatch(/^[0-9a-f]{40}$/)
  })

  test('does not take back what the other track got since', async (context) => {
    onlyInFull(context)
    w = new SourceWorld({ tracks })
    await w.follow(both('1', '1'))
    const bad = await w.follow(both('2', '1'))
    await w.follow(both('2', '2', '2'))
    w.hold('Pause')
    expect(await w.attempt(both('1', '1'), { message: reverts(bad) })).toBeUndefined()
  })

  test('does not take back what the other track got on the hub, where that makes no Release', async (context) => {
    onlyInFull(context)
    w = new SourceWorld({ tracks })
    await w.follow(both('1', '1'))
    const bad = await w.follow(both('2', '1', '2'))
    w.hold('Pause')
    expect(await w.attempt(both('1', '1'), { message: reverts(bad) })).toBeUndefined()
  })

  test('does not take back what both tracks got with one commit', async (context) => {
    onlyInFull(context)
    w = new SourceWorld({ tracks })
    await w.follow(both('1', '1'))
    const bad = await w.follow(both('2', '2'))
    w.hold('Pause')
    expect(await w.attempt(both('1', '1'), { message: reverts(bad) })).toBeUndefined()
  })
})

describe('where commits are verified', () => {
  let w: SourceWorld
  afterEach(() => w.remove())

  test('the revert is signed by one who may, and restores what was verified', async () => {
    const anchored = new SourceWorld()
    w = anchored
    const anchor = anchored.repository.commit(filesOf(values('1')), { key: undefined })
    const signers = [{ principal: 'ada@example.org', keys: [anchored.repository.publicKey('ada')] }]
    anchored.verify({ mode: 'FirstParent', anchor, signers })
    await anchored.pass()
    const bad = await anchored.follow(values('2'))
    anchored.hold('Pause')
    const back = (key: string | undefined, more = {}) =>
      anchored.attempt(values('1'), { key, message: reverts(bad), more })
    expect(await back('ada')).toMatch(/^[0-9a-f]{40}$/)
    for (const key of ['eve', undefined]) expect(await back(key)).toBeUndefined()

    // One commit of another author under it, which the signed one undoes.
    const base = anchored.repository.git('rev-parse', 'HEAD')
    anchored.repository.commit(filesOf(values('evil')), { key: 'eve', message: 'between' })
    expect(await back('ada')).toBeUndefined()
    // Back to a state that was never verified: a commit before the anchor, or one that is refused.
    expect(await anchored.attempt(values('evil'), { key: 'ada', message: reverts(bad) })).toBeUndefined()
    anchored.repository.moveTo(base)
    expect(await anchored.attempt(values('0'), { key: 'ada', message: reverts(anchor) })).toBeUndefined()
  })
})
