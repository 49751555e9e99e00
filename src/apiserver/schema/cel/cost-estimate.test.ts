import { describe, expect, it } from 'vitest'
import type { Schema } from '#api/schema/schema.ts'
import { compileCel } from './cel.ts'
import { estimateCost } from './cost-estimate.ts'
import { sizedOf } from './cost-size.ts'
import { celTypeOf } from './schema-type.ts'

const text: Schema = { type: 'string' }
const number: Schema = { type: 'number' }
const list = (items: Schema, maxItems?: number): Schema => ({
  type: 'array',
  items,
  ...(maxItems === undefined ? {} : { maxItems }),
})
const map = (additionalProperties: Schema, maxProperties?: number): Schema => ({
  type: 'object',
  additionalProperties,
  ...(maxProperties === undefined ? {} : { maxProperties }),
})
const upTo = (maxLength: number): Schema => ({ type: 'string', maxLength })
const format = (name: string): Schema => ({ type: 'string', format: name })
const intOrString: Schema = { 'x-kubernetes-int-or-string': true }
const object = (properties: Record<string, Schema>): Schema => ({ type: 'object', properties })

/** The most that the real server says these expressions cost. */
const KNOWN: readonly (readonly [string, Schema, string, number])[] = [
  ['a list of numbers', list(number), 'self.all(x, true)', 4_718_591],
  ['ten numbers', list(number, 10), 'self.all(x, true)', 32],
  ['a list of strings', list(text), 'self.all(x, true)', 3_145_727],
  ['a list of booleans', list({ type: 'boolean' }), 'self.all(x, true)', 1_887_437],
  ['a list of lists', list(list(number)), 'self.all(x, true)', 3_145_727],
  ['a map of numbers', map(number), 'self.all(x, true)', 1_348_169],
  ['a map of strings', map(text), 'self.all(x, true)', 1_179_647],
  ['a map of booleans', map({ type: 'boolean' }, 100), 'self.all(x, true)', 302],
  ['contains', text, "self.contains('test')", 314_574],
  ['contains in ten characters', upTo(10), "self.contains('test')", 5],
  ['startsWith', text, "self.startsWith('test')", 2],
  ['concatenation', text, 'size(self + "hello") > size("hello")', 314_578],
  ['concatenation of four characters', upTo(4), 'size(self + "hello") > size("hello")', 7],
  ['an element that is a number', list(number), 'self[1] == 0.0', 2],
  ['elements that are strings', list(text), 'self[1] == self[1]', 314_577],
  ['a loop in a loop', list(number, 10), 'self.all(x, self.all(y, true))', 352],
  ['a loop in a loop in a loop', list(number, 10), 'self.all(x, self.all(y, self.all(z, true)))', 3_552],
  ['a pattern', text, 'self.matches("x")', 314_574],
  ['a pattern on fifty characters', upTo(50), 'self.matches("x")', 22],
  ['a pattern on nothing', text, '"".matches("(((((((((())))))))))[0-9]")', 7],
  ['the empty pattern', text, 'self.matches("")', 1],
  ['equality with a string', text, 'self == "x"', 2],
  ['equality of bytes', format('byte'), 'self == b"x"', 2],
  ['elements compared', list(number), 'self.all(x, x == 0.0)', 6_291_454],
  ['int-or-string elements', list(intOrString), 'self.all(x, true)', 4_718_591],
  ['an int-or-string element', list(intOrString), 'self[0] == 5', 3],
  ['an element of an element', list(list(number)), 'self[0][0] == -1.0', 3],
  ['a list of maps', list(map(number)), 'self.all(x, x.y == 25.2)', 6_291_452],
  ['an entry of an element', list(map(number)), 'self[0].x > 2.0', 4],
  ['a list of durations', list(format('duration')), 'self.all(x, true)', 2_359_295],
  ['hours of a duration', list(format('duration')), 'self[0].getHours() == 2', 4],
  ['a list of dates', list(format('date')), 'self.all(x, true)', 725_936],
  ['a list of times', list(format('date-time')), 'self.all(x, true)', 428_963],
  ['a map of times', map(format('date-time')), 'self.all(x, true)', 349_526],
  ['find', text, "self.find('[0-9]+') == ''", 629_147],
  ['find in ten characters', upTo(10), "self.find('[0-9]+') == ''", 11],
  ['join', list(text), "self.join(' ') == 'aa bb'", 329_853_068_905],
  ['join of ten', list(upTo(10), 10), "self.join(' ') == 'aa bb'", 43],
  ['isSorted', list(text), 'self.isSorted() == true', 329_854_432_052],
  ['isSorted of ten', list(upTo(10), 10), 'self.isSorted() == true', 52],
  [
    'replace',
    object({ str: text, before: upTo(2), after: upTo(4) }),
    "self.str.replace(self.before, self.after) == 'does not matter'",
    629_154,
  ],
  [
    'replace in four characters',
    object({ str: upTo(4), before: upTo(2), after: upTo(4) }),
    "self.str.replace(self.before, self.after) == 'does not matter'",
    12,
  ],
  ['split', object({ str: text, separator: text }), 'self.str.split(self.separator) == []', 629_160],
  ['split of ten', object({ str: upTo(10), separator: upTo(10) }), 'self.str.split(self.separator) == []', 22],
  ['lowerAscii', text, "self.lowerAscii() == 'lower!'", 314_575],
  ['sizes', map({ type: 'integer' }), 'oldSelf.size() == self.size()', 5],
  ['equality of times', map(format('date-time')), 'self["a"] == self["b"]', 8],
  ['an enumeration', { type: 'string', enum: ['A', 'B', 'LongValue'] }, "self.contains('A')", 2],
  ['a quantity', { ...intOrString, maxLength: 20 }, 'isQuantity(self)', 9],
]

describe('the estimated cost', () => {
  it.each(KNOWN)('%s', (_, schema, rule, cost) => {
    const [self, sized] = [celTypeOf(schema), sizedOf(schema, 'value')]
    if (self === undefined || sized === undefined) throw new Error('no type')
    const compiled = compileCel(rule, { variables: { self, oldSelf: self } })
    if (!compiled.ok) throw new Error(compiled.problems)
    expect(estimateCost(compiled.program.node, sized)).toBe(cost)
  })
})
