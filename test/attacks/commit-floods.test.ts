// The attacker may push any commit to the branch of a FleetSource, without a signature: what they write there makes sync work no longer than its length.
// Each of these stopped sync for minutes, before its signature was judged and again after each restart.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { SourceWorld } from '#test/support/worlds/source-world.ts'

let w: SourceWorld
let anchor: string
beforeAll(async () => {
  w = new SourceWorld()
  anchor = await w.follow({ pipelines: { standard: {} }, cluster: { a: { v: '1' } } }, { key: 'ada' })
})
afterAll(() => w.remove())
beforeEach(() => w.repository.moveTo(anchor))

const PERSON = 'eve <eve@example.org> 1790000000 +0000'

interface Written {
  readonly author?: string
  readonly headers?: string
  readonly message?: string
}

/** A commit as no git writes it, on the branch; the files are those of the anchor. */
function push({ author = PERSON, headers = '', message = 'change\n' }: Written): string {
  const tree = w.repository.git('rev-parse', `${anchor}^{tree}`)
  const text = `tree ${tree}\nparent ${anchor}\nauthor ${author}\ncommitter ${PERSON}\n${headers}\n${message}`
  const id = w.repository.inBare(['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'], Buffer.from(text))
  w.repository.inBare(['update-ref', 'refs/heads/main', id])
  return id
}

const LONG = 500_000
const WRITTEN: readonly (readonly [name: string, written: Written])[] = [
  ['a plan with half a million spaces inside', { message: `x\n\nKubenode-Plan: x${' '.repeat(LONG)}x\n` }],
  ['half a million line breaks inside the message', { message: `x${'\n'.repeat(LONG)}x\n` }],
  ['half a million plans', { message: 'Kubenode-Plan:\n'.repeat(LONG / 10) }],
  ['an author of half a million brackets', { author: `${' <'.repeat(LONG / 2)} 1790000000 +0000` }],
  ['an author of names in each other', { author: ' <a> b'.repeat(LONG / 6) }],
  ['half a million spaces in a header', { headers: `encoding x${' '.repeat(LONG)}x\n` }],
  ['a hundred thousand headers', { headers: 'x y\n'.repeat(LONG / 5) }],
  ['half a million spaces before a revert', { message: `x\n\nThis reverts commit${' '.repeat(LONG)}x\n` }],
]

test.each(WRITTEN)('an unsigned commit is refused at once where commits are verified: %s', async (_, written) => {
  w.verify({ mode: 'All', anchor, signers: [{ principal: 'ada', keys: [w.repository.publicKey('ada')] }] })
  push(written)
  const { trust, commit } = await w.observed()
  expect([trust?.kind, commit]).toEqual(['Refused', undefined])
})

test.each(WRITTEN)('a commit is followed or refused at once where none is verified: %s', async (_, written) => {
  w.verify({ mode: 'Off' })
  const id = push(written)
  const { commit, declared } = await w.observed()
  if (declared?.kind === 'Failed') expect(declared.message).toMatch(/KN70(07|60)/)
  else expect(commit?.id).toBe(id)
})

test('a signed commit with the same text is read, since its signer answers for it', async () => {
  w.verify({ mode: 'All', anchor, signers: [{ principal: 'ada', keys: [w.repository.publicKey('ada')] }] })
  const message = `x\n\nKubenode-Plan: x${' '.repeat(100_000)}x`
  const signed = w.repository.git(
    ...w.repository.signedBy('ada'),
    'commit-tree',
    '-S',
    `${anchor}^{tree}`,
    '-p',
    anchor,
    '-m',
    message,
  )
  w.repository.moveTo(signed)
  const { trust, commit } = await w.observed()
  expect([trust?.kind, commit?.plans?.[0]?.length]).toEqual(['Verified', 100_002])
})
