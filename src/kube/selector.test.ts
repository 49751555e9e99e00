import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isKubeNodeError } from '#lib/errors.ts'
import {
  escapeFieldValue,
  formatSelector,
  matchesFields,
  matchesLabels,
  matchesSelector,
  parseFieldSelector,
  parseSelector,
  selectorOf,
  type Requirement,
} from './selector.ts'

describe('label selectors', () => {
  const cases: readonly (readonly [string, Record<string, string>, boolean])[] = [
    ['', {}, true],
    ['a=1', { a: '1' }, true],
    ['a==1', { a: '2' }, false],
    ['a!=1', {}, true],
    ['a!=1', { a: '1' }, false],
    ['a=', { a: '' }, true],
    ['a', { a: '' }, true],
    ['!a', { a: '' }, false],
    ['a in (1, 2),b notin (3)', { a: '2', b: '4' }, true],
    ['a in (1,2),b notin (3)', { a: '2', b: '3' }, false],
    ['kubenode.io/pool=gpu', { 'kubenode.io/pool': 'gpu' }, true],
    ['toString', {}, false],
  ]
  it.each(cases)('%s against %j is %s', (text, labels, want) => {
    expect(matchesSelector(parseSelector(text), labels)).toBe(want)
  })

  it.each(['a=1,', 'a in (1', 'a in ()b', '=x', 'a=b=c', 'A_/b=1', 'a=-x', 'a>1', 'a in', 'a b'])(
    '%s is refused with its reason',
    (text) => {
      expect(() => parseSelector(text)).toThrow(/KN1348.*label selector/)
    },
  )

  it('the object form refuses operators that do not exist and values where none may be', () => {
    expect(() => selectorOf({ matchExpressions: [{ key: 'a', operator: 'Like', values: ['x'] }] })).toThrow(
      'none of In',
    )
    expect(() => selectorOf({ matchExpressions: [{ key: 'a', operator: 'Exists', values: ['x'] }] })).toThrow(
      'takes no values',
    )
    expect(() => selectorOf({ matchExpressions: [{ key: 'a', operator: 'In' }] })).toThrow('needs values')
  })

  const key = fc.constantFrom('a', 'b', 'kubenode.io/pool')
  const value = fc.constantFrom('', '1', 'x-y', 'Z.9')
  const requirement: fc.Arbitrary<Requirement> = fc.oneof(
    fc.record({
      key,
      operator: fc.constantFrom('In' as const, 'NotIn' as const),
      values: fc.uniqueArray(value, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ key, operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const), values: fc.constant([]) }),
  )

  it('what is written is read back and matches the same, in both forms', () => {
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 4 }), fc.dictionary(key, value), (selector, labels) => {
        const again = parseSelector(formatSelector(selector))
        expect(matchesSelector(again, labels)).toBe(matchesSelector(selector, labels))
        expect(matchesLabels({ matchExpressions: selector }, labels)).toBe(matchesSelector(selector, labels))
      }),
      { numRuns: 200 },
    )
  })

  it('any text is read or refused with a number, never anything else', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        try {
          parseSelector(text)
        } catch (e) {
          expect(isKubeNodeError(e)).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('field selectors', () => {
  const pod = { metadata: { name: 'p' }, spec: { nodeName: 'a,b=c' }, status: { phase: 'Running', path: 'c:\\' } }
  it.each([
    ['', true],
    ['metadata.name=p', true],
    ['metadata.name!=p', false],
    ['status.phase=Running,metadata.name=p', true],
    ['status.reason=', true],
    [`spec.nodeName=${escapeFieldValue('a,b=c')}`, true],
    ['__proto__.x=', true],
    [String.raw`status.path=c:\\,metadata.name=p`, true],
    [String.raw`status.path=c:\\,metadata.name=q`, false],
  ])('%s is %s', (text, want) => {
    expect(matchesFields(parseFieldSelector(text), pod)).toBe(want)
  })

  it.each(['metadata.name', '=p', 'a=b=c', 'a b=c', 'a=b,', 'a=b\\'])('%s is refused', (text) => {
    expect(() => parseFieldSelector(text)).toThrow('KN1348')
  })
})
