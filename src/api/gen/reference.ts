// A kind's reference page, and the page of conditions and reasons, as Markdown.
import { stringify } from 'yaml'
import { qualifiedPlural } from '../schema/resource.ts'
import type { Schema } from '../schema/schema.ts'
import { CONDITIONS, REASONS, runbookPath, type Runbook } from '../catalogue.ts'
import { PHASES } from '../phases.ts'
import { API_GROUP_VERSION, type ApiKind } from '../kind.ts'
import { fieldRows, type FieldRow } from './field-rows.ts'
import { code, join, NOTE, table } from './markdown.ts'

const runbookLink = (r: Runbook): string => `[${r}](${runbookPath(r).replace('docs/', '../')})`

export function referencePage(kind: ApiKind): string {
  const { definition, schema } = kind
  const { spec, status } = schema.properties ?? {}
  return join([
    `# ${kind.kind}`,
    NOTE,
    definition.doc,
    `\`${qualifiedPlural(kind)}\`, short ${code(kind.shortName)}, \`${API_GROUP_VERSION}\`, ${
      kind.namespaced ? 'in a namespace (hub only)' : 'of the whole cluster'
    }.${definition.selectable === undefined ? '' : ` Field selectors: ${definition.selectable.map((s) => code(s.slice(1))).join(', ')}.`}`,
    '## Example',
    `\`\`\`yaml\n${stringify(kind.example, { lineWidth: 0, aliasDuplicateObjects: false })}\`\`\``,
    spec === undefined ? '' : `## Spec\n\n${spec.description ?? ''}\n\n${fieldTable(fieldRows(spec, 'spec'))}`,
    status === undefined
      ? ''
      : `## Status\n\n${status.description ?? ''}\n\n${fieldTable(fieldRows(status, 'status'))}`,
    rulesSection(schema),
    phasesSection(schema),
    conditionsSection(kind),
  ])
}

const fieldTable = (rows: readonly FieldRow[]): string =>
  table(
    ['field', 'type', 'default', 'bounds', 'what it is'],
    rows.map((r) => [code(r.path) + (r.required ? ' *' : ''), r.type, code(r.fallback), r.bounds, r.doc]),
  ) + '\n\n\\* must be given'

function rulesSection(schema: Schema): string {
  const rules = collectRules(schema, '')
  if (rules.length === 0) return ''
  return `## Rules\n\n${table(
    ['where', 'rule'],
    rules.map(([where, message]) => [code(where), message]),
  )}`
}

function collectRules(schema: Schema, path: string): readonly (readonly [string, string])[] {
  const own = (schema['x-kubernetes-validations'] ?? []).map((r) => [path, r.message ?? r.rule] as const)
  const below = Object.entries(schema.properties ?? {}).flatMap(([k, s]) =>
    collectRules(s, path === '' ? k : `${path}.${k}`),
  )
  return [...own, ...below, ...(schema.items === undefined ? [] : collectRules(schema.items, `${path}[]`))]
}

/** Every phase table whose names some field of the kind allows. */
function phasesSection(schema: Schema): string {
  const enums = new Map(collectEnums(schema, ''))
  const sections = Object.entries(PHASES).flatMap(([, phases]) => {
    const where = enums.get(JSON.stringify(Object.keys(phases)))
    if (where === undefined) return []
    return [
      `### \`${where}\`\n\n${table(
        ['value', 'meaning'],
        Object.entries(phases).map(([p, doc]) => [code(p), doc]),
      )}`,
    ]
  })
  return sections.length === 0 ? '' : `## Phases\n\n${sections.join('\n\n')}`
}

function collectEnums(schema: Schema, path: string): readonly (readonly [string, string])[] {
  const own = schema.enum === undefined ? [] : [[JSON.stringify(schema.enum), path] as const]
  const below = Object.entries(schema.properties ?? {}).flatMap(([k, s]) =>
    collectEnums(s, path === '' ? k : `${path}.${k}`),
  )
  return [...own, ...below, ...(schema.items === undefined ? [] : collectEnums(schema.items, `${path}[]`))]
}

function conditionsSection({ definition }: ApiKind): string {
  const { conditions = [] } = definition
  if (conditions.length === 0) return ''
  return `## Conditions\n\n${table(
    ['type', 'good when', 'meaning', 'runbook'],
    conditions.map((c) => [code(c), CONDITIONS[c].good, CONDITIONS[c].doc, runbookLink(CONDITIONS[c].runbook)]),
  )}\n\nReasons are listed in [conditions and reasons](conditions.md).`
}

export const conditionsPage = (): string =>
  join([
    '# Conditions and reasons',
    NOTE,
    'All condition types and reasons that a status can contain. `kubenode why` prints them together with what unblocks the object.',
    `## Condition types\n\n${table(
      ['type', 'good when', 'meaning', 'runbook'],
      Object.entries(CONDITIONS).map(([c, e]) => [code(c), e.good, e.doc, runbookLink(e.runbook)]),
    )}`,
    `## Reasons\n\n${table(
      ['reason', 'meaning', 'runbook'],
      Object.entries(REASONS).map(([r, e]) => [code(r), e.doc, runbookLink(e.runbook)]),
    )}`,
  ])

export const indexPage = (kinds: readonly ApiKind[]): string =>
  join([
    '# Reference',
    NOTE,
    `Kinds of \`${API_GROUP_VERSION}\`. What phases, conditions and reasons mean is in [conditions and reasons](conditions.md), what may follow what in [shared protocols](protocol.md), every numbered error in [errors](errors.md), the options of infra providers in [providers](providers.md), how to write one in [the protocol of providers](provider-protocol.md), the shipped rules in [rules](rules.md), how many machines of a small fleet may be worked on at once in [small fleets](small-fleets.md), every command in [commands](commands.md), and the figures of replays and simulations in [figures](figures.md). What KubeNode promises to what it runs: the contracts of [components](component-contract.md), [monitors](monitor-contract.md) and [cases of rules](case-contract.md).`,
    table(
      ['kind', 'short', 'where', 'what it is'],
      kinds.map((k) => [
        `[${k.kind}](${k.kind.toLowerCase()}.md)`,
        code(k.shortName),
        k.namespaced ? 'hub' : 'cluster',
        k.definition.doc,
      ]),
    ),
  ])
