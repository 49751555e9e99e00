// Everything generated from the kinds, by path in the repository. Pure: other code writes it.
import type { ApiKind } from '../kind.ts'
import { KINDS } from '../kinds.ts'
import { crdYaml } from './crd-yaml.ts'
import { conditionsPage, indexPage, referencePage } from './reference.ts'
import { TABLES } from '../protocol/tables.ts'
import type { Table } from '../protocol/table.ts'
import { code, join, NOTE, table } from './markdown.ts'

/** Directories with generated files only; a file that is not generated here is stale. */
export const GENERATED_DIRECTORIES = ['deploy/crds', 'docs/reference'] as const

/** The page of shared state machines: each protocol table with its states, rows and preconditions. */
const protocolPage = (): string =>
  join([
    '# Shared protocols',
    NOTE,
    'State machines that several parts share. Each is written by a single manager. A transition happens only if every precondition is known to hold; an unknown precondition blocks it.',
    ...TABLES.map(section),
  ])

const section = (t: Table<string, string, string>): string =>
  join([
    `## ${t.name}`,
    `Field \`${t.field}\`, written by \`${t.writer}\`, begins as \`${t.initial}\`${
      t.terminal.length === 0 ? ', never ends' : `, ends as ${t.terminal.map(code).join(', ')}`
    }.`,
    table(
      ['state', 'meaning'],
      Object.entries(t.states).map(([s, doc]) => [code(s), doc]),
    ),
    table(
      ['from', 'event', 'to', 'when'],
      t.rows.map((r) => [code(r.from), r.event, code(r.to), r.when.map(code).join(', ')]),
    ),
    table(
      ['precondition', 'holds when'],
      Object.entries(t.preconditions).map(([p, doc]) => [code(p), doc]),
    ),
  ]).trimEnd()

export function generatedFiles(kinds: readonly ApiKind[] = KINDS): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const kind of kinds) {
    files.set(`deploy/crds/${kind.plural}.yaml`, crdYaml(kind))
    files.set(`docs/reference/${kind.kind.toLowerCase()}.md`, referencePage(kind))
  }
  files.set('docs/reference/README.md', indexPage(kinds))
  files.set('docs/reference/conditions.md', conditionsPage())
  files.set('docs/reference/protocol.md', protocolPage())
  return files
}
