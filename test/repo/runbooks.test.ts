// Every condition and reason leads to a runbook that exists and says what to do.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CONDITIONS, REASONS, RUNBOOKS, runbookPath } from '#api/catalogue.ts'

const root = join(import.meta.dirname, '../..')

describe.each(RUNBOOKS.map((r) => [r] as const))('the runbook %s', (runbook) => {
  const path = join(root, runbookPath(runbook))
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''

  test('exists, and has the meaning, the diagnosis and what to do', () => {
    const headings = [...text.matchAll(/^## (.+)$/gm)].map((m) => m[1])
    expect(headings).toEqual(['What it means', 'Diagnose', 'What to do'])
  })

  test('names every reason that leads to it', () => {
    const reasons = Object.entries(REASONS).filter(([, e]) => e.runbook === runbook)
    expect(reasons.map(([r]) => r).filter((r) => !text.includes(`\`${r}\``))).toEqual([])
  })
})

test('every runbook is reached from a condition or a reason', () => {
  const reached = new Set([...Object.values(CONDITIONS), ...Object.values(REASONS)].map((e) => e.runbook))
  expect(RUNBOOKS.filter((r) => !reached.has(r))).toEqual([])
})

test('nothing else lies among the runbooks', () => {
  const known = new Set(RUNBOOKS.map((r) => `${r}.md`))
  expect(readdirSync(join(root, 'docs/runbooks')).filter((f) => !known.has(f) && f !== 'README.md')).toEqual([])
})
