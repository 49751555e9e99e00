import { describe, expect, test } from 'vitest'
import { explore, type Model } from '../../../test/support/protocol/explore.ts'
import { FIELD_MANAGERS } from './managers.ts'
import { nextPermitPhase } from './permit.ts'
import { nextStepState } from './job.ts'
import { switchTable } from './switch.ts'
import { nextState, type Table } from './table.ts'
import { TABLES } from './tables.ts'

type AnyTable = Table<string, string, string>

/** Every precondition may hold at any time: all that the rows alone allow. */
const freely = (table: AnyTable): Model<string> => ({
  initial: table.initial,
  moves: (state) => table.rows.filter((r) => r.from === state).map((r) => ({ name: r.event, to: r.to })),
  broken: () => undefined,
  brokenMove: (from) => (table.terminal.includes(from) ? `${from} is left` : undefined),
  // A table without terminal states goes round; its initial state is where it may rest.
  isEnd: (state) => (table.terminal.length === 0 ? true : table.terminal.includes(state)),
})

describe.each(TABLES.map((t) => [t.name, t] as const))('the table of the %s', (_, table) => {
  test('reaches every state, leaves no terminal one, and gets stuck nowhere', () => {
    const { states, violation } = explore(freely(table))
    expect(violation).toBeUndefined()
    expect(states.toSorted()).toEqual(Object.keys(table.states).toSorted())
  })

  test('says one thing for a state and an event', () => {
    const pairs = table.rows.map((r) => `${r.from} ${r.event}`)
    expect(pairs.filter((p, i) => pairs.indexOf(p) !== i)).toEqual([])
  })

  test('names a precondition on every row, and none in vain', () => {
    const used = new Set(table.rows.flatMap((r) => r.when))
    expect(table.rows.filter((r) => r.when.length === 0)).toEqual([])
    expect([...used].toSorted()).toEqual(Object.keys(table.preconditions).toSorted())
  })

  test('is written by one known manager, and refuses every other', () => {
    expect(FIELD_MANAGERS).toContain(table.writer)
    const [row] = table.rows
    const facts = Object.fromEntries(Object.keys(table.preconditions).map((p) => [p, true]))
    const by = FIELD_MANAGERS.filter(
      (m) => nextState(table, { state: row?.from ?? '', event: row?.event ?? '', facts, by: m }).ok,
    )
    expect(by).toEqual([table.writer])
  })

  test.each(table.rows.map((r) => [`${r.from} –${r.event}→ ${r.to}`, r] as const))(
    'takes %s only when every precondition is known to hold',
    (__, row) => {
      const all = Object.fromEntries(row.when.map((p) => [p, true]))
      const attempt = { state: row.from, event: row.event, by: table.writer }
      expect(nextState(table, { ...attempt, facts: all })).toEqual({ ok: true, state: row.to })
      for (const predicate of row.when) {
        const message = table.preconditions[predicate]
        expect(nextState(table, { ...attempt, facts: { ...all, [predicate]: false } })).toEqual({
          ok: false,
          refusal: { reason: 'False', predicate, message },
        })
        expect(nextState(table, { ...attempt, facts: { ...all, [predicate]: undefined } })).toEqual({
          ok: false,
          refusal: { reason: 'Unknown', predicate, message },
        })
      }
    },
  )
})

test('a switch, also to another copy of the same, begins under a permit that is Granted now, or on a node that pods cannot reach yet', () => {
  const ways = switchTable.rows.filter((r) => r.to === 'Switching')
  expect(ways).toEqual([
    { from: 'Staged', event: 'switch', to: 'Switching', when: ['orderForAttempt', 'permitGrantedNow'] },
    { from: 'Staged', event: 'firstInstall', to: 'Switching', when: ['neverInstalled', 'nodePendingTaint'] },
    ...['Healthy', 'Degraded', 'RolledBack', 'Failed'].map((from) => ({
      from,
      event: 'reinstall',
      to: 'Switching',
      when: ['reinstallPermitted', 'sameVersion'],
    })),
  ])
})

test('no two tables write the same field', () => {
  const fields = TABLES.map((t) => t.field)
  expect(new Set(fields).size).toBe(fields.length)
})

test('a permit that was denied is never granted', () => {
  const facts = { gatesPass: true, ledgerSwapped: true }
  expect(nextPermitPhase('Denied', 'grant', facts)).toEqual({
    ok: false,
    refusal: { reason: 'NoSuchStep', state: 'Denied', event: 'grant' },
  })
})

test('a step of the controller is not written by the agent', () => {
  const attempt = { state: 'Started', event: 'succeed', facts: { doneWell: true } } as const
  expect(nextStepState({ ...attempt, executor: 'Controller', by: 'kubenode-agent' })).toEqual({
    ok: false,
    refusal: { reason: 'NotTheWriter', writer: 'kubenode-remedyjob' },
  })
  expect(nextStepState({ ...attempt, executor: 'Provider', by: 'kubenode-remedyjob' }).ok).toBe(true)
  expect(nextStepState({ ...attempt, executor: 'Agent', by: 'kubenode-agent' }).ok).toBe(true)
})

describe('the explorer', () => {
  const counter = (overrides: Partial<Model<number>>): Model<number> => ({
    initial: 0,
    moves: (n) => (n < 3 ? [{ name: 'up', to: n + 1 }] : []),
    broken: () => undefined,
    isEnd: (n) => n === 3,
    ...overrides,
  })

  test.each([
    ['nothing in a sound model', {}, undefined],
    [
      'a broken state, by the shortest way',
      { broken: (n: number) => (n === 2 ? 'two' : undefined) },
      { message: 'two', trail: ['up', 'up'] },
    ],
    ['a dead end', { isEnd: () => false }, { message: 'a dead end', trail: ['up', 'up', 'up'] }],
    [
      'a circle without a way out',
      { moves: (n: number) => [{ name: 'turn', to: n === 0 ? 1 : 0 }] },
      { message: 'no end can be reached from here', trail: [] },
    ],
    [
      'a broken step',
      { brokenMove: (n: number) => (n === 1 ? 'from one' : undefined) },
      { message: 'from one', trail: ['up', 'up'] },
    ],
  ])('finds %s', (_, overrides, violation) => expect(explore(counter(overrides)).violation).toEqual(violation))

  test('gives up on a model without bound', () => {
    const endless = counter({ moves: (n) => [{ name: 'up', to: n + 1 }] })
    expect(explore(endless, { maxStates: 50 }).violation?.message).toBe('more than 50 states')
  })
})
