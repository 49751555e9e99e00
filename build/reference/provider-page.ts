// The page of infra providers: what a providers file looks like, and the options of each provider.
import { fieldRows } from '#api/gen/field-rows.ts'
import { code, join, table } from '#api/gen/markdown.ts'
import type { ProviderDefinition } from '#providers/definition.ts'
import { PROVIDERS } from '#providers/registry.ts'

export const PROVIDER_PAGE = 'docs/reference/providers.md'

const EXAMPLE = `providers:
- name: static
  options:
    notes: /var/lib/kubenode/static
- name: process
  options:
    dir: /var/lib/kubenode/nodes
  orphans: Report
`

export const providerPage = (providers: readonly ProviderDefinition[] = PROVIDERS): string =>
  join([
    '# Infra providers',
    '<!-- Generated from src/providers by npm run gen. -->',
    'Who makes, finds, restarts and removes the hosts of Machines. `kubenode run --providers FILE` (role controllers) serves the providers that the file lists, in YAML or JSON; `Machine.spec.provider.name` chooses one of them.',
    `\`\`\`yaml\n${EXAMPLE}\`\`\``,
    'Relative paths start at the folder of the file. The file and what its options name must be safe from other users of the host.',
    '`orphans` sets what is done with hosts that belong to no Machine. `Report`: they are counted (`kubenode_orphan_hosts`) and listed (`kubenode provider orphans`, which also approves the deletion of one). `Delete`: they are deleted after 15 minutes, unless a Node or an agent of them was ever observed, or there are more than 3 and more than 1 % of the hosts at once. The default is `Delete` for process, nspawn and hollow, and `Report` for all others.',
    ...providers.map(section),
  ])

const section = ({ name, doc, optionsSchema, paramsSchema }: ProviderDefinition): string =>
  join([
    `## ${name}`,
    doc,
    ...(paramsSchema === undefined
      ? []
      : [rowsOf('parameter', paramsSchema, 'params'), 'Parameters are texts in `Machine.spec.provider.params`.']),
    `${rowsOf('option', optionsSchema, 'options')}\n\n\\* must be given`,
  ]).trimEnd()

const rowsOf = (what: string, { schema }: ProviderDefinition['optionsSchema'], path: string): string =>
  table(
    [what, 'type', 'default', 'what it is'],
    fieldRows(schema, path).map((r) => [code(r.path) + (r.required ? ' *' : ''), r.type, code(r.fallback), r.doc]),
  )
