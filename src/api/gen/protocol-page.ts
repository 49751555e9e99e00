// The page of shared state machines: each protocol table with its states, rows and preconditions.
import { TABLES } from '../protocol/tables.ts'
import type { Table } from '../protocol/table.ts'
import { code, join, NOTE, table } from './markdown.ts'

export const protocolPage = (): string =>
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
