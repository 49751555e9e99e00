// `npm run rights`: runs the tests in which our programs act and writes which rights they used to test/repo/used-rights.json. With names of test files, those
// alone are run, and the table only grows. Files that fail, as on a loaded machine, run once more without the others.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { EVIDENCE, recordedTable, TABLE_FILE, usedIn } from './record.ts'
import { creditOf, shippedRights, tableOf } from './shipped-rights.ts'

const some = process.argv.slice(2)
/** As vitest.config.ts has them, which one on the command line replaces. */
const REPORTERS = ['default', './test/support/tools/honest-reporter.ts'].map((name) => `--reporter=${name}`)
const folder = mkdtempSync(join(tmpdir(), 'kubenode-rights-'))
const report = join(`${folder}-report`, 'results.json')
try {
  const first = runTests(some.length > 0 ? some : EVIDENCE)
  const failed = first === 0 ? [] : failedFiles()
  const status = failed.length === 0 ? first : runTests(failed)
  process.exitCode = status
  const credits = usedIn(folder).map(creditOf)
  for (const c of credits) if (c.kind === 'Foreign') console.error(`not by a shipped role: ${c.text}`)
  const used = credits.flatMap((c) => (c.kind === 'Shipped' ? [c] : []))
  const shipped = shippedRights()
  const before = Object.entries(some.length > 0 ? recordedTable() : {}).flatMap(([identity, rights]) =>
    rights.filter((text) => shipped[identity]?.includes(text)).map((text) => ({ identity, text })),
  )
  // A failed test used less than it would have.
  if (status === 0 || some.length > 0)
    writeFileSync(TABLE_FILE, `${JSON.stringify(tableOf([...before, ...used]), null, 2)}\n`)
} finally {
  for (const path of [folder, dirname(report)]) rmSync(path, { recursive: true, force: true })
}

function runTests(files: readonly string[]): number {
  // The long cases use rights too.
  const env = { ...process.env, KUBENODE_RECORD_RIGHTS: folder, KUBENODE_TEST_FULL: '1' }
  const args = ['run', ...files, ...REPORTERS, '--reporter=json', `--outputFile.json=${report}`]
  return spawnSync('node_modules/.bin/vitest', args, { stdio: 'inherit', env }).status ?? 1
}

function failedFiles(): readonly string[] {
  if (!existsSync(report)) return []
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    readonly testResults: readonly { readonly name: string; readonly status: string }[]
  }
  return testResults.filter((r) => r.status === 'failed').map((r) => r.name)
}
