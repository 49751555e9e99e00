// A key that encrypts objects in a store is replaced only while everything that an older key sealed can be opened, in the store and in snapshots.
import { describe, expect, test } from 'vitest'
import { credentials, type CredentialInputs } from './graph.ts'
import { sealingKeysIn, type Held } from './held.ts'
import { carryOut } from './make.ts'
import { ENCRYPTION_KEY, type Recipe } from './recipe.ts'
import type { Sealed } from './rotation.ts'
import { credentialSecret, heldIn } from './secrets.ts'

const START = Date.UTC(2030, 0, 1)
const HOUR = 3_600_000
const RECIPE: Recipe = {
  authorities: [],
  keySets: [],
  leaves: [],
  kubeconfigs: [],
  sealingKeys: [{ name: ENCRYPTION_KEY, bytes: 32 }],
  joinMs: 0,
}
const NOTHING: Sealed = { snapshots: [] }
const all = (number: number): NonNullable<Sealed['all']> => ({ with: number })

interface Story {
  readonly declared?: number
  readonly sealed?: Sealed
  /** How many of three API servers run with the latest credentials. */
  readonly following?: number
}

function inputsOf({ declared = 2, sealed = NOTHING, following = 3 }: Story, digest: string | undefined) {
  const running = Array.from({ length: following }, () => digest ?? '')
  const declares = { [ENCRYPTION_KEY]: declared }
  const inputs: CredentialInputs = {
    recipe: RECIPE,
    endpoint: 'https://10.0.0.1:6443',
    hosts: [],
    declared: declares,
    servers: { total: 3, running },
    agents: undefined,
    sealed,
  }
  return inputs
}

const graphOf = (held: Held, story: Story, now: number) => {
  const { serverDigest } = credentials(inputsOf(story, undefined), now, held)
  return credentials(inputsOf(story, serverDigest), now, held)
}

/** Everything possible without waiting. */
function settled(story: Story, held: Held, now = START): Held {
  let after = held
  for (let writes = 0; writes < 20; writes++) {
    const [order] = graphOf(after, story, now).orders
    if (order === undefined) return after
    const item = carryOut(order, now, after)
    if (item === undefined) throw new Error('nothing is dropped here')
    after = { ...after, [order.name]: item }
  }
  throw new Error('it never settles')
}

const numbersIn = (held: Held) => sealingKeysIn(held, ENCRYPTION_KEY)?.generations.map(({ number }) => number)
const sealsIn = (held: Held) => sealingKeysIn(held, ENCRYPTION_KEY)?.signs
const waitIn = (held: Held, story: Story) => graphOf(held, story, START).rotations[0]

const MADE = settled({ declared: 1 }, {})
/** The new one encrypts. */
const SEALING = settled({}, MADE)

test('the first key is made once', () => {
  expect(numbersIn(MADE)).toEqual([1])
  expect(settled({ declared: 1 }, MADE)).toEqual(MADE)
})

test('a key from before it could be replaced is the first one', () => {
  const key = Buffer.alloc(32, 7).toString('base64')
  const stored = credentialSecret('ns', ENCRYPTION_KEY, { kind: 'Kubeconfig', madeOf: '', text: '' })
  const before = JSON.stringify({ kind: 'SharedKey', key })
  const data = { 'item.json': Buffer.from(before).toString('base64'), key: 'x' }
  const { held, damaged } = heldIn([{ ...stored, data }])
  expect(damaged).toEqual([])
  expect(settled({ declared: 1 }, held)).toEqual(held)
  expect(sealingKeysIn(settled({}, held), ENCRYPTION_KEY)?.generations[0]?.key).toBe(key)
})

test('a new key encrypts only once all API servers can open what it sealed', () => {
  const waiting = settled({ following: 2 }, MADE)
  expect([numbersIn(waiting), sealsIn(waiting)]).toEqual([[1, 2], 1])
  expect(waitIn(waiting, { following: 2 })).toMatchObject({
    phase: 'Distributing',
    waitsFor: { what: 'servers', seen: 2, of: 3 },
  })
  expect([numbersIn(SEALING), sealsIn(SEALING)]).toEqual([[1, 2], 2])
})

describe('the old key stays', () => {
  const older = { name: 'before', with: 1 }
  test.each<readonly [string, Story, string]>([
    [
      'while an API server has not begun to use the new one',
      { following: 2, sealed: { all: all(2), snapshots: [] } },
      'servers',
    ],
    ['until all objects are sealed with the new one', {}, 'sealed objects'],
    ['when they are sealed with one before it', { sealed: { all: all(1), snapshots: [] } }, 'sealed objects'],
    ['while a snapshot is older', { sealed: { all: all(2), snapshots: [older] } }, 'snapshots'],
    [
      'while it is not known what a snapshot was sealed with, whenever it was taken',
      { sealed: { all: all(2), snapshots: [{ name: 'unknown' }] } },
      'snapshots',
    ],
  ])('%s', (_, story, what) => {
    expect(numbersIn(settled(story, SEALING))).toEqual([1, 2])
    expect(waitIn(SEALING, story)?.waitsFor?.what).toBe(what)
  })

  test('and goes when nothing is left that it opens', () => {
    const later = { name: 'after', with: 2 }
    const done = settled({ sealed: { all: all(2), snapshots: [later] } }, SEALING, START + 2 * HOUR)
    expect([numbersIn(done), sealsIn(done)]).toEqual([[2], 2])
    expect(graphOf(done, { sealed: { all: all(2), snapshots: [later] } }, START).rotations).toEqual([])
  })
})

test('what could not be sealed again is named, with the reason', () => {
  const sealed: Sealed = { left: { objects: ['a/1', 'a/2', 'a/3', 'a/4'], why: 'a webhook refused it' }, snapshots: [] }
  expect(waitIn(SEALING, { sealed })?.waitsFor).toMatchObject({
    missing: ['a/1', 'a/2', 'a/3'],
    why: 'a webhook refused it',
  })
})

test('servers with one key are not taken for servers with the next one', () => {
  const ended = settled({ sealed: { all: all(2), snapshots: [] } }, SEALING)
  const digests = [MADE, SEALING, ended].map((held) => graphOf(held, { declared: 1 }, START).serverDigest)
  expect(new Set(digests).size).toBe(3)
})

test('a third key waits until the first one is gone', () => {
  expect(numbersIn(settled({ declared: 3 }, SEALING))).toEqual([1, 2])
  const done = settled({ declared: 2, sealed: { all: all(2), snapshots: [] } }, SEALING)
  expect(numbersIn(settled({ declared: 3, sealed: { all: all(2), snapshots: [] } }, done))).toEqual([2, 3])
})
