import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ranTable, runAll } from './run-all.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubenode-run-all-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Ends in each way that a benchmark can end. */
const PROGRAM = `
const [name, ...args] = process.argv.slice(2)
const line = (figures) => console.log('a table\\n' + JSON.stringify({ bench: name, figures, args }))
if (name === 'good') line({ n: 1 })
if (name === 'broken') { console.error('KN9003: the benchmark failed: the node did not come'); process.exitCode = 1 }
if (name === 'silent') console.log('a table')
if (name === 'empty') line({})
if (name === 'hanging') { console.error('waits'); setInterval(() => undefined, 1_000) }
`

test('a benchmark that fails, prints no figures or hangs is refused, and the others are measured', async () => {
  const main = join(folder, 'main.mjs')
  writeFileSync(main, PROGRAM)
  const benches = ['broken', 'good', 'silent', 'empty', 'hanging']
  const options = { command: [process.execPath, main], args: ['--smoke'], atOnce: 2, withinMs: 3_000 } as const
  const all = await runAll(benches, options)
  expect(all.map(({ bench, problem }) => [bench, problem])).toEqual([
    ['broken', 'ended with 1: KN9003: the benchmark failed: the node did not come'],
    ['good', undefined],
    ['silent', 'printed no figures'],
    ['empty', 'printed no figures'],
    ['hanging', 'did not end within 3 s: waits'],
  ])
  expect(all[1]?.line).toEqual({ bench: 'good', figures: { n: 1 }, args: ['--smoke'] })
})

test('the table names what failed, and why', () => {
  const all = [
    { bench: 'agent', seconds: 91.04, problem: 'ended with 1: the node did not come' },
    { bench: 'queue', seconds: 2, line: {} },
  ]
  expect(ranTable(all)).toEqual([
    'bench          seconds',
    'agent  FAILED     91.0  ended with 1: the node did not come',
    'queue  ok          2.0',
  ])
})
