// The page of the words that rules may use: facts, operators, conditions and repairs, as the code that judges rules knows them.
import { code, join, table } from '#api/gen/markdown.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { OPERATIONS } from '#api/kinds/operations.ts'
import { NODE_CONDITIONS } from '#api/node-conditions.ts'
import { clusterVocabulary } from '#policy/cluster-vocabulary.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { releaseVocabulary } from '#policy/release-vocabulary.ts'
import { DECORATORS, OPERATORS } from '#policy/operators/decorated.ts'
import { factNames, factShape, type Shape, type Vocabulary } from '#policy/vocabulary.ts'
import type { Schema } from '#api/schema/schema.ts'

export const RULES_PAGE = 'docs/reference/rules.md'

const EXAMPLE = `all:
  - { fact: conditions, path: /KernelDeadlock/status, operator: equal, value: 'True', for: 5m }
  - { fact: peers, path: /zone/KernelDeadlock, operator: ratioAtMost, value: 10% }
  - not: { fact: labels, path: /example.org~1keep, operator: exists, value: true }
`

export const rulesPage = (): string =>
  join([
    '# The words of rules',
    '<!-- Generated from src/policy and src/api by npm run gen. -->',
    'A rule (`when` of a [NodeRemedier](noderemedier.md), `rules[].when` of a [DefenderPolicy](defenderpolicy.md), or `custom.when` of a gate of a [ReleasePipeline](releasepipeline.md)) is a tree of `all`, `any` and `not` over conditions. A condition compares one fact with a value, and is true, false or unknown. What is unknown never starts a repair and opens no gate. How to write one: [own rule](../tasks/own-rule.md).',
    `\`\`\`yaml\n${EXAMPLE}\`\`\``,
    '`path` names the part of a fact: names joined by `/`, with `~1` for a `/` inside of a name. `for` means that the condition has held that long; it works where the last column has a yes. Instead of a value, `value: { fact, path }` compares with another fact where the operator allows it.',
    '## Facts about a node',
    factTable(nodeVocabulary()),
    '## Facts about the cluster',
    'Only rules of a DefenderPolicy have these.',
    factTable(clusterVocabulary),
    '## Facts about a release',
    'Only custom gates of a [ReleasePipeline](releasepipeline.md) have these; how they work: [gates](../concepts/gates.md).',
    factTable(releaseVocabulary),
    '## Operators',
    table(
      ['operator', 'compares', 'true when'],
      [...OPERATORS.values()].map(({ name, accepts: looksAt, doc }) => [code(name), looksAt, doc]),
    ),
    'Before an operator, as in `not:equal` or `someFact:startsWith`:',
    table(
      ['word', 'meaning'],
      [...DECORATORS].map(([name, { doc }]) => [code(name), doc]),
    ),
    '## Conditions that agents report by themselves',
    'True means trouble. [Monitors](../concepts/detection.md) and log rules of the configuration add others; a name that no agent reports stays unknown.',
    table(
      ['condition', 'meaning'],
      Object.entries(NODE_CONDITIONS).map(([type, doc]) => [code(type), doc]),
    ),
    '## Repairs',
    'The operations of a rung, in the order in which a ladder usually has them. Their fields: [NodeRemedier](noderemedier.md).',
    table(
      ['operation', 'what it does'],
      OPERATIONS.map((name) => [code(name), operationDocs()?.[name]?.description ?? '']),
    ),
  ])

function operationDocs(): Readonly<Record<string, Schema>> | undefined {
  const ladder = nodeRemedier.schema.properties?.['spec']?.properties?.['ladder']
  return ladder?.items?.properties?.['operations']?.items?.properties
}

const factTable = (vocabulary: Vocabulary): string =>
  table(
    ['fact', 'path', 'type', 'meaning', '`for`'],
    factNames(vocabulary).flatMap((fact) => {
      const shape = factShape(vocabulary, fact)
      return shape === undefined ? [] : rowsOf(fact, '', shape)
    }),
  )

/** One row for each part that a condition can compare; objects and maps are only the way to it. */
function rowsOf(fact: string, path: string, shape: Shape): readonly (readonly string[])[] {
  if (shape.type === 'object')
    return Object.entries(shape.fields).flatMap(([field, of]) => rowsOf(fact, `${path}/${field}`, of))
  if (shape.type === 'map') {
    const rows = rowsOf(fact, `${path}/NAME`, shape.of)
    return rows.map(([a = '', b = '', type = '', doc = '', ...rest]) => [a, b, type, doc || (shape.doc ?? ''), ...rest])
  }
  const canHold = shape.type === 'string' && shape.since !== undefined
  return [[code(fact), code(path), typeOf(shape), shape.doc ?? itemDoc(shape), canHold ? 'yes' : '']]
}

const itemDoc = (shape: Shape): string => (shape.type === 'list' ? (shape.items.doc ?? '') : '')

const typeOf = (shape: Shape): string =>
  shape.type === 'list'
    ? `list of ${typeOf(shape.items)}`
    : shape.type === 'string' && shape.values !== undefined
      ? shape.values.join(', ')
      : shape.type
