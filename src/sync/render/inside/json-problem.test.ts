// An entry of a JSON file that a parser drops is named, and nothing else is.
import { expect, test } from 'vitest'
import { jsonProblem } from './json-problem.ts'

const twice = (key: string, line: number) => ({ why: `the key ${key} is used twice; keep one`, line })

test.each<[string, string, object | undefined]>([
  ['a key twice', '{\n  "edge": { "stage": "test" },\n  "edge": { "stage": "prod" }\n}\n', twice('"edge"', 3)],
  ['a key twice in the depth', '[{ "a": [{ "b": 1, "b": 2 }] }]', twice('"b"', 1)],
  ['a key that is written in another way', String.raw`{ "a": 1, "\u0061": 2 }`, twice(String.raw`"\u0061"`, 1)],
  ['a key after an object', '{ "a": {}, "b": [], "a": 1 }', twice('"a"', 1)],
  ['a key that every object has', '{ "a": 1 }', undefined],
  ['one key in two objects', '{ "a": { "x": 1 }, "b": { "x": 1 }, "x": ["x", "x"] }', undefined],
  ['texts with signs of JSON', String.raw`{ "a": "{\"a\": 1, \"a\": 2}", "b": "a\\", "c": ",:" }`, undefined],
  ['a mark at the start', '\uFEFF{ "a": 1 }', undefined],
  ['a text alone', '"a"', undefined],
])('%s', (_, text, problem) => expect(jsonProblem(text)).toEqual(problem))

test('a text that is no JSON is explained by its parser', () => {
  expect(jsonProblem('{\n"a": x }')).toEqual({ why: expect.stringMatching(/JSON/), line: 2 })
  expect(jsonProblem('{\n"a": ')).toEqual({ why: expect.stringMatching(/JSON/), line: 2 })
})
