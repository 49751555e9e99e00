import { describe, expect, it } from 'vitest'
import { compileCel, evaluateCel } from './cel.ts'
import { celToJson, misplacedTypes, MUTATION_LIBRARY } from './mutation.ts'
import { DYN, formatType } from './types.ts'

const env = { variables: { object: DYN }, library: MUTATION_LIBRARY }
const object = {
  metadata: { name: 'a', labels: { 'app.io/x': '1' } },
  spec: { replicas: 3, big: 9007199254740993n, parts: [{ name: 'p' }] },
}

function run(expression: string): unknown {
  const compiled = compileCel(expression, env)
  if (!compiled.ok) return compiled.problems.split('\n')[0]
  const out = evaluateCel(compiled.program, { object })
  if (!out.ok) return `error: ${out.error}`
  const made = celToJson(out.value)
  return made.ok ? made.json : `not JSON: ${made.error}`
}

describe('objects that an expression makes', () => {
  it.each<[string, unknown]>([
    ['Object{}', {}],
    ['Object{spec: Object.spec{replicas: 3}}', { spec: { replicas: 3 } }],
    ['Object { spec : Object.spec { replicas : 3 } }', { spec: { replicas: 3 } }],
    ['Object{metadata: Object.metadata{labels: {"a/b": "c"}}}', { metadata: { labels: { 'a/b': 'c' } } }],
    ['Object{spec: Object.spec{parts: [Object.spec.parts{name: "x"}]}}', { spec: { parts: [{ name: 'x' }] } }],
    [
      'Object{spec: Object.spec{parts: object.spec.parts.map(p, Object.spec.parts{name: p.name + "2"})}}',
      { spec: { parts: [{ name: 'p2' }] } },
    ],
    ['Object{spec: object.spec}', { spec: object.spec }],
    ['Object{?spec: optional.none(), ?status: optional.of("x")}', { status: 'x' }],
    ['Object{?gone: object.?nothing}', {}],
    ['Object{__namespace__: "n", a__dash__b: 1, a__underscores__b: 2}', { namespace: 'n', 'a-b': 1, a__b: 2 }],
    ['true ? Object{a: 1} : Object{}', { a: 1 }],
    ['[JSONPatch{op: "add", path: "/a", value: {"k": [1]}}]', [{ op: 'add', path: '/a', value: { k: [1] } }]],
    [
      '[JSONPatch{op: "remove", path: "/metadata/labels/" + jsonpatch.escapeKey("app.io/x~y")}]',
      [{ op: 'remove', path: '/metadata/labels/app.io~1x~0y' }],
    ],
    ['object.spec.replicas > 5 ? [JSONPatch{op: "test", path: "/"}] : []', []],
    [
      'Object{a: timestamp("2024-01-02T03:04:05Z"), b: duration("90s"), c: 1u, d: 1.5, e: null}',
      {
        a: '2024-01-02T03:04:05Z',
        b: '90s',
        c: 1,
        d: 1.5,
        e: null,
      },
    ],
    ['Object{a: "{" + "}" + \'Object{\', b: ["[?", "x"]}', { a: '{}Object{', b: ['[?', 'x'] }],
    ['Object{a: 1}.a', 1],
    ['has(Object{a: 1}.b)', false],
    ['Object{a: 1} == Object{a: 1}', true],
    ['{"in": 1 in {1: 2}}', { in: true }],
  ])('%s', (expression, expected) => expect(run(expression)).toEqual(expected))

  it.each<[string, string]>([
    ['Other{}', "ERROR: <input>:1:6: undeclared reference to 'Other' (in container '')"],
    ['Objects{}', "ERROR: <input>:1:8: undeclared reference to 'Objects' (in container '')"],
    ['JSONPatch{operation: "add"}', "ERROR: <input>:1:20: undefined field 'operation'"],
    ['JSONPatch{op: 1}', "ERROR: <input>:1:13: expected type of field 'op' is 'string' but provided type is 'int'"],
    ['Object{"a": 1}', 'ERROR: <input>:1:8: Syntax error: the name of a field is an identifier'],
  ])('%s is refused', (expression, problem) => expect(run(expression)).toBe(problem))

  it('are nothing that other expressions can make', () => {
    const compiled = compileCel('Object{}', { variables: {} })
    expect(compiled.ok ? '' : compiled.problems.split('\n')[0]).toBe(
      "ERROR: <input>:1:7: undeclared reference to 'Object' (in container '')",
    )
  })

  it('have the type that they are named by', () => {
    const types = ['Object{}', 'true ? Object{} : Object{}', '[JSONPatch{}]', 'true ? [JSONPatch{}] : []'].map((e) => {
      const compiled = compileCel(e, env)
      return compiled.ok ? formatType(compiled.program.type) : compiled.problems
    })
    expect(types).toEqual(['Object', 'Object', 'list(JSONPatch)', 'list(JSONPatch)'])
  })

  it('are no JSON with keys that are no strings, or with values that have no form in it', () => {
    expect([run('Object{a: {1: 2}}'), run('Object{a: type(1)}')]).toEqual([
      'not JSON: the keys of a map must be strings',
      'not JSON: a value of this type cannot be written as JSON',
    ])
  })

  it.each<[string, readonly string[]]>([
    ['Object{spec: Object.spec{a: [Object.spec.a{}], b: {"k": Object.spec.b{}}}}', []],
    ['Object{spec: Object.wrong{a: Object.spec.a{}}}', ['"Object.wrong", expected "Object.spec"']],
    ['Object{spec: Object.spec{a: [Object.spec.b{}]}}', ['"Object.spec.b", expected "Object.spec.a"']],
  ])('%s is refused with the place where its types do not match', (expression, expected) => {
    const compiled = compileCel(expression, env)
    const out = compiled.ok ? evaluateCel(compiled.program, { object }) : undefined
    const found = out?.ok === true ? misplacedTypes(out.value) : ['did not run']
    expect(found.map((f) => f.replace(/^unexpected type name |, which matches.*$/g, ''))).toEqual(expected)
  })
})
