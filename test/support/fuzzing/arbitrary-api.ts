// What a client may send to an API server: right words in wrong places, strange keys, broken JSON, schemas and expressions of any shape.
import fc from 'fast-check'

const words =
  'metadata spec status data name namespace labels annotations finalizers ownerReferences managedFields uid resourceVersion containers ports k v x n s set map any either items key apiVersion kind'.split(
    ' ',
  )
const strange = [
  '__proto__',
  'constructor',
  'toString',
  '',
  '~',
  '/',
  '$patch',
  '$retainKeys',
  '$setElementOrder/containers',
  '$deleteFromPrimitiveList/finalizers',
  'f:spec',
  '.',
  'a.b',
  '\u0000',
  '😀',
  '\ud800',
]
export const keys = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...words) },
  fc.constantFrom(...strange),
  fc.string({ maxLength: 6 }),
)
export const leaves = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1,
    1.5,
    1e308,
    -0,
    2 ** 53,
    'x',
    'v',
    '',
    'default',
    '1',
    'replace',
    'merge',
    'delete',
    '2026-01-01T00:00:00Z',
    'a/b',
    '10m',
  ),
  fc.string({ maxLength: 8 }),
  fc.integer(),
)
export const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaves,
    fc.dictionary(keys, tie('json'), { maxKeys: 5 }),
    fc.array(tie('json'), { maxLength: 4 }),
  ),
}))

/** JSON of a value with a few bytes changed, added or left out. */
const broken = fc
  .tuple(
    json,
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom('"', '{', '}', '[', ']', ',', ':', '\\', '\u0000', '1e999', '\\ud800', '/*', ' ', '-', '\t'),
      ),
      { maxLength: 3 },
    ),
  )
  .map(([value, cuts]) => {
    let text = JSON.stringify(value) ?? 'null'
    for (const [at, what] of cuts) {
      const i = at % (text.length + 1)
      text = text.slice(0, i) + what + text.slice(i + (at % 2))
    }
    return text
  })
export const bodies = fc.oneof<fc.Arbitrary<string | Buffer>[]>(
  broken,
  fc.uint8Array({ maxLength: 60 }).map((b) => Buffer.from(b)),
  fc.constantFrom(
    '',
    'null',
    '[]',
    '{}',
    '"',
    '{"metadata":null}',
    '{"a":1,"a":2}',
    '['.repeat(5_000),
    `{"metadata":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}`,
    '---\na: 1\n---\nb: 2',
    '&a [*a]',
    'a: &x [1]\nb: *x',
    '!!binary "x"',
    'k8s\u0000\u000a',
  ),
)

/** What strategic merge patches say beside values, in right and wrong places. */
export function directives(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const directive = fc.record(
    {
      $patch: fc.constantFrom<unknown>('replace', 'merge', 'delete', 'x', 1),
      $retainKeys: value,
      '$setElementOrder/containers': value,
      '$deleteFromPrimitiveList/finalizers': value,
      finalizers: value,
      name: fc.constantFrom<unknown>('c', 'd', 1, null),
      ports: fc.array(
        fc.record({ containerPort: leaves, $patch: fc.constantFrom('delete', 'replace') }, { requiredKeys: [] }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  )
  return fc.record(
    {
      metadata: directive,
      spec: fc.record(
        {
          $patch: fc.constantFrom('replace', 'delete'),
          template: fc.record({
            spec: fc.record({ containers: fc.array(fc.oneof(directive, value), { maxLength: 3 }) }),
          }),
          containers: fc.array(directive, { maxLength: 2 }),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  )
}

export function schemas(): fc.Arbitrary<unknown> {
  const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      leaves,
      fc.record(
        {
          type: fc.constantFrom<unknown>('object', 'array', 'string', 'integer', 'number', 'boolean', 'null', 'x', 1, [
            'string',
          ]),
          nullable: fc.boolean(),
          default: leaves,
          enum: fc.array(leaves, { maxLength: 3 }),
          pattern: fc.constantFrom<unknown>('^a+$', '(', '(?=a)', '[', '(a+)+$', 1),
          format: fc.constantFrom<unknown>('date-time', 'int32', 'byte', 'x', 'ipv4', 'email'),
          minimum: leaves,
          maxLength: leaves,
          multipleOf: fc.constantFrom<unknown>(0, 2, -1, 0.1),
          'x-kubernetes-int-or-string': fc.constantFrom<unknown>(true, false, 'x'),
          'x-kubernetes-preserve-unknown-fields': fc.constantFrom<unknown>(true, false, 1),
          'x-kubernetes-embedded-resource': fc.constantFrom<unknown>(true, false),
          'x-kubernetes-list-type': fc.constantFrom('set', 'map', 'atomic', 'x'),
          'x-kubernetes-list-map-keys': fc.array(keys, { maxLength: 2 }),
          'x-kubernetes-map-type': fc.constantFrom('granular', 'atomic', 'x'),
          required: fc.array(keys, { maxLength: 2 }),
          properties: fc.dictionary(keys, tie('schema'), { maxKeys: 3 }),
          items: tie('schema'),
          additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
          allOf: fc.array(tie('schema'), { maxLength: 2 }),
          not: tie('schema'),
          oneOf: fc.array(tie('schema'), { maxLength: 2 }),
          $ref: fc.constant('#/definitions/x'),
        },
        { requiredKeys: [] },
      ),
    ),
  }))
  const sane = fc.record({
    type: fc.constant('object'),
    properties: fc.record({ spec: schema, status: schema }, { requiredKeys: [] }),
  })
  return fc.oneof({ weight: 3, arbitrary: sane }, schema)
}

export function cel(): fc.Arbitrary<string> {
  const atoms = fc.constantFrom(
    'self',
    'oldSelf',
    'self.n',
    'self.s',
    'self.set',
    'self.map',
    'self.any',
    'self.either',
    '1',
    '-1',
    '1u',
    '1.5',
    '"a"',
    "'b'",
    'b"c"',
    'r"\\d"',
    'true',
    'null',
    '[]',
    '{}',
    '[1,2]',
    '{"a": 1}',
    'duration("1h")',
    'timestamp("2026-01-01T00:00:00Z")',
    'quantity("1Gi")',
    'ip("1.2.3.4")',
    'cidr("10.0.0.0/8")',
    'url("https://a/b")',
    'type(1)',
    'x',
    'int',
    '9223372036854775807',
    '0x10',
    '"\\ud800"',
  )
  const { e } = fc.letrec<{ e: string }>((tie) => ({
    e: fc.oneof(
      { maxDepth: 4 },
      atoms,
      fc
        .tuple(
          tie('e'),
          fc.constantFrom('+', '-', '*', '/', '%', '==', '!=', '<', '>=', '&&', '||', ' in ', '?', '.'),
          tie('e'),
        )
        .map(([a, op, b]) => (op === '?' ? `(${a}) ? (${b}) : (${a})` : `${a}${op}${b}`)),
      fc
        .tuple(
          fc.constantFrom(
            '!',
            '-',
            'size',
            'has',
            'string',
            'int',
            'double',
            'bytes',
            'dyn',
            'isQuantity',
            'isURL',
            'ip.isCanonical',
            'optional.of',
            'cel.bind',
          ),
          tie('e'),
        )
        .map(([f, a]) => `${f}(${a})`),
      fc
        .tuple(
          tie('e'),
          fc.constantFrom(
            'all',
            'exists',
            'exists_one',
            'map',
            'filter',
            'matches',
            'contains',
            'startsWith',
            'find',
            'findAll',
            'indexOf',
            'replace',
            'split',
            'isSorted',
            'sum',
            'min',
            'substring',
            'format',
            'getHost',
            'containsIP',
            'isGreaterThan',
            'asInteger',
            'orValue',
            'lowerAscii',
            'join',
          ),
          tie('e'),
        )
        .map(
          ([a, f, b]) =>
            `${a}.${f}(${f === 'all' || f === 'exists' || f === 'map' || f === 'filter' || f === 'exists_one' ? `i, ${b}` : b})`,
        ),
      fc.tuple(tie('e'), tie('e')).map(([a, b]) => `${a}[${b}]`),
    ),
  }))
  return fc.oneof(
    { weight: 5, arbitrary: e },
    fc.string({ maxLength: 30 }),
    e.map((t) => `${t} == ${t}`),
    e.map((t) => t.slice(0, -1)),
  )
}
