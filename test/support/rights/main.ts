// `npm run rights`: runs the tests in which our programs act and writes which rights they used to test/repo/used-rights.json. With names of test files, those
// alone are run, and the table only grows.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EVIDENCE, recordedTable, TABLE_FILE, usedIn } from './record.ts'
import { creditOf, shippedRights, tableOf } from './shipped-rights.ts'

const some = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'kubenode-rights-'))
try {
  const run = ['run', ...(some.length > 0 ? some : EVIDENCE)]
  const env = { ...process.env, KUBENODE_RECORD_RIGHTS: folder }
  const { status } = spawnSync('node_modules/.bin/vitest', run, { stdio: 'inherit', env })
  process.exitCode = status ?? 1
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
  rmSync(folder, { recursive: true, force: true })
}
