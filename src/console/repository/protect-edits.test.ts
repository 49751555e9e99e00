// The list of protected machines: declared once, then a list of names that grows and shrinks.
import { expect, test } from 'vitest'
import { type ProtectChange, protectEdits } from './protect-edits.ts'

const MAIN = "import { App } from 'cdk8s'\nconst app = new App()\napp.synth()\n"
const LIST = 'fleet/protected/prod.json'
const listed = (...names: readonly string[]): string =>
  `${JSON.stringify(
    names.map((name) => ({ name, reason: 'x' })),
    null,
    2,
  )}\n`
const known = (text: string) =>
  new Map([
    ['fleet/main.ts', MAIN],
    [LIST, text],
  ])
const asked = (more: Partial<ProtectChange> = {}): ProtectChange => ({
  target: 'prod',
  machines: ['n-3', 'n-1'],
  isProtected: true,
  reason: 'the rack is "moved"',
  ...more,
})

test('the first commit writes the list and its declaration, and calls it', () => {
  const edits = protectEdits(new Map([['fleet/main.ts', MAIN]]), asked())
  const after = new Map(typeof edits === 'string' ? [] : edits.map((e) => [e.path, e.after]))
  expect([...after.keys()]).toEqual(['fleet/main.ts', LIST, 'fleet/protected/prod.ts'])
  expect(after.get('fleet/main.ts')).toBe(
    "import { App } from 'cdk8s'\nimport { declareProtectedProd } from './protected/prod.ts'\nconst app = new App()\ndeclareProtectedProd(app)\napp.synth()\n",
  )
  expect(JSON.parse(after.get(LIST) ?? '')).toEqual([
    { name: 'n-1', reason: 'the rack is "moved"' },
    { name: 'n-3', reason: 'the rack is "moved"' },
  ])
})

test('a later one edits the list alone: a machine that is in it keeps its reason, and one that leaves is gone', () => {
  const more = protectEdits(known(listed('n-1')), asked())
  expect(more).toMatchObject([{ path: LIST, before: listed('n-1') }])
  expect(JSON.parse(typeof more === 'string' ? '' : (more[0]?.after ?? ''))).toEqual([
    { name: 'n-1', reason: 'x' },
    { name: 'n-3', reason: 'the rack is "moved"' },
  ])
  const fewer = protectEdits(known(listed('n-1', 'n-2')), asked({ isProtected: false }))
  expect(fewer).toMatchObject([{ after: listed('n-2') }])
})

test.each<[string, ReadonlyMap<string, string>, Partial<ProtectChange>]>([
  ['has them already', known(listed('n-1', 'n-3')), {}],
  ['has none of them', known(listed('n-2')), { isProtected: false }],
  ['is not a list', known('{"n-1": true}\n'), {}],
  ['is not a list', known('[{"name": "n-1", "selector": {}}]\n'), {}],
  ['more than 64', known(listed(...Array.from({ length: 63 }, (_, i) => `m-${i}`))), {}],
  ['does not end with app.synth()', new Map([['fleet/main.ts', 'run()\n']]), {}],
])('no edit where it %s', (why, files, more) => {
  expect(protectEdits(files, asked(more))).toEqual(expect.stringContaining(why))
})
