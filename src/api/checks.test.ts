import { describe, expect, test } from 'vitest'
import { changedImmutables, checkProblems } from './checks.ts'
import { check, EXTRAS, type ApiSchema } from './extras.ts'
import { PROBLEM_CODES, type Problem } from './problem.ts'
import { defined } from '#lib/defined.ts'

const never = check('never good', () => 'is never good')
const text: ApiSchema = { type: 'string', [EXTRAS]: { checks: [never] } }
const spec: ApiSchema = { type: 'object', [EXTRAS]: { checks: [never] }, properties: { a: text, ab: text } }
const schema: ApiSchema = {
  type: 'object',
  [EXTRAS]: { checks: [never] },
  properties: {
    spec,
    list: { type: 'array', items: text },
  },
}
const asked = (value: unknown, before: readonly Problem[] = []): readonly string[] =>
  checkProblems(schema, value, before).map((p) => p.pointer)
const problem = (pointer: string, code: Problem['code']): Problem => ({ pointer, code, message: 'is wrong' })

describe('checks', () => {
  test('are asked of every part, the outermost last', () => {
    expect(asked({ spec: { a: 'x', ab: 'y' }, list: ['z'] })).toEqual(['/spec/a', '/spec/ab', '/spec', '/list/0', ''])
  })

  test('are not asked of a part whose shape is wrong, nor of what holds it', () => {
    const wrong = [problem('/spec/a', PROBLEM_CODES.wrongType)]
    expect(asked({ spec: { a: 'x', ab: 'y' }, list: ['z'] }, wrong)).toEqual(['/spec/ab', '/list/0'])
  })

  test('are asked also where there is an unknown field: it takes nothing from the known ones', () => {
    const unknown = [problem('/spec/c', PROBLEM_CODES.unknownField)]
    expect(asked({ spec: { a: 'x', c: 'y' } }, unknown)).toEqual(['/spec/a', '/spec', ''])
  })

  test('are not asked of what is left out, nor of fields that only sound like ours', () => {
    expect(asked({ spec: null, toString: 'x', constructor: { a: 'y' } })).toEqual([''])
  })
})

describe('what never changes', () => {
  const fixed = (type: 'set' | 'map' | 'atomic' | undefined): ApiSchema => {
    const list: ApiSchema = {
      type: 'array',
      ...defined({ 'x-kubernetes-list-type': type }),
      items: {},
      [EXTRAS]: { immutable: 'stays as it is' },
    }
    return { type: 'object', properties: { list } }
  }
  const lists = [{ list: [{ name: 'a' }, { name: 'b' }] }, { list: [{ name: 'b' }, { name: 'a' }] }] as const

  test.each([
    ['set', 0],
    ['map', 0],
    ['atomic', 1],
    [undefined, 1],
  ] as const)('a list of type %s in another order: %i problems', (type, count) => {
    expect(changedImmutables(fixed(type), lists[0], lists[1])).toHaveLength(count)
  })

  test('may be set once, and then neither changed nor given another element', () => {
    expect(changedImmutables(fixed('map'), {}, lists[0])).toEqual([])
    expect(changedImmutables(fixed('map'), lists[0], { list: [{ name: 'a' }] })).toEqual([
      { code: PROBLEM_CODES.immutable, pointer: '/list', message: 'stays as it is' },
    ])
  })
})
