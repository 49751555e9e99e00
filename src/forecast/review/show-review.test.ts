// What the command prints: the documented sample as text, and data for programs.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type ReviewAsked, showReview } from './show-review.ts'

const root = join(import.meta.dirname, '../../..')

const folder = mkdtempSync(join(tmpdir(), 'kubenode-review-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function printed(history: string, output: ReviewAsked['output']): Promise<string> {
  const out: string[] = []
  const io = { cwd: root, isTerminal: false, out: (t: string) => void out.push(t), err: () => undefined }
  await showReview(
    { history, output, path: '.', usual: '90d', weakCage: 'refuse', weakCageNote: '' },
    () => expect.unreachable(),
    io as unknown as Parameters<typeof showReview>[2],
  )
  return out.join('')
}

test('the documented sample has nothing to look at, and as many needless repairs as its replay', async () => {
  const text = await printed('rules/history/repairs.jsonl.gz', 'text')
  expect(text).toContain('(46m, 90d asked for)')
  expect(text).toContain('Nothing to do.')
  expect(text).toMatch(/^deadlock +19 +13 +9 of 10 +3 +10 +0$/m)
  expect(text).toContain('Name the fleet with --commit')
})

test('conditions without a rule, as data', async () => {
  const data = JSON.parse(await printed('rules/history/example.jsonl.gz', 'json')) as Record<string, unknown>
  expect(data['findings']).toMatchObject([
    { kind: 'NoRule', of: 'Condition', name: 'DiskPressure' },
    { kind: 'NoRule', of: 'Condition', name: 'Ready' },
  ])
  expect(data['rules']).toMatchObject([{ rule: 'kernel-deadlock', mode: 'Enforce', times: 2, repairs: 2 }])
})

test('a next step that several findings share is said once', async () => {
  for (const output of ['text', 'markdown'] as const) {
    const text = await printed('rules/history/example.jsonl.gz', output)
    expect(text.match(/has no rule/g)).toHaveLength(2)
    expect(text.match(/Next: declare a NodeRemedier/g)).toHaveLength(1)
  }
})

test('a history without a node concludes nothing', async () => {
  const file = join(folder, 'empty.jsonl')
  const head = { line: 'head', format: 'kubenode-history/2', cluster: 'prod-1', from: 0, to: 60_000 }
  writeFileSync(file, `${JSON.stringify(head)}\n`)
  const text = await printed(file, 'text')
  expect(text).toMatch(/nothing was\s+recorded/)
  expect(text).toContain('Nothing was recorded of any node, so nothing follows.')
})
