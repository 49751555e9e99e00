// A host of embedded control planes is killed by the system at each file that it puts in place while it replaces an authority and keys: what clients were given
// last still works, and the rotation ends as if nothing had happened, once.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { RotationSaid } from '#test/support/faults/rotation-child.ts'
import { injecting, noStrace, run } from '#test/support/faults/strace.ts'

const CHILD = join(import.meta.dirname, '../support/faults/rotation-child.ts')
/** More than one rotation has. */
const MOST = 60

let root = ''
afterEach(() => rmSync(root, { recursive: true, force: true }))

async function lives(folder: string, number: number, killedAt?: number) {
  const strace =
    killedAt === undefined
      ? []
      : injecting({ files: [], calls: ['rename'], what: 'signal=KILL', when: String(killedAt) })
  const { code, signal, out, err } = await run([...strace, process.execPath, CHILD, folder, String(number)])
  const said = out
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as RotationSaid)
  return { wasKilled: signal === 'SIGKILL', code, err, said, last: said.at(-1) }
}

const DONE = { declared: { ca: 2, 'service-account': 2 }, phases: [], isServed: true }

test('killed at any file that it puts in place, it cuts off no client and replaces everything once', async ({
  skip,
}) => {
  const why = noStrace()
  if (why !== undefined) skip(why)
  root = mkdtempSync(join(tmpdir(), 'kubenode-rotation-kill-'))
  const fresh = join(root, 'fresh')
  const made = await lives(fresh, 1)
  expect(made, made.err).toMatchObject({ code: 0, last: { declared: { ca: 1 }, phases: [], isServed: true } })
  const killedIn = new Set<string>()
  let at = 1
  for (; at < MOST; at++) {
    const folder = join(root, String(at))
    cpSync(fresh, folder, { recursive: true })
    const killed = await lives(folder, 2, at)
    expect(killed.said.every(({ isServed }) => isServed)).toBe(true)
    for (const phase of killed.last?.phases ?? []) if (killed.wasKilled) killedIn.add(phase)
    const after = await lives(folder, 2)
    expect([at, after.said.filter(({ isServed }) => !isServed)]).toEqual([at, []])
    expect(after, after.err).toMatchObject({ code: 0, last: DONE })
    expect(after.last?.trusted).toEqual([after.last?.signer])
    expect(after.last?.signer).not.toBe(made.last?.signer)
    if (!killed.wasKilled) break
  }
  // The last one was not killed: every file of a rotation was reached.
  expect(at).toBeLessThan(MOST)
  expect([...killedIn].toSorted()).toEqual(expect.arrayContaining(['ca Distributing', 'ca Reissuing']))
})
